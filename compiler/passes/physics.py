"""Pass `warn`: experiments that can run, but will probably not answer the question."""

from __future__ import annotations

from collections import Counter, defaultdict

from fairc.words.ccas import CCAS
from fairc.words.queues import QUEUES
from fairc.words.workloads import Video

from .draft import Draft, DraftFlow, Place
from .queues import bdp_bytes

COMFORTABLE_BPS = 100_000_000  # the vm engine's guest executes 1e9 instructions per second
FEW_RTTS = 10


def warn(draft: Draft) -> None:
    """Report durations that are too short, rates that are too high, windows that are too small."""
    sharing = Counter(flow.bottleneck.place for flow in draft.flows if flow.bottleneck)
    for flow in draft.flows:
        if flow.bottleneck is None:
            continue
        _warn_short(draft, flow, sharing[flow.bottleneck.place])
        _warn_limits(draft, flow)
        shaped = flow.bottleneck.shaped
        if shaped is not None and flow.rate_bps > COMFORTABLE_BPS:
            draft.warn(
                "fast-link",
                f"a bottleneck of {flow.rate_bps / 1e6:g} Mbit/s is fast for the engine vm",
                shaped.span,
                "above about 100 Mbit/s its emulated CPU may become the bottleneck",
                "watch the validity verdicts, or scale the rate down and the RTT up",
            )
    _warn_late(draft)
    _warn_overload(draft)
    _warn_unmarked(draft)
    _warn_misused(draft)


def _warn_short(draft: Draft, flow: DraftFlow, sharing: int) -> None:
    """Report a duration that ends a flow before it can have done its work."""
    duration_ns = draft.scenario.duration_ns
    if duration_ns is None:
        return
    lasts_ns = duration_ns - (flow.flow.start_ns or 0)
    total = flow.flow.workload.total_bytes(flow.flow.connections)
    if lasts_ns <= 0:  # already reported: late-start
        return
    if lasts_ns < FEW_RTTS * flow.base_rtt_ns:
        draft.warn(
            "short-duration",
            f"the flow `{flow.flow.name}` runs for less than {FEW_RTTS} base RTTs",
            flow.flow.span,
            f"{lasts_ns / 1e9:g} s, and a base RTT of {flow.base_rtt_ns / 1e6:g} ms",
            "increase the duration",
        )
    elif total is not None or flow.flow.workload.own_time_ns(flow):
        what = flow.flow.workload.noun
        moving_ns = (total or 0) * 8 * 10**9 * sharing // flow.rate_bps
        share = flow.rate_bps / sharing / 1e6
        own_ns = flow.flow.workload.own_time_ns(flow)
        if lasts_ns < max(moving_ns, own_ns):
            draft.warn(
                "short-duration",
                f"the duration is too short for the {what} of `{flow.flow.name}`",
                flow.flow.span,
                f"{total} bytes at {share:g} Mbit/s take {moving_ns / 1e9:.1f} s"
                if moving_ns >= own_ns
                else f"by itself it takes {own_ns / 1e9:g} s",
                f"increase the duration, or reduce the {what}",
            )


def _warn_late(draft: Draft) -> None:
    """Report changes of a link after the end of the cell."""
    scenario = draft.scenario
    limit_ns = scenario.duration_ns if scenario.duration_ns is not None else scenario.deadline_ns
    for link in scenario.network.links:
        for a, b, way in ((link.a, link.b, link.forward), (link.b, link.a, link.backward)):
            # A link that comes up again (or not) after the end needs no warning.
            late = [c.at_ns for c in way.changes if c.is_up is not True]
            if limit_ns is not None and late and max(late) >= limit_ns:
                draft.warn(
                    "late-change",
                    f"a change of the link from `{a}` to `{b}` comes after the cell has ended",
                    way.span,
                    f"at {max(late) / 1e9:g} s, and the cell ends after {limit_ns / 1e9:g} s",
                    "make it earlier, or the cell longer",
                )


def _warn_limits(draft: Draft, flow: DraftFlow) -> None:
    """Report options and workloads that the path makes meaningless."""
    declared, workload = flow.flow, flow.flow.workload
    if isinstance(workload, Video) and workload.plan.bitrate_bps > flow.rate_bps:
        draft.warn(
            "video-too-fast",
            f"the video of `{declared.name}` has a higher bit rate than its bottleneck",
            declared.span,
            (
                f"{workload.plan.bitrate_bps / 1e6:g} Mbit/s over a bottleneck of"
                f" {flow.rate_bps / 1e6:g} Mbit/s"
            ),
            "it stalls whatever the network does: lower the bit rate, or make the link faster",
        )
    cca = declared.cca or ""
    if cca in CCAS and CCAS[cca].needs_ecn and not declared.options.ecn:
        draft.warn(
            "dctcp-without-ecn",
            f"without ECN, {cca.upper()} in `{declared.name}` behaves as Reno",
            declared.span,
            "Linux falls back where the other end has not agreed to ECN",
            "write `ecn = accurate`, and give the queue `ecn: on`",
        )
    window = min(
        declared.options.receive_window_bytes or flow.buffer_bytes,
        declared.receive_buffer_bytes or flow.buffer_bytes,
        declared.send_buffer_bytes or flow.buffer_bytes,
    )
    bdp = bdp_bytes(flow.rate_bps, flow.base_rtt_ns)
    if window * declared.connections < bdp and declared.transport != "udp":
        most_mbps = window * declared.connections * 8e3 / flow.base_rtt_ns
        draft.warn(
            "window-below-bdp",
            f"the windows of `{declared.name}` are too small to fill its bottleneck",
            declared.span,
            (
                f"{window} bytes per connection, and a BDP of {bdp} bytes: at most {most_mbps:.3g}"
                f" Mbit/s"
            ),
            "keep it if you want this limit; otherwise leave out the window or the buffer",
        )


def _warn_overload(draft: Draft) -> None:
    """Report bottlenecks to which UDP sends more than they carry."""
    offered: dict[Place, int] = defaultdict(int)
    for flow in draft.flows:
        if flow.flow.transport == "udp" and flow.bottleneck is not None:
            place = flow.bottleneck.place
            offered[place] += flow.offered_bps or 0
            if offered[place] > flow.rate_bps:
                draft.warn(
                    "udp-overload",
                    f"with `{flow.flow.name}`, UDP sends more than its bottleneck carries",
                    flow.flow.span,
                    f"{offered[place] / 1e6:g} Mbit/s on average over a bottleneck of"
                    f" {flow.rate_bps / 1e6:g} Mbit/s",
                    "what does not fit is lost, and nothing is left for other flows",
                )


def _warn_unmarked(draft: Draft) -> None:
    """Report queues that may mark where no flow that crosses them requests ECN."""
    marking = [
        end
        for node in draft.nodes.values()
        for end in node.ends
        if end.shaped is not None and end.shaped.queue.options.get("ecn") is True
    ]
    if not marking:
        return
    asking = [flow for flow in draft.flows if flow.flow.options.ecn]
    reached = {end.link for flow in asking for end in (*flow.data, *flow.acks)}
    for end in marking:
        if end.link not in reached and end.shaped is not None:
            draft.warn(
                "nothing-to-mark",
                f"`{end.shaped.queue.kind}` may mark, but no flow here requests ECN: it drops"
                " instead",
                end.shaped.queue.span,
                "Linux clients do not request it by default (net.ipv4.tcp_ecn = 2)",
                "write `ecn = on` in a flow, or in `hosts`",
            )


def _warn_misused(draft: Draft) -> None:
    """Report what makes no sense about the flows that cross a queue."""
    for node in draft.nodes.values():
        for end in node.ends:
            queue = end.shaped.queue if end.shaped is not None else None
            misused = None if queue is None else QUEUES[queue.kind].misused
            if queue is not None and misused is not None:
                crossing = [f.flow for f in draft.flows if end in (*f.data, *f.acks)]
                for found in misused(queue, crossing):
                    draft.report(found)
