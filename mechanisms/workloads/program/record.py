"""What `program` left behind. The packets of the flow show what its programs do not report.

The client's interface is captured both ways. The flow was `opened` when its client sent its first
packet to the server's port. What was delivered is the payload of what came back: over TCP a byte
counts once, when it and all before it had arrived; over UDP each datagram when it arrived. What
runs beside each program (`agent.py`) says how it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.cell.model import Flow
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import images, samples
from fairc.runtime.measurement.artefacts import NS, Artefacts
from fairc.runtime.measurement.endpoints import Endpoints, Events, Progress, Remains, by_event
from fairc.runtime.measurement.pcap import TCP, UDP, Packets

SIDES = ("server", "client")
MOST_BYTES = 1 << 20
"""Of a file that a metric reads."""
_CYCLE = 1 << 32


def load(remains: Remains) -> Endpoints:
    """Read what both programs of a flow left behind. Raises ArtefactError."""
    artefacts, flow, ending = remains.artefacts, remains.flow, remains.ending
    said = {side: by_event(artefacts.lines(f"{flow.name}.{side}.ndjson")) for side in SIDES}
    sent, came = (
        images.at_client(flow, remains.cell, remains.captures, way) for way in ("out", "in")
    )
    protocol, server = TCP if flow.transport == "tcp" else UDP, int(IPv4Address(flow.address))
    sent = sent.select(
        (sent.destination == server)
        & (sent.destination_port == flow.port)
        & (sent.protocol == protocol)
    )
    came = came.select(
        (came.source == server) & (came.source_port == flow.port) & (came.protocol == protocol)
    )
    opened_s = images.seconds(sent, ending.epoch_ns)
    courses = tuple(_courses(came, ending.epoch_ns))
    client = said["client"]
    finished = [event for name in ("done", "stopped", "error") for event in client[name]]
    ended_ns = [event["t_ns"] for event in finished]
    last_s = max((float(t_s[-1]) for t_s, _ in courses), default=None)
    end_s = ended_ns[0] * NS if ended_ns else None
    ccas = {str(cca) for event in said["server"]["ccas"] for cca in event.get("ccas", ())}
    done = bool(client["done"])
    return Endpoints(
        opened_s={0: float(opened_s[0])} if len(opened_s) else {},
        done_s={0: ended_ns[0] * NS} if done else {},
        first_byte_s=min((float(t_s[0]) for t_s, _ in courses), default=None),
        end_s=last_s if done and last_s is not None else end_s,
        unended=0 if finished or flow.start_ns >= ending.ended_ns else 1,
        completed=done,
        progress=Progress(courses),
        samples=samples.read([], flow.transport, f"{flow.name}.server.ndjson"),
        ccas=frozenset(ccas or filter(None, [flow.cca])),
        reports=dict.fromkeys(("listening", "accepted", "connected", "sent", "received"), ())
        | {"remark": tuple(_remarks(flow, said))},
        errors=tuple(_errors(flow, said)),
        files=files(artefacts, flow, said),
    )


def files(
    artefacts: Artefacts, flow: Flow, said: Mapping[str, Events]
) -> Mapping[str, bytes | None]:
    """Return what the programs of a flow left behind, by the side and the name: what they printed,
    `client.stdout`, and the files of their working folders, `client/result.json`.

    None: it has more than MOST_BYTES. Raises ArtefactError.
    """
    found: dict[str, bytes | None] = {}
    for side in SIDES:
        names = {f"{side}.{kind}": f"{flow.name}.{side}.{kind}" for kind in ("stdout", "stderr")}
        for event in said[side]["left"]:
            for name in event.get("files", ()):
                if isinstance(name, str) and "/" not in name:
                    names[f"{side}/{name}"] = f"{flow.name}.{side}.file.{name}"
        for name, file in names.items():
            path = artefacts.folder / file
            if path.is_file():
                large = path.stat().st_size > MOST_BYTES
                found[name] = None if large else artefacts.content(file)
    return found


def _errors(flow: Flow, said: Mapping[str, Events]) -> Iterator[str]:
    """Yield why a program failed."""
    for side in SIDES:
        for event in said[side]["error"]:
            yield f"the {side} of flow {flow.name} failed: {event.get('message')}"


def _remarks(flow: Flow, said: Mapping[str, Events]) -> Iterator[Mapping[str, Any]]:
    """Yield what is to be said of a program that did not fail."""
    for side in SIDES:
        for event in said[side]["remark"]:
            yield {"message": f"the {side} of flow {flow.name}: {event.get('message')}"}
        for event in said[side]["left"]:
            if names := event.get("left_out"):
                yield {
                    "message": f"files of the {side} of flow {flow.name} were not kept, because"
                    f" they are too many, too large, or no plain files: {', '.join(names[:5])}"
                }


def _courses(came: Packets, epoch_ns: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield times, s, and the payload delivered until then, bytes, of each port of the client."""
    came = came.select(came.payload_bytes > 0)
    for port in np.unique(came.destination_port):
        ours = came.select(came.destination_port == port)
        t_s = images.seconds(ours, epoch_ns)
        sizes = ours.payload_bytes.astype(np.int64)
        if (ours.protocol == TCP).all():
            t_s, sizes = in_order(t_s, ours.sequence.astype(np.int64), sizes)
        if len(t_s):
            yield np.append(t_s[0], t_s), np.append(0.0, np.cumsum(sizes).astype(np.float64))


def in_order(
    t_s: Floats, sequence: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Floats, NDArray[np.int64]]:
    """Return when which parts of a stream of TCP are delivered, s and bytes.

    t_s, sequence, sizes: of its segments as they arrived. A byte is delivered once it and all
    before it have arrived; what comes again counts once. Those behind a gap that is never filled
    are not delivered.
    """
    step = np.diff(sequence)
    near = (step + _CYCLE // 2) % _CYCLE - _CYCLE // 2
    begin = np.concatenate((np.zeros(1, np.int64), np.cumsum(near)))
    end = begin + sizes
    edges = np.unique(np.concatenate((begin, end)))
    first = np.full(len(edges) - 1, np.inf)
    low, high = np.searchsorted(edges, begin), np.searchsorted(edges, end)
    counts = high - low
    offsets = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    np.minimum.at(first, np.repeat(low, counts) + offsets, np.repeat(t_s, counts))
    delivered = np.maximum.accumulate(first)
    there = np.isfinite(delivered)
    return delivered[there], np.diff(edges)[there]
