"""Requirements of metrics over a connection's samples: the sampling interval, and enough rounds.

`sample_every_ns` sets the interval of a flow. `check_scales` checks `deviations` as far as the plan
allows: a round trip lasts at least the base RTT, so their number has an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from fairc.compiler.passes.draft import Draft, DraftFlow
from fairc.compiler.plan import SAMPLE_EVERY_NS
from fairc.dsl import model
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.core.source import Span
from fairc.words.metrics import METRICS, SCALES

LEAST_WINDOWS = 30
"""With fewer windows at a scale, a spectrum is a handful of points of one window each."""

SAMPLES_A_ROUND = 2
"""Fewer samples than these in a round trip lose windows and losses."""

MOST_SCALES = 12


def sample_every_ns(flow: model.Flow, requests: Iterable[model.MetricRequest]) -> int:
    """Return the sampling interval of a flow: the shortest that one of its metrics requests, ns."""
    if flow.transport == "udp":
        return SAMPLE_EVERY_NS
    wanted = (
        round(float(request.options.get(every.name, every.fallback.number)) * 1e9)
        for request in requests
        if (every := METRICS[request.name].every) is not None and _of(request, flow)
    )
    return min((SAMPLE_EVERY_NS, *wanted))


def check_scales(
    draft: Draft,
    requests: Iterable[model.MetricRequest],
    places: Mapping[str, Span],
    report: Callable[[Diagnostic], None],
) -> None:
    """Report which values `deviations` cannot have in a configuration."""
    for request in requests:
        if SCALES in METRICS[request.name].parameters:
            scales, at = _scales(request), places[request.name]
            if len(scales) > MOST_SCALES:
                report(
                    _error(
                        at,
                        "too-many",
                        f"`deviations` has more than {MOST_SCALES} scales",
                        "",
                        "name fewer",
                    )
                )
            for flow in draft.flows:
                if flow.flow.transport != "udp" and _of(request, flow.flow):
                    for found in _of_flow(draft, request, at, flow, scales):
                        report(found)


def _of_flow(
    draft: Draft, request: model.MetricRequest, at: Span, flow: DraftFlow, scales: list[int]
) -> Iterator[Diagnostic]:
    name, rtt_ns = flow.flow.name, flow.base_rtt_ns
    if flow.flow.connections > 1:
        yield _error(
            at,
            "several-connections",
            f"`deviations` needs a single connection, but `{name}` has {flow.flow.connections}",
            "each connection has its own window and clock",
            "add a flow with one connection, and name that one",
        )
    every_ns = sample_every_ns(flow.flow, [request])
    if 0 < rtt_ns < SAMPLES_A_ROUND * every_ns:
        yield _warning(
            at,
            "few-samples",
            f"sampling `{name}` every {every_ns / 1e6:g} ms may be too rare",
            f"its base RTT is {rtt_ns / 1e6:g} ms; with fewer than {SAMPLES_A_ROUND} samples a"
            " round"
            " trip `deviations` is not defined",
            f"write `every: {max(100, rtt_ns // (4 * 1000))}us`",
        )
    ends = [ns for ns in (draft.scenario.duration_ns, flow.flow.stop_ns) if ns is not None]
    if not ends or rtt_ns <= 0:
        return
    lasts_ns = min(ends) - max(draft.scenario.warmup_ns, flow.flow.start_ns or 0)
    rounds, longest = max(0, lasts_ns) // rtt_ns, scales[-1]
    why = f"at most {rounds} round trips of {rtt_ns / 1e6:g} ms are measured"
    if rounds < longest:
        yield _error(
            at,
            "too-short",
            f"`{name}` is shorter than the longest scale, {longest} round trips",
            why,
            "increase the duration, or reduce the scale",
        )
    elif rounds // longest < LEAST_WINDOWS:
        yield _warning(
            at,
            "few-windows",
            f"`{name}` has at most {_windows(rounds // longest)} of {longest} round trips",
            f"{why}; a scale with fewer than {LEAST_WINDOWS} windows has no values",
            f"measure for {LEAST_WINDOWS * longest * rtt_ns / 1e9:g} s or longer",
        )


def _windows(count: int) -> str:
    return "1 window" if count == 1 else f"{count} windows"


def _of(request: model.MetricRequest, flow: model.Flow) -> bool:
    return not request.sessions or bool(
        {flow.name, flow.declared, flow.users} & set(request.sessions)
    )


def _scales(request: model.MetricRequest) -> list[int]:
    text = str(request.options.get(SCALES.name, SCALES.default)).strip("[]")
    return sorted(int(part) for part in text.split(","))


def _error(at: Span, code: str, message: str, note: str, help: str) -> Diagnostic:
    return Diagnostic(code, message, at, note=note, help=help)


def _warning(at: Span, code: str, message: str, note: str, help: str) -> Diagnostic:
    return Diagnostic(code, message, at, note=note, help=help, severity=Severity.WARNING)
