"""Passes `find_bottlenecks`, `size_buffers`, `set_deadline`: what follows from a flow's path."""

from __future__ import annotations

from collections import Counter, defaultdict

from fairc.cell.frames import frame_bytes, memory_bytes, segment_bytes
from fairc.cell.queues import queue_bytes
from fairc.dsl.core.diagnostics import Diagnostic

from .draft import Draft, DraftFlow, Place
from .queues import bdp_bytes

MIN_BUFFER_BYTES = 256 * 1024
MAX_BUFFER_BYTES = 2**29  # a power of two; Linux keeps twice this in a signed 32-bit integer
DEADLINE_FACTOR = 10
MIN_DEADLINE_NS = 10 * 10**9
DURATION_MARGIN_NS = 10**9


NS = 10**9


def find_bottlenecks(draft: Draft) -> None:
    """Find the slowest egress of each flow's data path.

    Among equals the one that most flows cross, and among these the first. A path that takes no time
    is refused on every engine: with a clock that advances only while nothing computes, two ends
    that answer each other at once would stop it forever, and on any other clock they would measure
    the computer that runs them. A delay alone does not help: a whole window would still be
    transferred in no time.
    """
    crossing = Counter(end.place for flow in draft.flows for end in flow.data)
    for flow in draft.flows:
        shaped = [end for end in flow.data if end.rate_bps]
        if shaped:
            flow.bottleneck = min(shaped, key=lambda end: (end.rate_bps, -crossing[end.place]))
            _refuse_timeless(draft, flow)
            continue
        draft.reject(
            "no-bottleneck",
            f"no link on the path of the flow `{flow.flow.name}` has a rate",
            flow.flow.span,
            "its data would take no time, and a virtual clock would stand still",
            "give a link between its server and its client a `rate`, such as `rate = 1Gbit/s`",
            note="nothing limits it",
        )


def _refuse_timeless(draft: Draft, flow: DraftFlow) -> None:
    """Report a path without delay whose slowest link takes less than a nanosecond for a full
    packet.
    """
    frame_bits = 8 * frame_bytes(flow.mtu)
    if flow.base_rtt_ns or frame_bits * NS >= flow.most_bps:
        return
    assert flow.bottleneck is not None and flow.bottleneck.shaped is not None
    frame_ns = frame_bits * 1e9 / flow.most_bps
    rate = f"{flow.most_bps / 1e12:g} Tbit/s"
    draft.report(
        Diagnostic(
            code="no-time-passes",
            message=f"the path of the flow `{flow.flow.name}` takes no time",
            span=flow.bottleneck.shaped.span,
            notes=(
                (
                    f"a full packet takes {frame_ns:.2g} ns at {rate}, and clocks count whole"
                    " nanoseconds"
                ),
                "without a delay, a virtual clock would stand still",
            ),
            help=f"write a `rate` of at most {frame_bits}Gbit/s, or give a link of the path a"
            " `delay`",
        )
    )


def size_buffers(draft: Draft) -> None:
    """Set the socket buffers: at least 2 x (BDP + queue), measurement.md rule 7, a power of two."""
    for flow in draft.flows:
        needed = bdp_bytes(flow.most_bps, flow.most_rtt_ns)
        if flow.bottleneck and flow.bottleneck.place in draft.queues:
            waiting = draft.queues[flow.bottleneck.place]
            needed += queue_bytes(waiting, frame_bytes(flow.bottleneck.mtu))
        needed = int(needed * _overhead(flow.mtu))
        flow.buffer_bytes = power_of_two(max(MIN_BUFFER_BYTES, 2 * needed))
        if flow.buffer_bytes > MAX_BUFFER_BYTES:
            reason = f"twice the BDP and the queue is {2 * needed} bytes"
            draft.reject(
                "buffer-too-large",
                f"the flow `{flow.flow.name}` needs larger buffers than Linux allows",
                flow.flow.span,
                f"{reason}, but a socket takes at most {MAX_BUFFER_BYTES}",
                "reduce the rate, the RTT or the queue of the bottleneck",
            )


def _overhead(mtu: int) -> float:
    """Return the factor by which socket buffers must grow because small segments take more memory,
    >= 1.

    Linux doubles a buffer, which pays for segments that take up to twice their payload.
    """
    return max(1.0, memory_bytes(mtu) / segment_bytes(mtu) / 2)


def set_deadline(draft: Draft) -> None:
    """Set the deadline: as written, or 10 times the time at the fair share."""
    scenario = draft.scenario
    if scenario.deadline_ns is not None:
        draft.deadline_ns = scenario.deadline_ns
        return
    if scenario.duration_ns is not None:
        draft.deadline_ns = scenario.duration_ns + DURATION_MARGIN_NS
        return
    # Starts and pauses that are drawn are added in each cell.
    starts_ns = max(map(_latest_start_ns, draft.flows), default=0)
    stops_ns = max((flow.flow.stop_ns or 0 for flow in draft.flows), default=0)
    longest_rtt_ns = max((flow.base_rtt_ns for flow in draft.flows), default=0)
    # Handshake, request and slow start take some round trips, however fast the link is.
    moving_ns = max(fair_share_ns(draft).values(), default=0)
    needed_ns = (
        max(moving_ns, *(flow.flow.workload.own_time_ns(flow) for flow in draft.flows), 0)
        + 4 * longest_rtt_ns
    )
    draft.deadline_ns = max(
        starts_ns + max(MIN_DEADLINE_NS, DEADLINE_FACTOR * needed_ns),
        starts_ns
        + max((flow.flow.workload.patience_ns(flow) for flow in draft.flows), default=0)
        + DURATION_MARGIN_NS,
        stops_ns + DURATION_MARGIN_NS,
    )


def _latest_start_ns(flow: DraftFlow) -> int:
    start_ns = flow.flow.start_ns
    return start_range_ns(flow) if start_ns is None else start_ns


def start_range_ns(flow: DraftFlow) -> int:
    """Return the range of a flow's random start offset, ns: one base RTT, at least 10 ms."""
    return max(flow.base_rtt_ns, 10_000_000)


def fair_share_ns(draft: Draft) -> dict[Place, int]:
    """Return, for each bottleneck, the time that all files and videos across it take at its rate,
    ns.
    """
    bytes_across: dict[Place, int] = defaultdict(int)
    rates_bps: dict[Place, int] = {}
    for flow in draft.flows:
        total = flow.flow.workload.total_bytes(flow.flow.connections)
        if flow.bottleneck is not None and total is not None:
            bytes_across[flow.bottleneck.place] += total
            rates_bps[flow.bottleneck.place] = flow.rate_bps
    return {place: total * 8 * 10**9 // rates_bps[place] for place, total in bytes_across.items()}


def power_of_two(number: int) -> int:
    """Return the least power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()
