"""What both programs of iperf3 would have printed, invented from the fluid model's frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fairc.api import Flow, segment_bytes

from .fluid import Frame, until_ns

INTERVAL_NS = 100_000_000
CLIENT_PORT = 40_000

Document = dict[str, Any]


def documents(flow: Flow, frames: Sequence[Frame], end_ns: int) -> dict[str, Document]:
    """Return the JSON of the server and of the client; end_ns: the end of the cell."""
    total_bytes = flow.workload.total_bytes(flow.connections)
    stops_ns = until_ns(flow)
    last_ns = min(stops_ns or end_ns, end_ns)
    by_itself = stops_ns is not None and stops_ns <= end_ns and stops_ns != flow.stop_ns
    if total_bytes is not None and frames:
        last_ns = min(end_ns, max(f.sent_ns for f in frames) + flow.base_rtt_ns // 2)
        by_itself = sum(f.payload for f in frames if not f.lost) >= total_bytes
    ends = [*range(flow.start_ns + INTERVAL_NS, last_ns, INTERVAL_NS), last_ns]
    intervals = [
        (begin, end, [f for f in frames if begin < _arrival(f) <= end])
        for begin, end in zip([flow.start_ns, *ends[:-1]], ends, strict=True)
    ]
    cca = {} if flow.transport == "udp" else {"sender_tcp_congestion": flow.cca}
    reports: dict[str, Document] = {}
    for side in ("server", "client"):
        sends = (side == "server") != flow.workload.opened_by_sender
        reports[side] = {
            "start": {
                "connected": [
                    {f"{'local' if side == 'client' else 'remote'}_port": CLIENT_PORT + number}
                    for number in range(flow.connections)
                ],
                "version": "invented by the fake engine",
            },
            "intervals": [
                {"streams": list(_streams(flow, sends, part, begin, end))}
                for begin, end, part in intervals
            ],
            "end": {"streams": [{}] * flow.connections, **cca},
        }
        if not by_itself:
            reports[side]["error"] = "interrupt - the client has terminated"
    return reports


def _arrival(frame: Frame) -> int:
    return frame.sent_ns + frame.flow.base_rtt_ns // 2


def _streams(
    flow: Flow, sends: bool, frames: Sequence[Frame], begin_ns: int, end_ns: int
) -> Iterator[Document]:
    """Yield what one end reports of each stream in an interval."""
    for number in range(flow.connections):
        mine = [f for f in frames if f.connection == number]
        lost = sum(f.lost for f in mine)
        fields: Document = {
            "start": (begin_ns - flow.start_ns) / 1e9,
            "end": (end_ns - flow.start_ns) / 1e9,
            "bytes": sum(f.payload for f in mine if sends or not f.lost),
            "sender": sends,
        }
        if flow.transport == "udp":
            fields |= {"packets": len(mine), "lost_packets": lost, "jitter_ms": 0.0}
        elif sends:
            fields |= {
                "retransmits": lost,
                "snd_cwnd": 10 * segment_bytes(flow.mtu),
                "rtt": flow.base_rtt_ns // 1000,
            }
        yield fields
