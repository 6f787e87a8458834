"""Pass `warn`: what can be built and run, but will probably not tell what was asked."""

from __future__ import annotations

from collections import Counter

from fairc.dsl.diagnostics import Diagnostic, Severity
from fairc.dsl.model import File

from .draft import Draft, DraftFlow

COMFORTABLE_BPS = 100_000_000  # the vm engine's guest executes 1e9 instructions per second
FEW_RTTS = 10


def warn(draft: Draft) -> None:
    """Report durations that are too short and rates that are too high."""
    sharing = Counter(flow.bottleneck.place for flow in draft.flows if flow.bottleneck)
    for flow in draft.flows:
        if flow.bottleneck is None:
            continue
        _warn_short(draft, flow, sharing[flow.bottleneck.place])
        shaped = flow.bottleneck.shaped
        if shaped is not None and flow.rate_bps > COMFORTABLE_BPS:
            draft.report(
                Diagnostic(
                    code="fast-link",
                    message=f"a bottleneck of {flow.rate_bps / 1e6:g} Mbit/s is fast for an engine",
                    span=shaped.span,
                    notes=("above about 100 Mbit/s the emulated CPU may become the bottleneck",),
                    help="watch the validity verdicts, or scale the rate down and the RTT up",
                    severity=Severity.WARNING,
                )
            )


def _warn_short(draft: Draft, flow: DraftFlow, sharing: int) -> None:
    """Report a duration that ends a flow before it can have done its work."""
    duration_ns, workload = draft.scenario.duration_ns, flow.flow.workload
    if duration_ns is None:
        return
    lasts_ns = duration_ns - (flow.flow.start_ns or 0)
    if lasts_ns < FEW_RTTS * flow.base_rtt_ns:
        draft.report(
            Diagnostic(
                code="short-duration",
                message=f"the flow `{flow.flow.name}` runs for less than {FEW_RTTS} base RTTs",
                span=flow.flow.span,
                notes=(f"{lasts_ns / 1e9:g} s, and a base RTT of {flow.base_rtt_ns / 1e6:g} ms",),
                help="make the duration longer",
                severity=Severity.WARNING,
            )
        )
    elif isinstance(workload, File):
        total = workload.size_bytes * flow.flow.connections
        needed_ns = total * 8 * 10**9 * sharing // flow.rate_bps
        share = flow.rate_bps / sharing / 1e6
        if lasts_ns < needed_ns:
            draft.report(
                Diagnostic(
                    code="short-duration",
                    message=f"the duration is too short for the file of `{flow.flow.name}`",
                    span=flow.flow.span,
                    notes=(f"{total} bytes at {share:g} Mbit/s take {needed_ns / 1e9:.1f} s",),
                    help="make the duration longer, or the file smaller",
                    severity=Severity.WARNING,
                )
            )
