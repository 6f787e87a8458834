"""The words of the language: the metric `deviations`, and the figures of its curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fairc.api import (
    A_COUNT,
    A_FLOW,
    A_SAMPLE_TIME,
    FIGURE_FACET,
    FIGURE_METRIC,
    FIGURE_WHERE,
    Diagnostic,
    FigureEntry,
    FlowTiming,
    Lists,
    MetricEntry,
    Need,
    Parameter,
    Severity,
    SpecMetricRequest,
)

LEAST_WINDOWS = 30
"""With fewer windows at a scale, a spectrum is a handful of points of one window each."""

SAMPLES_A_ROUND = 2
"""Fewer samples than these in a round trip lose windows and losses."""

MOST_SCALES = 12

FLOW = Parameter("flow", A_FLOW, "only this flow; each flow if none is named", repeated=True)
SCALES = Parameter(
    "scales", Lists(A_COUNT), "averaging scales, in round trips", "[100, 200, 500, 1000]"
)
EVERY = Parameter("every", A_SAMPLE_TIME, "time between samples, at least 100us", "3ms")


def scales_of(options: Mapping[str, float | str]) -> tuple[int, ...]:
    """Return the scales of a request with these options, in rounds."""
    text = str(options.get(SCALES.name, SCALES.default))
    return tuple(int(part) for part in text.strip("[]").split(","))


def check(request: SpecMetricRequest, flows: Sequence[FlowTiming]) -> Iterator[Diagnostic]:
    """Yield which values cannot be had, as far as the plan says: a round trip lasts at least the
    base RTT, so their number has an upper bound.
    """
    scales = scales_of(request.options)
    if len(scales) > MOST_SCALES:
        yield _error(
            "too-many",
            f"`deviations` has more than {MOST_SCALES} scales",
            "",
            "name fewer",
        )
    for flow in flows:
        if flow.flow.transport != "udp":
            yield from _of_flow(flow, max(scales))


def _of_flow(flow: FlowTiming, longest: int) -> Iterator[Diagnostic]:
    name, rtt_ns = flow.flow.name, flow.base_rtt_ns
    if flow.flow.connections > 1:
        yield _error(
            "several-connections",
            f"`deviations` needs a single connection, but `{name}` has {flow.flow.connections}",
            "each connection has its own window and clock",
            "add a flow with one connection, and name that one",
        )
    if 0 < rtt_ns < SAMPLES_A_ROUND * flow.sample_every_ns:
        yield _warning(
            "few-samples",
            f"sampling `{name}` every {flow.sample_every_ns / 1e6:g} ms may be too rare",
            f"its base RTT is {rtt_ns / 1e6:g} ms; with fewer than {SAMPLES_A_ROUND} samples a"
            " round trip `deviations` is not defined",
            f"write `every: {max(100, rtt_ns // (4 * 1000))}us`",
        )
    if flow.ends_ns is None or rtt_ns <= 0:
        return
    rounds = max(0, flow.ends_ns - flow.begins_ns) // rtt_ns
    why = f"at most {rounds} round trips of {rtt_ns / 1e6:g} ms are measured"
    if rounds < longest:
        yield _error(
            "too-short",
            f"`{name}` is shorter than the longest scale, {longest} round trips",
            why,
            "increase the duration, or reduce the scale",
        )
    elif rounds // longest < LEAST_WINDOWS:
        yield _warning(
            "few-windows",
            f"`{name}` has at most {_windows(rounds // longest)} of {longest} round trips",
            f"{why}; a scale with fewer than {LEAST_WINDOWS} windows has no values",
            f"measure for {LEAST_WINDOWS * longest * rtt_ns / 1e9:g} s or longer",
        )


def _windows(count: int) -> str:
    return "1 window" if count == 1 else f"{count} windows"


def _error(code: str, message: str, note: str, help: str) -> Diagnostic:
    return Diagnostic(code, message, note=note, help=help)


def _warning(code: str, message: str, note: str, help: str) -> Diagnostic:
    return Diagnostic(code, message, note=note, help=help, severity=Severity.WARNING)


METRIC = MetricEntry(
    name="deviations",
    summary="Large deviations of one flow's window, against theory",
    parameters=(FLOW, SCALES, EVERY),
    values=(
        *("inside", "p", "inside_bernoulli", "p_bernoulli"),
        *("inside_gaussian", "p_gaussian"),
        *("mean_theory", "mean_bernoulli", "mean_gaussian"),
        *("rounds", "mean", "losses", "p_packet", "largest"),
        *("windows", "alpha_min", "alpha_max", "theory_min", "theory_max"),
    ),
    unit="1",
    units=dict.fromkeys(
        (
            *("mean_theory", "mean_bernoulli", "mean_gaussian", "mean", "largest"),
            *("alpha_min", "alpha_max", "theory_min", "theory_max"),
        ),
        "packets",
    ),
    need=Need("has a window", lambda flows: any(flow.transport != "udp" for flow in flows)),
    has_curves=True,
    every=EVERY,
    check=check,
    module="fairc_deviations.metric",
)


def _figure(name: str, summary: str) -> FigureEntry:
    return FigureEntry(
        name=name,
        summary=summary,
        parameters=(FIGURE_METRIC, FIGURE_FACET, FIGURE_WHERE),
        panels=12,
        groups=12,
        shows_curves=True,
        module=f"fairc_deviations.{name}",
    )


SPECTRUM = _figure("spectrum", "Large-deviations spectra, measured and in theory")
RANGES = _figure("ranges", "Smallest and largest mean window against the scale")
LOSS_WINDOW = _figure("loss_window", "Loss probability against the window")
