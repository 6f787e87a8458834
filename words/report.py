"""The words of results: metrics with their sub-values, and figures."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import (
    A_COUNT,
    A_POSITIVE_SHARE,
    A_POSITIVE_TIME,
    A_SWITCH,
    AnyName,
    Lists,
    Quantities,
    Texts,
    Words,
)
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, SHARE, TIME
from fairc.dsl.core.values import ListValue, Symbol, Text, TupleValue, Value

P = Parameter

A_FLOW = AnyName("a flow")
A_BIN_COUNT = Quantities((NUMBER,), low=1, high=200, whole=True)
_FLOWS = P("flows", A_FLOW, "sessions that are compared; all flows if none is named", repeated=True)
_FLOW = P("flow", A_FLOW, "only this flow; each flow if none is named", repeated=True)
_SLOT = P("slot", A_POSITIVE_TIME, "length of a slot", "100ms")
_TWO = P("groups", A_FLOW, "the two groups: users or flows", repeated=True, required=True, count=2)
# Of a group of users: what one of them gets, and what all of them get.
_OF_USERS = ("user", "group")
_PERCENTILES = ("p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99")
_TRANSFERS = ("mean", *_PERCENTILES, "count", "unfinished")
SCALES = "[100, 200, 500, 1000]"
"""Of `deviations`, if the file gives none; as it is in the plan."""

# The shortest period of the endpoints (SHORTEST_PERIOD in endpoints/src/description.rs).
A_SAMPLE_TIME = Quantities((TIME,), low=Fraction(1, 10_000))


def _metric(
    name: str,
    unit: str,
    summary: str,
    *parameters: Parameter[Any],
    values: tuple[str, ...] = (),
    runs: bool = False,
) -> Entry:
    return Entry(name, summary, parameters, runs=runs, values=values, unit=unit)


METRICS: Registry[Entry] = Registry(
    "metric",
    "metric",
    [
        _metric(
            "goodput",
            "bit/s",
            "Application bytes delivered per second",
            _FLOW,
            values=_OF_USERS,
            runs=True,
        ),
        _metric(
            "throughput",
            "bit/s",
            "Frame bytes per second at the exit",
            _FLOW,
            values=_OF_USERS,
            runs=True,
        ),
        _metric("utilization", "1", "Share of the bottleneck's rate that was used", runs=True),
        _metric(
            "rtt",
            "s",
            "Round-trip times",
            _FLOW,
            values=("mean", "min", "base", *_PERCENTILES),
            runs=True,
        ),
        _metric(
            "cwnd",
            "packets",
            "Congestion window over time",
            _FLOW,
            P("every", A_SAMPLE_TIME, "time between samples, at least 100us", "100ms"),
            values=("mean", *_PERCENTILES, "min", "max"),
            runs=True,
        ),
        _metric(
            "loss_rate",
            "1",
            "Share of packets lost",
            _FLOW,
            values=("total", "queue", "random"),
            runs=True,
        ),
        _metric(
            "retransmissions",
            "packets",
            "Packets sent again",
            _FLOW,
            values=("share",),
            runs=True,
        ),
        _metric(
            "queue_delay",
            "s",
            "Time that packets wait at the bottleneck",
            _FLOW,
            values=("mean", *_PERCENTILES, "max"),
            runs=True,
        ),
        _metric(
            "fairness",
            "1",
            "Session fairness F, Jain's index, dominance",
            _FLOWS,
            _SLOT,
            values=(
                *("F", "dominance", "jain_session", "jain_slots", "floor", "competition_time"),
                *("product", "epsilon_fairness"),
            ),
            runs=True,
        ),
        _metric(
            "fmp",
            "1",
            "Fairness Measurement Procedure over whole sessions",
            _FLOWS,
            _SLOT,
            P(
                "weights",
                Words("weights", ("linear", "quadratic", "harmonic")),
                "how much more early slots weigh",
                "linear",
            ),
            values=(
                *("fairness", "fairness_rel", "K", "K_rel", "K_pair"),
                *("jain", "product", "epsilon_fairness"),
            ),
            runs=True,
        ),
        _metric("unfairness", "1", "Ratio of what a user of two groups gets", _TWO, runs=True),
        _metric(
            "policing",
            "1/s",
            "Tokens, drops and level of a user's bucket, and windows that are too small",
            _FLOW,
            values=("tokens", "loss", "drops", "level", "empty", "small_window", "unexposed"),
            runs=True,
        ),
        _metric(
            "convergence_time",
            "s",
            "Time until every session has its fair share",
            _FLOWS,
            P("tolerance", A_POSITIVE_SHARE, "how far from the fair share is fair", "10%"),
            P("over", A_POSITIVE_TIME, "window over which shares are taken", "1s"),
            _SLOT,
            values=("reached", "held"),
            runs=True,
        ),
        _metric(
            "stationarity",
            "1",
            "Whether the throughput keeps its level from the warm-up on",
            _FLOW,
            _SLOT,
            values=("statistic", "p", "autocorrelation"),
            runs=True,
        ),
        _metric(
            "deviations",
            "1",
            "Large deviations of one flow's window, against theory",
            _FLOW,
            P(
                "scales",
                Lists(A_COUNT),
                "averaging scales, in round trips",
                SCALES,
            ),
            P("every", A_SAMPLE_TIME, "time between samples, at least 100us", "3ms"),
            values=(
                *("inside", "p", "inside_bernoulli", "p_bernoulli"),
                *("inside_gaussian", "p_gaussian"),
                *("mean_theory", "mean_bernoulli", "mean_gaussian"),
                *("rounds", "mean", "losses", "p_packet", "largest"),
                *("windows", "alpha_min", "alpha_max", "theory_min", "theory_max"),
            ),
            runs=True,
        ),
        _metric("plt", "s", "Page load time: loadEventEnd", _FLOW, runs=True),
        _metric("ttr", "s", "Time to response: responseStart", _FLOW, runs=True),
        _metric("connect", "s", "Time to connect for a page: connectEnd", _FLOW, runs=True),
        _metric("fcp", "s", "First contentful paint of a page", _FLOW, runs=True),
        _metric("lcp", "s", "Largest contentful paint of a page", _FLOW, runs=True),
        _metric("sequence", "B", "Bytes of a page over time", _FLOW, runs=True),
        _metric("cpu", "1", "Load of the machine's CPU during page loads", _FLOW, runs=True),
        _metric(
            "fct",
            "s",
            "Flow completion times of requests and files",
            _FLOW,
            values=(*_TRANSFERS, *(f"group_{value}" for value in _TRANSFERS)),
            runs=True,
        ),
        _metric("qoe", "1", "Quality of experience of a video", _FLOW, runs=True),
        _metric(
            "stalls",
            "1",
            "Interruptions of a video",
            _FLOW,
            values=("count", "time"),
            runs=True,
        ),
        _metric("startup", "s", "Time until a video first plays", _FLOW, runs=True),
        _metric(
            "datagrams",
            "1",
            "What arrives of datagrams over UDP",
            _FLOW,
            values=("lost", "reordered", "duplicates", "jitter"),
            runs=True,
        ),
    ],
)

A_NAME = AnyName("a swept name, `repetition`, `load`, `protocol`, `time`, `flow` or `users`")
NAMES = Lists(A_NAME)
ALWAYS = ("repetition", "load", "protocol", "time", "flow", "users")

PER_LOAD = ("plt", "ttr", "connect", "fcp", "lcp", "sequence", "cpu")
"""Metrics with a value for each load of a page; `load` and `protocol` tell them apart."""

OVER_TIME = ("goodput", "rtt", "cwnd")
"""Metrics that `line` can show with `x: time`; the others are one number of a cell or a flow."""


@dataclass(frozen=True)
class OneOrMore:
    """The kind "a name, or a list or tuple of names"."""

    words: str = "a name or a list of names"

    def take(self, value: Value, use: str, at: Span | None = None) -> tuple[Symbol, ...]:
        """Return the names. Raises CompileError unless the value is a name or a list of names."""
        if isinstance(value, ListValue | TupleValue):
            return NAMES.take(value, use, at)
        return (A_NAME.take(value, use, at),)


@dataclass(frozen=True)
class Conditions:
    """The kind "a condition", which arrives as its text because it holds for cells, not now."""

    words: str = "a condition"

    def take(self, value: Value, use: str, at: Span | None = None) -> Text:
        """Raise CompileError for anything but a text."""
        return Texts().take(value, use, at)


_METRIC = P("metric", AnyName("a metric"), "the metric that is shown", required=True)
_BY = P("by", OneOrMore(), "one group for each value of these")
_FACET = P("facet", OneOrMore(), "one panel for each value of these")
_WHERE = P("where", Conditions(), "only cells for which this holds")
_X = P("x", A_NAME, "horizontal axis", required=True)
_Y = P("y", A_NAME, "vertical axis", required=True)
_LEVEL = Quantities((SHARE,), low=Fraction(1, 2), high=1, open_high=True)
_CI = P("ci", _LEVEL, "confidence level of intervals", "95%")
_STAT = P("stat", Words("statistic", ("median", "mean")), "what sums up the cells", "median")
_A_PERCENT = Quantities((NUMBER,), low=0, high=100)
_PERCENTILE = P("percentile", _A_PERCENT, "which percentile of each group, instead of `stat`")


@dataclass(frozen=True)
class Limits:
    """How much one figure can show and still be read: panels, and groups in all of them."""

    panels: int
    groups: int


LIMITS: dict[str, Limits] = {
    "table": Limits(1, 500),
    "line": Limits(12, 12 * 12),
    "heatmap": Limits(24, 2000),
    "boxplot": Limits(12, 80),
    "cdf": Limits(12, 12 * 12),
    "histogram": Limits(12, 12),
    "convergence": Limits(12, 12),
    "sequence": Limits(12, 12 * 12),
    "autocorrelation": Limits(24, 24),
    "spectrum": Limits(12, 12),
    "ranges": Limits(12, 12),
    "loss_window": Limits(12, 12),
}
MAX_LINES = 12
"""Lines of one panel, which colours and dashes tell apart."""

CURVE_FIGURES = ("spectrum", "ranges", "loss_window")
"""Figures of a metric's curves, which `deviations` alone has."""

SERIES_FIGURES = ("line", "cdf", "sequence")
"""Figures whose groups share a panel, so that there are at most `MAX_LINES` of them in each."""

RUNNING_FIGURES: tuple[str, ...] = tuple(LIMITS)
"""Figures that the report draws on demand: extend when one is built."""


def _figure(name: str, summary: str, *parameters: Parameter[Any]) -> Entry:
    return Entry(
        name,
        summary,
        (*parameters, _FACET, _WHERE),
        runs=name in RUNNING_FIGURES,
        instead="without `report`, each metric brings its own table and figure",
    )


FIGURES: Registry[Entry] = Registry(
    "figure",
    "figure",
    [
        _figure("table", "Numbers in rows", _METRIC, _BY, _PERCENTILE, _STAT, _CI),
        _figure("line", "A line for each group", _METRIC, _X, _BY, _CI, _STAT),
        _figure("heatmap", "Colours over two axes", _METRIC, _X, _Y, _STAT),
        _figure(
            "boxplot",
            "Medians, quartiles and outliers",
            _METRIC,
            _BY,
            P("notch", A_SWITCH, "notches show the interval of the median", "off"),
            P(
                "test",
                Words("test", ("welch", "wilcoxon", "none")),
                "significance of the difference between groups that differ in the last of `by`",
                "none",
            ),
            _CI,
        ),
        _figure("cdf", "Cumulative distribution", _METRIC, _BY),
        _figure(
            "histogram",
            "Frequencies",
            _METRIC,
            _BY,
            P("bins", A_BIN_COUNT, "number of bins", "20"),
        ),
        _figure("sequence", "Bytes of a page over time", _BY),
        _figure(
            "autocorrelation",
            "Whether repetitions depend on those before them",
            _METRIC,
            _BY,
        ),
        _figure("spectrum", "Large-deviations spectra, measured and in theory", _METRIC),
        _figure("ranges", "Smallest and largest mean window against the scale", _METRIC),
        _figure("loss_window", "Loss probability against the window", _METRIC),
        _figure(
            "convergence",
            "How a percentile settles with the number of configurations",
            _METRIC,
            _BY,
            P("percentile", _A_PERCENT, "which percentile", "50"),
            P("draws", A_COUNT, "random subsets of each size", "1000"),
        ),
    ],
)
