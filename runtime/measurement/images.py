"""A flow whose ends are a third-party image: its packets show what the image does not report.

The client's interface is captured both ways. `opened` is the client's first packet to its server,
the first byte is the first packet that came back (of the handshake: its contents cannot be seen).
The file's bytes are apportioned to the server's packets by their UDP payload, up to the time at
which the image wrote the file's last byte; the download's modification time gives that to the
kernel's tick (4 ms or less).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import IPv4Address

import numpy as np

from fairc.compiler.plan import Cell, Flow
from fairc.runtime.arrays import Floats

from .artefacts import NS, ArtefactError
from .endpoints import Endpoints, Progress
from .pcap import UDP, Capture, Packets


def seen(
    reported: Endpoints, flow: Flow, cell: Cell, captures: Mapping[str, Capture], epoch_ns: int
) -> Endpoints:
    """Add what the captures at the client show to the report of an image's flow.

    Raises ArtefactError when the file was complete before a packet of its server arrived.
    """
    address = int(IPv4Address(flow.address))
    sent, came = (at_client(flow, cell, captures, way) for way in ("out", "in"))
    sent = sent.select(
        (sent.destination == address)
        & (sent.destination_port == flow.port)
        & (sent.protocol == UDP)
    )
    came = came.select(
        (came.source == address) & (came.source_port == flow.port) & (came.protocol == UDP)
    )
    sent_s, came_s = (seconds(packets, epoch_ns) for packets in (sent, came))
    reports: tuple[tuple[Floats, Floats], ...] = ()
    if 0 in reported.done_s:
        done_s = reported.done_s[0]
        if not len(sent_s) or not len(came_s) or came_s[0] > done_s:
            raise ArtefactError(
                f"{flow.name}.client: it had its file before a packet of its server"
            )
        reports = (_course(came_s, came, done_s, flow),)
    return replace(
        reported,
        opened_s={0: float(sent_s[0])} if len(sent_s) else {},
        first_byte_s=float(came_s[0]) if len(came_s) else None,
        progress=Progress(reports),
    )


def _course(came_s: Floats, came: Packets, done_s: float, flow: Flow) -> tuple[Floats, Floats]:
    """Return times, s, and the bytes of the file received until then, from none to all."""
    size = flow.workload.total_bytes(1)
    assert size is not None, "an image moves a file"
    useful = came_s <= done_s
    times, payload = came_s[useful], np.cumsum(came.payload_bytes[useful])
    share = payload / payload[-1]
    share[0] = 0.0  # the first entry of a course is its start
    return np.append(times, done_s), np.append(share, 1.0) * size


def seconds(packets: Packets, epoch_ns: int) -> Floats:
    """Return when packets were captured, s after the epoch."""
    after_epoch: Floats = (packets.time_ns - epoch_ns).astype(np.float64) * NS
    return after_epoch


def at_client(flow: Flow, cell: Cell, captures: Mapping[str, Capture], way: str) -> Packets:
    """Return what the interface of a flow's client received (`in`) or sent (`out`)."""
    for capture in cell.captures:
        if (capture.point, capture.node, capture.direction) == ("client", flow.client, way):
            return captures[capture.name].packets
    raise ArtefactError(f"the plan has no capture at the client of flow {flow.name}")
