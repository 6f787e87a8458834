"""Consequences of the paths of flows: minimum durations, socket buffers, the deadline."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from fairc.cell.frames import frame_bytes, memory_bytes, segment_bytes
from fairc.cell.queues import queue_bytes
from fairc.compiler import plan
from fairc.compiler.loss_rate import LONGEST_S, moving_s
from fairc.dsl.core.diagnostics import Diagnostic
from fairc.dsl.model import Direction, Flow, Scenario

from .devices import passing_bps
from .dynamics import most_loss
from .queues import bdp_bytes
from .report import Report
from .routing import RoutedPath, Traffic
from .wiring import Egress

MIN_BUFFER_BYTES = 256 * 1024
MAX_BUFFER_BYTES = 2**29  # a power of two; Linux keeps twice this in a signed 32-bit integer
DEADLINE_FACTOR = 10
MIN_DEADLINE_NS = 10 * 10**9
DURATION_MARGIN_NS = 10**9
NS = 10**9


def check_bottlenecks(traffic: Traffic, report: Report) -> None:
    """Refuse flows whose path takes no time, on every engine.

    With a clock that advances only while nothing computes, two ends that answer each other at once
    would stop it forever, and on any other clock they would measure the computer that runs them. A
    delay alone does not help: a whole window would still be transferred in no time.
    """
    for flow, path in traffic:
        if path.bottleneck is not None:
            _refuse_timeless(flow, path, path.bottleneck, report)
            continue
        report.reject(
            "no-bottleneck",
            f"no link on the path of the flow `{flow.label}` has a rate",
            flow.span,
            "its data would take no time, and a virtual clock would stand still",
            "give a link between its server and its client a `rate`, such as `rate = 1Gbit/s`",
            note="nothing limits it",
        )


def _refuse_timeless(flow: Flow, path: RoutedPath, bottleneck: Egress, report: Report) -> None:
    """Report a path without delay whose slowest link takes less than a nanosecond for a full
    packet.
    """
    frame_bits = 8 * frame_bytes(path.mtu)
    if path.base_rtt_ns or frame_bits * NS >= path.most_bps:
        return
    frame_ns = frame_bits * 1e9 / path.most_bps
    rate = f"{path.most_bps / 1e12:g} Tbit/s"
    report(
        Diagnostic(
            code="no-time-passes",
            message=f"the path of the flow `{flow.label}` takes no time",
            span=bottleneck.way.span,
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


def size_buffers(
    traffic: Traffic, queues: Mapping[Egress, plan.Queue], report: Report
) -> dict[str, int]:
    """Return the socket buffers of each flow, bytes: at least 2 x (BDP + queue), measurement.md
    rule 7, a power of two; that of the longest, where it takes several paths.
    """
    buffers: dict[str, int] = {}
    for flow, path in traffic:
        needed = bdp_bytes(path.most_bps, path.most_rtt_ns)
        if path.bottleneck is not None and path.bottleneck in queues:
            mtu = path.bottleneck.interface.mtu
            needed += queue_bytes(queues[path.bottleneck], frame_bytes(mtu))
        if flow.multipath is not None:
            needed = _of_all_paths(flow, traffic, queues)
        needed = int(needed * _overhead(path.mtu))
        wanted = power_of_two(max(MIN_BUFFER_BYTES, 2 * needed))
        buffers[flow.name] = max(wanted, buffers.get(flow.name, 0))
        if wanted > MAX_BUFFER_BYTES:
            reason = f"twice the BDP and the queue is {2 * needed} bytes"
            report.reject(
                "buffer-too-large",
                f"the flow `{flow.label}` needs larger buffers than Linux allows",
                flow.span,
                f"{reason}, but a socket takes at most {MAX_BUFFER_BYTES}",
                "reduce the rate, the RTT or the queue of the bottleneck",
            )
    return buffers


def waiting_bytes(flow: Flow, paths: Iterable[RoutedPath], buffer_bytes: int) -> int:
    """Return what may wait at a receiver behind lost packets, bytes.

    buffer_bytes: of `size_buffers`.

    Four times as much: behind a packet that is lost four times in a row. Sixteen times without
    SACK, where one loss is repaired in a round trip (RFC 6582), and where packets are lost at
    random: a handshake that is lost is taken for a round trip of seconds, for which BBR fills its
    window.
    """
    ways = (egress.way for path in paths for egress in (*path.data, *path.acks))
    repeated = not flow.options.sack or any(most_loss(way) for way in ways)
    return min((16 if repeated else 4) * buffer_bytes, MAX_BUFFER_BYTES)


def _of_all_paths(flow: Flow, traffic: Traffic, queues: Mapping[Egress, plan.Queue]) -> int:
    """Return what a flow over Multipath TCP may have under way, bytes: what all of its paths carry
    in the longest round trip of any, queues included (RFC 6182, section 5.3).
    """
    rate_bps = longest_ns = 0
    for other, path in traffic:
        if other is flow and path.bottleneck is not None and path.bottleneck in queues:
            rate_bps += path.most_bps
            size = queue_bytes(queues[path.bottleneck], frame_bytes(path.mtu))
            waiting_ns = size * 8 * NS // path.rate_bps
            longest_ns = max(longest_ns, path.most_rtt_ns + waiting_ns)
    return bdp_bytes(rate_bps, longest_ns)


def _overhead(mtu: int) -> float:
    """Return the factor by which socket buffers must grow because small segments take more memory,
    >= 1.

    Linux doubles a buffer, which pays for segments that take up to twice their payload.
    """
    return max(1.0, memory_bytes(mtu) / segment_bytes(mtu) / 2)


def deadline_ns(scenario: Scenario, traffic: Traffic) -> int:
    """Return the deadline, ns: as written, or 10 times the time at the fair share, or that which
    random losses let the flows take, if that is longer.

    Starts and pauses that are drawn are added in each cell.
    """
    if scenario.deadline_ns is not None:
        return scenario.deadline_ns
    if scenario.duration_ns is not None:
        return scenario.duration_ns + DURATION_MARGIN_NS
    starts_ns = max((_latest_start_ns(flow, path) for flow, path in traffic), default=0)
    stops_ns = max((flow.stop_ns or 0 for flow, _ in traffic), default=0)
    longest_rtt_ns = max((path.base_rtt_ns for _, path in traffic), default=0)
    # Handshake, request and slow start take some round trips, however fast the link is.
    moving_ns = max(*fair_share_ns(traffic).values(), *losing_ns(scenario, traffic), 0, 0)
    needed_ns = (
        max(moving_ns, *(flow.workload.own_time_ns(flow, path) for flow, path in traffic), 0)
        + 4 * longest_rtt_ns
    )
    patience_ns = max((flow.workload.patience_ns(path) for flow, path in traffic), default=0)
    return max(
        starts_ns + max(MIN_DEADLINE_NS, DEADLINE_FACTOR * needed_ns),
        starts_ns + patience_ns + DURATION_MARGIN_NS,
        stops_ns + DURATION_MARGIN_NS,
    )


def _latest_start_ns(flow: Flow, path: RoutedPath) -> int:
    return start_range_ns(path) if flow.start_ns is None else flow.start_ns


def start_range_ns(path: RoutedPath) -> int:
    """Return the range of a flow's random start offset, ns: one base RTT, at least 10 ms."""
    return max(path.base_rtt_ns, 10_000_000)


def losing_ns(scenario: Scenario, traffic: Traffic) -> Iterator[int]:
    """Yield the times that flows take because packets are lost at random behind queues, ns. Flows
    across proxies are left out: their losses are on a part of the round trip.
    """
    for flow, path in traffic:
        total = flow.workload.part.total_bytes(flow.connections)
        if total is None or flow.transport == "udp" or scenario.network.proxies:
            continue
        passed = math.prod(1 - usual_loss(e.way) for e in path.data if e.part == "hop")
        packets = total / segment_bytes(path.mtu)
        rtt_s = path.base_rtt_ns / NS
        seconds = moving_s(flow.cca, packets, flow.connections, 1 - passed, rtt_s)
        yield round(min(seconds, LONGEST_S) * NS)


def usual_loss(way: Direction) -> float:
    """Return the probability that a packet is lost on a direction of a link, in most of its
    states.
    """
    return statistics.median(state.lost for state in way.impairments)


def fair_share_ns(traffic: Traffic) -> dict[Egress, int]:
    """Return, for each bottleneck, the time that all files and videos across it take at its rate,
    ns.
    """
    bytes_across: dict[Egress, int] = defaultdict(int)
    rates_bps: dict[Egress, int] = {}
    for flow, path in traffic:
        total = flow.workload.part.total_bytes(flow.connections)
        if path.bottleneck is not None and total is not None:
            bytes_across[path.bottleneck] += total
            slowest = min(passing_bps(each) for each in path.data if each.rate_bps)
            known = rates_bps.get(path.bottleneck, slowest)
            rates_bps[path.bottleneck] = min(known, slowest)
    return {queue: total * 8 * NS // rates_bps[queue] for queue, total in bytes_across.items()}


def power_of_two(number: int) -> int:
    """Return the least power of two that is at least `number`."""
    return 1 << (number - 1).bit_length()
