"""The measurement of one cell, read from its raw artefacts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from fairc.compiler.plan import Cell, Flow
from fairc.mechanisms import find, named
from fairc.runtime.engines import entering

from . import (
    arrivals,
    changes,
    endpoints,
    images,
    processing,
    qdisc,
    queues,
    round_trips,
    tunnels,
)
from .artefacts import NS, ArtefactError, Artefacts, Ending, field
from .endpoints import Remains
from .paths import PathError, Paths, Place
from .pcap import Capture, Packets
from .queues import QueueRecord
from .record import CpuLoad, Floats, FlowRecord, Measurement, Passage, Pings


def load(cell: Cell, folder: Path) -> Measurement:
    """Read the raw artefacts of a cell. Raises ArtefactError."""
    artefacts = Artefacts(folder)
    cell = entering.resolved(cell, artefacts.lines)
    ending = artefacts.ending()
    if ending.id != cell.id:
        raise ArtefactError(f"cell.json is of cell {ending.id}, not of {cell.id}")
    if ending.ended_by == "failed":
        raise ArtefactError(f"the cell's script failed: {'; '.join(ending.notes)}")
    captures = _captures(artefacts, cell)
    watched = {
        node: round_trips.watched(artefacts, cell, node) for node in {f.server for f in cell.flows}
    }
    after = qdisc.load(artefacts, "qdisc-after.json")
    histories = changes.load(artefacts, cell)
    devices = {
        name: read.load(artefacts, cell, captures, ending.epoch_ns)
        for name, read in named("devices", "record")
    }
    dropped = {
        name: packets
        for records in devices.values()
        for each in records
        for name, packets in each.dropped_packets.items()
    }
    hosts = processing.load(artefacts, cell)
    try:
        moved = changes.reroutings(artefacts, cell)
        records = queues.assemble(
            captures, Paths(cell), ending.epoch_ns, after, histories, dropped, moved, hosts
        )
    except PathError as error:
        raise ArtefactError(f"the plan's network is broken: {error}") from None
    by_place = {queue.place: queue for queue in records}
    pings = _pings(artefacts)
    return Measurement(
        cell=cell,
        ending=ending,
        flows=tuple(
            _flow(artefacts, ending, by_place, pings, captures, cell, flow, watched[flow.server])
            for flow in cell.flows
        ),
        queues=records,
        busy=_busy(artefacts),
        qdiscs_before=qdisc.load(artefacts, "qdisc-before.json"),
        qdiscs_after=after,
        capture_counts={c.name: artefacts.capture_counts(c.name) for c in cell.captures},
        cut_captures={name: capture.cut_bytes for name, capture in captures.items()},
        histories=histories,
        reroutings=moved,
        devices=devices,
        processing=hosts,
        tunnels=tunnels.load(artefacts, cell),
    )


def _captures(artefacts: Artefacts, cell: Cell) -> dict[str, Capture]:
    """Read the captures, but for those at senders: only `rtt` needs them, and reads them itself.

    Packets are as their hosts sent them, whatever devices have changed in them.
    """
    headers = tunnels.headers(cell)
    captures = {
        c.name: artefacts.capture(c.name, headers, cell.captures_whole)
        for c in cell.captures
        if c.point != "sender"
    }
    for _, read in named("devices", "record"):
        if hasattr(read, "original") and cell.rebinds:
            captures = {
                name: replace(each, packets=read.original(cell, each.packets))
                for name, each in captures.items()
            }
    return captures


def _arrived(cell: Cell, flow: Flow, captures: Mapping[str, Capture]) -> Packets | None:
    """Return what a flow's client received from its server, where its interface is captured."""
    for capture in cell.captures:
        if (capture.point, capture.node, capture.direction) == ("client", flow.client, "in"):
            return arrivals.from_server(flow, captures[capture.name].packets)
    return None


def _flow(
    artefacts: Artefacts,
    ending: Ending,
    by_place: Mapping[Place, QueueRecord],
    pings: Mapping[str, Pings],
    captures: Mapping[str, Capture],
    cell: Cell,
    flow: Flow,
    watched: round_trips.SenderCapture | None,
) -> FlowRecord:
    places = (flow.bottleneck, *flow.further_bottlenecks)
    if not by_place.keys() >= {*places}:
        raise ArtefactError(f"the plan has no capture at the bottleneck of flow {flow.name}")
    queue = by_place[flow.bottleneck]
    if record := find("workloads", flow.workload.kind, "record"):
        reported = record.load(Remains(artefacts, cell, flow, captures, ending, queue))
    else:
        reported = endpoints.load(artefacts, flow, ending.ended_ns * NS)
    if flow.image is not None:
        reported = images.seen(reported, flow, cell, captures, ending.epoch_ns)
    return FlowRecord(
        plan=flow,
        endpoints=reported,
        passages=tuple(Passage.of(cell, flow, by_place[place]) for place in places),
        pings=pings.get(flow.name),
        arrived=_arrived(cell, flow, captures),
        watched=watched,
        echoes=round_trips.echoed(artefacts, cell, flow, tunnels.headers(cell), ending.epoch_ns)
        if flow.workload.echoes
        else None,
        epoch_ns=ending.epoch_ns,
        ended_s=ending.ended_ns * NS,
    )


def _pings(artefacts: Artefacts) -> dict[str, Pings]:
    try:
        return {
            str(entry["flow"]): Pings(
                int(entry["sent"]), np.array(entry["rtts_ns"], np.float64) * NS
            )
            for entry in artefacts.json("ping.json")
        }
    except (KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"ping.json is not as documented: {error!r}") from None


def _busy(artefacts: Artefacts) -> CpuLoad:
    file = "monitor.ndjson"
    lines = list(artefacts.lines(file))

    def column(key: str) -> Floats:
        return np.array([field(line, key, file) for line in lines], np.float64) * NS

    return CpuLoad(column("t_ns"), column("busy_ns"), column("total_ns"))
