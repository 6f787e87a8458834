"""Warnings: experiments that can run, but will probably not answer the question."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from fairc.cell.frames import ETHERNET_BYTES, UDP_IP_BYTES
from fairc.compiler import plan
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import Direction, Flow, Scenario
from fairc.mechanisms.queues.registry import QUEUES
from fairc.words.blocks import link as keys
from fairc.words.ccas import CCAS

from .queues import bdp_bytes
from .report import Report
from .routing import RoutedPath, Traffic
from .wiring import Egress, Wiring

COMFORTABLE_BPS = 100_000_000  # the vm engine's guest executes 1e9 instructions per second
FEW_RTTS = 10


def warn(
    scenario: Scenario,
    wiring: Wiring,
    queues: Mapping[Egress, plan.Queue],
    traffic: Traffic,
    buffers: Mapping[str, int],
    report: Report,
) -> None:
    """Report durations that are too short, rates that are too high, windows that are too small."""
    sharing: dict[Egress | None, list[tuple[Flow, RoutedPath]]] = defaultdict(list)
    for flow, path in traffic:
        sharing[path.bottleneck].append((flow, path))
    for flow, path in traffic:
        if path.bottleneck is None:
            continue
        if scenario.duration_ns is not None:
            _warn_short(report, scenario.duration_ns, flow, path, sharing[path.bottleneck])
        _warn_limits(report, flow, path, buffers[flow.name])
        _warn_without_marks(report, flow, path, queues)
        _warn_default_queue(report, wiring, flow, path.bottleneck)
        if path.rate_bps > COMFORTABLE_BPS:
            report.warn(
                "fast-link",
                f"a bottleneck of {path.rate_bps / 1e6:g} Mbit/s is fast for the engine vm",
                path.bottleneck.way.span,
                "above about 100 Mbit/s its emulated CPU may become the bottleneck",
                "watch the validity verdicts, or scale the rate down and the RTT up",
            )
    _warn_late(report, scenario)
    _warn_overload(report, traffic, queues)
    _warn_unmarked(report, wiring, traffic)
    _warn_misused(report, wiring, traffic)


def _warn_short(
    report: Report, duration_ns: int, flow: Flow, path: RoutedPath, sharing: Traffic
) -> None:
    """Report a duration that ends a flow before it can have done its work."""
    lasts_ns = duration_ns - (flow.start_ns or 0)
    total = flow.workload.part.total_bytes(flow.connections)
    if lasts_ns <= 0:  # already reported: late-start
        return
    if lasts_ns < FEW_RTTS * path.base_rtt_ns:
        report.warn(
            "short-duration",
            f"the flow `{flow.label}` runs for less than {FEW_RTTS} base RTTs",
            flow.span,
            f"{lasts_ns / 1e9:g} s, and a base RTT of {path.base_rtt_ns / 1e6:g} ms",
            "increase the duration",
        )
        return
    own_ns = flow.workload.own_time_ns(flow, path)
    bits = (total or 0) * 8 * 10**9
    moving_ns = bits * len(sharing) // path.rate_bps
    if lasts_ns < moving_ns:
        moving_ns = round(bits / _share_bps(flow, path, sharing))
    if lasts_ns < max(moving_ns, own_ns):
        what = flow.workload.noun
        report.warn(
            "short-duration",
            f"the duration is too short for the {what} of `{flow.label}`",
            flow.span,
            f"{total} bytes at {bits / moving_ns / 1e6:.3g} Mbit/s take {moving_ns / 1e9:.1f} s"
            if moving_ns >= own_ns
            else f"by itself it takes {own_ns / 1e9:g} s",
            f"increase the duration, or reduce the {what}",
        )


def _share_bps(flow: Flow, path: RoutedPath, sharing: Traffic) -> float:
    """Return a flow's max-min fair share of its bottleneck, bit/s: flows that offer less than an
    equal share get what they offer.
    """
    left_bps, number = float(path.rate_bps), len(sharing)
    others = (_offered_bps(each, its) for each, its in sharing if each is not flow)
    for offered_bps in sorted(others, key=lambda bps: bps or math.inf):
        if not 0 < offered_bps < left_bps / number:
            break
        left_bps, number = left_bps - offered_bps, number - 1
    return left_bps / number


def _warn_late(report: Report, scenario: Scenario) -> None:
    """Report changes of a link after the end of the cell."""
    limit_ns = scenario.duration_ns if scenario.duration_ns is not None else scenario.deadline_ns
    for link in scenario.network.links:
        for a, b, way in ((link.a, link.b, link.forward), (link.b, link.a, link.backward)):
            if limit_ns and way.device is not None and way.device.last_ns >= limit_ns:
                report.warn(
                    "late-change",
                    f"the {way.device.noun} from `{a}` to `{b}` changes after the cell has ended",
                    way.device.span,
                    f"at {way.device.last_ns / 1e9:g} s, and the cell ends after"
                    f" {limit_ns / 1e9:g} s",
                    "make it earlier, or the cell longer",
                )
            latest = max(way.events, key=lambda e: e.begin_ns + e.ramp_ns, default=None)
            if limit_ns is None or latest is None:
                continue
            at_ns = latest.begin_ns + latest.ramp_ns
            if at_ns < limit_ns:
                continue
            late = latest.begin_ns >= limit_ns
            what = "comes after the cell has ended" if late else "is not over when the cell ends"
            report.warn(
                "late-change",
                f"a change of the link from `{a}` to `{b}` {what}",
                latest.span,
                f"at {at_ns / 1e9:g} s, and the cell ends after {limit_ns / 1e9:g} s",
                "make it earlier, or the cell longer",
            )


def _warn_without_marks(
    report: Report, flow: Flow, path: RoutedPath, queues: Mapping[Egress, plan.Queue]
) -> None:
    """Report DCTCP where no queue on its way marks."""
    cca = flow.cca or ""
    if flow.transport != "tcp" or not flow.options.ecn or cca not in CCAS:
        return
    if CCAS[cca].needs_ecn and not any(
        each.way.ecn == "mark" or (each in queues and queues[each].marks) for each in path.data
    ):
        report.warn(
            "dctcp-without-ecn",
            f"without marks, `{cca}` in `{flow.label}` behaves as Reno",
            flow.span,
            "no queue on its way marks packets",
            "give the queue `ecn: on`, as in `codel(ecn: on)`",
        )


def _warn_default_queue(report: Report, wiring: Wiring, flow: Flow, bottleneck: Egress) -> None:
    """Report a flow against the direction of its bottleneck for which the file names a queue."""
    link = wiring.network.links[bottleneck.link]
    way, other = bottleneck.way, link.backward if bottleneck.forward else link.forward
    if flow.transport == "udp" or not _is_default(way) or _is_default(other):
        return
    if other.queue.span.source.name.startswith("<"):  # a preset's own
        return
    a, b = (link.a, link.b) if bottleneck.forward else (link.b, link.a)
    written = other.queue.span.text
    report.warn(
        "default-queue",
        f"`{flow.label}` does not cross this queue, but the default, `{keys.QUEUE.default}`",
        flow.span,
        f"it sends from `{a}` to `{b}`; `{written}` is the queue of the other direction",
        f"name the queue of both: `with {{ link {a} -> {b} {{ queue = {written} }} }}` behind the"
        " topology",
        labels=(Label(other.queue.span, "the queue of the other direction"),),
    )


def _is_default(way: Direction) -> bool:
    return way.queue.span == way.span


def _warn_limits(report: Report, flow: Flow, path: RoutedPath, buffer_bytes: int) -> None:
    """Report options and workloads that the path makes meaningless."""
    for doubt in flow.workload.doubts(flow, path):
        report(doubt)
    cca = flow.cca or ""
    if cca in CCAS and CCAS[cca].needs_ecn and not flow.options.ecn:
        report.warn(
            "dctcp-without-ecn",
            f"without ECN, `{cca}` in `{flow.label}` behaves as Reno",
            flow.span,
            "only marks tell it more than losses do",
            "write `ecn = on`, and give the queue `ecn: on`",
        )
    window = min(
        flow.options.receive_window_bytes or buffer_bytes,
        flow.receive_buffer_bytes or buffer_bytes,
        flow.send_buffer_bytes or buffer_bytes,
    )
    bdp = bdp_bytes(path.rate_bps, path.base_rtt_ns)
    if window * flow.connections < bdp and flow.transport != "udp":
        most_mbps = window * flow.connections * 8e3 / path.base_rtt_ns
        report.warn(
            "window-below-bdp",
            f"the windows of `{flow.label}` are too small to fill its bottleneck",
            flow.span,
            (
                f"{window} bytes per connection, and a BDP of {bdp} bytes: at most {most_mbps:.3g}"
                f" Mbit/s"
            ),
            "keep it if you want this limit; otherwise leave out the window or the buffer",
        )


@dataclass(frozen=True, slots=True)
class _Offer:
    """What a flow over UDP sends over a link, bit/s of frames on average, and from when to when."""

    flow: Flow
    path: RoutedPath
    bps: float
    begin_ns: int
    end_ns: float


def _warn_overload(report: Report, traffic: Traffic, queues: Mapping[Egress, plan.Queue]) -> None:
    """Report the flow that sends most of the UDP of each link that gets too much of it at a time.

    What links ahead of it do not carry does not reach it.
    """
    offered: dict[Egress, list[_Offer]] = defaultdict(list)
    for flow, path in traffic:
        if flow.transport == "udp" and (bps := _offered_bps(flow, path)):
            packet = flow.workload.lower(flow, path, 0, {}).datagram_bytes or path.mtu
            left_bps = bps * (packet + ETHERNET_BYTES) / packet
            begin_ns = flow.start_ns or 0
            end_ns = math.inf if flow.stop_ns is None else flow.stop_ns
            if flow.workload.ends:
                end_ns = min(end_ns, begin_ns + flow.workload.own_time_ns(flow, path))
            for egress in path.data:
                if egress.packet_bps:
                    offered[egress].append(_Offer(flow, path, left_bps, begin_ns, end_ns))
                    left_bps = min(left_bps, egress.packet_bps)
    for egress, offers in offered.items():
        rate_bps = egress.packet_bps
        if sum(each.bps for each in offers) <= rate_bps:
            continue
        meetings = (
            [each for each in offers if each.begin_ns <= first.begin_ns < each.end_ns]
            for first in offers
        )
        together = max(meetings, key=lambda them: sum(each.bps for each in them))
        total_bps = sum(each.bps for each in together)
        late = 1 - rate_bps / total_bps if total_bps else 0.0  # of what is sent, what has to wait
        if late <= 0 or _fits(queues.get(egress), [(o.flow, o.path) for o in together], late):
            continue
        most = max(together, key=lambda each: each.bps)
        what = "its bottleneck carries" if egress == most.path.bottleneck else "a link carries"
        report.warn(
            "udp-overload",
            f"with `{most.flow.label}`, UDP sends more than {what}",
            most.flow.span,
            f"with Ethernet's headers {total_bps / 1e6:.4g} Mbit/s on average, from `{egress.node}`"
            f" over {rate_bps / 1e6:g} Mbit/s",
            "the excess is lost, and nothing is left for other flows",
        )


def _fits(queue: plan.Queue | None, sending: Traffic, late: float) -> bool:
    """Return whether flows over UDP all have an end, and what of them has to wait fits into a
    queue that drops only what does not. late: which part has to wait.
    """
    if queue is None or not queue.is_drop_tail:
        return False
    waiting_bytes, packets = 0, 0
    for flow, path in sending:
        total = flow.workload.part.total_bytes(flow.connections)
        if total is None:
            return False
        count = -(-total // (path.mtu - UDP_IP_BYTES))
        packets += count
        waiting_bytes += total + count * (UDP_IP_BYTES + ETHERNET_BYTES)
    if queue.limit_bytes is not None:
        return late * waiting_bytes <= queue.limit_bytes
    return queue.limit_packets is not None and late * packets <= queue.limit_packets


def _offered_bps(flow: Flow, path: RoutedPath) -> int:
    """Return what all connections send on average, bit/s of IP; 0: as much as the network takes."""
    lowered: plan.Workload = flow.workload.lower(flow, path, 0, {})
    return round(lowered.offered_bps(flow.connections, flow.rate_bps) or 0)


def _warn_unmarked(report: Report, wiring: Wiring, traffic: Traffic) -> None:
    """Report queues that may mark where no flow that crosses them requests ECN."""
    marking = [
        (egress, queue)
        for egress in wiring
        for queue in (egress.way.queue.parts if egress.part == "queue" else ())
        if queue.options.get("ecn") is True
    ]
    changing = [each for each in wiring if each.part == "queue" and each.way.ecn != "none"]
    if not marking and not changing:
        return
    asking = [path for flow, path in traffic if flow.options.ecn]
    reached = {egress.link for path in asking for egress in (*path.data, *path.acks)}
    for egress in changing:
        if not any(egress in (*path.data, *path.acks) for path in asking):
            report.warn(
                "nothing-to-mark",
                f"`ecn = {egress.way.ecn}` of this link changes nothing: no flow that crosses it"
                " requests ECN",
                egress.way.ecn_given or egress.way.span,
                "packets of other flows are not ECN-capable, and stay as they are",
                "write `ecn = on` in a flow, or in `hosts`",
            )
    for egress, queue in marking:
        if egress.link not in reached:
            report.warn(
                "nothing-to-mark",
                f"`{queue.kind}` may mark, but no flow here requests ECN: it drops instead",
                queue.span,
                "Linux clients do not request it by default (net.ipv4.tcp_ecn = 2)",
                "write `ecn = on` in a flow, or in `hosts`",
            )


def _warn_misused(report: Report, wiring: Wiring, traffic: Traffic) -> None:
    """Report what makes no sense about the flows that cross a queue."""
    for egress in wiring:
        for queue in egress.way.queue.parts if egress.part == "queue" else ():
            misused = QUEUES[queue.kind].misused
            if misused is None:
                continue
            crossing = [flow for flow, path in traffic if egress in (*path.data, *path.acks)]
            for found in misused(queue, crossing):
                report(found)
