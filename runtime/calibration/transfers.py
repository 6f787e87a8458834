"""Readings of transfers: short ones against store and forward, packet by packet (no queue, no loss,
slow start), and iperf3 against the endpoints.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence

from fairc.cell.frames import segment_bytes
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.paths import Paths, Place
from fairc.runtime.metrics import goodput

from .reading import Reading, near

HEADERS = 14 + 20 + 32  # Ethernet, IPv4, TCP with timestamps
SYN = 14 + 20 + 40
REQUEST = HEADERS + 16  # endpoints/src/request.rs
INITIAL_WINDOW = 10
WITHIN_S, WITHIN_SHARE = 0.1e-3, 1e-3
GOODPUT_SHARE = 0.01
LATE_S = 5e-3
"""The cost of handshake, request and answers where computing takes time."""


class Way:
    """One direction of a path: links that send one frame after the other, and delays."""

    def __init__(self, paths: Paths, places: Sequence[Place]) -> None:
        self._stages = []
        for place in places:
            interface = paths.interfaces[place]
            rate_bps = interface.shaper.rate_bps if interface.shaper else None
            delay_s = interface.impairment.delay_ns * 1e-9 if interface.impairment else 0.0
            self._stages.append((rate_bps, delay_s))
        self._free_s = [0.0] * len(places)

    def cross(self, at_s: float, frame_bytes: int) -> float:
        """Return when a frame arrives that is sent at a time; frames are sent in order."""
        for number, (rate_bps, delay_s) in enumerate(self._stages):
            if rate_bps is not None:
                at_s = max(at_s, self._free_s[number]) + 8 * frame_bytes / rate_bps
                self._free_s[number] = at_s
            at_s += delay_s
        return at_s


def completion_s(cell: Measurement, flow: FlowRecord, content_bytes: int) -> float:
    """Return how long a file takes over TCP, from the SYN to its last byte, s.

    The client acknowledges every segment at once, as Linux does at first (TCP_MAX_QUICKACKS), and
    each acknowledgement lets two more go (RFC 5681, section 3.1).
    """
    forward = Way(cell.paths, cell.paths.of(flow.plan))
    back = Way(cell.paths, cell.paths.back(flow.plan))
    connected_s = forward.cross(back.cross(0.0, SYN), SYN)
    back.cross(connected_s, HEADERS)
    asked_s = back.cross(connected_s, REQUEST)
    forward.cross(asked_s, HEADERS)
    full = segment_bytes(flow.plan.mtu)
    sizes = [full] * (content_bytes // full)
    if content_bytes % full:
        sizes.append(content_bytes % full)
    allowed = [(asked_s, INITIAL_WINDOW)]
    sent, done_s = 0, 0.0
    while sent < len(sizes):
        at_s, more = heapq.heappop(allowed)
        for size in sizes[sent : sent + more]:
            done_s = forward.cross(at_s, HEADERS + size)
            heapq.heappush(allowed, (back.cross(done_s, HEADERS), 2))
        sent += more
    return done_s


def completion(
    setting: str, cells: Sequence[Measurement], late_s: float = LATE_S
) -> Iterator[Reading]:
    """Read the completion time of a file against store and forward.

    late_s: what computing may cost.
    """
    for cell in cells:
        (flow,) = cell.flows
        size = flow.plan.workload.total_bytes(1)
        assert size is not None, "this case transfers a file"
        expected_s = completion_s(cell, flow, size)
        yield near(
            "completion time",
            setting,
            flow.end_s - flow.start_s,
            expected_s,
            within=late_s + min(WITHIN_S, WITHIN_SHARE * expected_s),
            unit="s",
            source="store and forward, slow start (RFC 5681, RFC 6928)",
        )


def exact_completion(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the same where computing takes no time."""
    return completion(setting, cells, late_s=0.0)


def iperf3(setting: str, cells: Sequence[Measurement]) -> Iterator[Reading]:
    """Read the goodput of iperf3, against that of the endpoints on the same path.

    Flows come in pairs: `NAME_own` and `NAME_iperf3`.
    """
    for cell in cells:
        flows = {flow.name: flow for flow in cell.flows}
        for name in (name.removesuffix("_own") for name in flows if name.endswith("_own")):
            own, other = (
                goodput.of_flow(cell, flows[f"{name}_{program}"]).value
                for program in ("own", "iperf3")
            )
            expected = float("nan") if own is None else own
            yield near(
                f"goodput of iperf3 over {name.upper()}",
                setting,
                float("nan") if other is None else other,
                expected,
                within=GOODPUT_SHARE * expected,
                unit="bit/s",
                source="the endpoints, on the same path",
            )
