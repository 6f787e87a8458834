"""The figures of `report`: a line for each, with its limits; runtime/report/figures has a module of
each name.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_COUNT, A_SWITCH, AnyName, OneOrMore, Quantities, Texts, Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, SHARE
from fairc.dsl.core.values import Text, Value

P = Parameter

A_BIN_COUNT = Quantities((NUMBER,), low=1, high=200, whole=True)
A_NAME = AnyName(
    "a swept name, `repetition`, `load`, `protocol`, `time`, `flow`, `subflow` or `users`"
)
NAMES = OneOrMore(A_NAME, "a name or a list of names")
LOAD = "load"
"""The name of the number of a page load."""
FLOW = "flow"
"""The name of a flow as an axis, a group or a panel."""
ALWAYS = ("repetition", LOAD, "protocol", "time", FLOW, "subflow", "users")


@dataclass(frozen=True)
class Conditions:
    """The kind "a condition", which arrives as text because it is evaluated later, for cells."""

    phrase: str = "a condition"

    def take(self, value: Value, use: str, at: Span | None = None) -> Text:
        """Return the text. Raises CompileError for anything else."""
        return Texts().take(value, use, at)


A_METRIC = AnyName("a metric")
METRIC = P("metric", A_METRIC, "the metric shown", required=True)
_BY = P("by", NAMES, "one group for each value of these")
FACET = P("facet", NAMES, "one panel for each value of these")
WHERE = P("where", Conditions(), "only cells for which this holds")
_X = P("x", A_NAME, "horizontal axis", required=True)
_Y = P("y", A_NAME, "vertical axis", required=True)
_LEVEL = Quantities((SHARE,), low=Fraction(1, 2), high=1, open_high=True)
_CI = P("ci", _LEVEL, "confidence level of intervals", "95%")
_STAT = P("stat", Words("statistic", ("median", "mean")), "how cells are summarised", "median")
_A_PERCENT = Quantities((NUMBER,), low=0, high=100)
_PERCENTILE = P("percentile", _A_PERCENT, "which percentile of each group, instead of `stat`")
_AXES = Words("axes", ("x", "y", "xy"))
_SIGMAS = Quantities((NUMBER,), low=0, high=5, open_low=True)
_LOG = P("log", _AXES, "logarithmic axes, which take positive values only")
_LOG_X = P("log", Words("axis", ("x",)), "a logarithmic axis, which takes positive values only")


MAX_LINES = 18
"""Lines of one panel: six colours in three dashes each (runtime/report/figures/style.py)."""


@dataclass(frozen=True, kw_only=True)
class FigureEntry(Entry):
    """A figure of `report`, and how much it can show and still be read.

    panels: at most this many.
    groups: at most this many in all panels.
    lines: at most this many per panel if its groups share it, else 0.
    shows_curves: whether it shows a metric's curves, not its numbers.
    module: where it is drawn, if not in the module of its name in runtime/report/figures.
    over_time: its parameter that can be `time`; empty: none.
    has_panels: whether `facet` makes panels.
    over_sweep: whether it shows a statistic of the cells at each value of its `x`.
    of_pairs: whether its axes are the two names of `pairs(...)`.
    shows_statistics: whether it can show an expression of statistics instead of a metric.
    """

    panels: int
    groups: int
    lines: int = 0
    shows_curves: bool = False
    module: str = ""
    over_time: str = ""
    has_panels: bool = True
    over_sweep: bool = False
    shows_statistics: bool = False
    of_pairs: bool = False
    runs: bool = True


def _figure(
    name: str,
    summary: str,
    *parameters: Parameter[Any],
    most: tuple[int, int],
    lines: int = 0,
    **others: Any,
) -> FigureEntry:
    """Describe a figure; most: panels, and groups."""
    panels, groups = most
    return FigureEntry(
        name=name,
        summary=summary,
        parameters=(*parameters, FACET, WHERE),
        panels=panels,
        groups=groups,
        lines=lines,
        **others,
    )


BARS = (
    "medians with their intervals are `line(goodput, x: buffer, by: cca)`; no line connects values"
    " that are words"
)
BOXES = "quartiles and single values are `boxplot(goodput, by: cca)`; distributions are a `cdf`"
POINTS = (
    "two metrics of each repetition are `scatter(goodput, x: rtt.p95, by: cca)`, one metric is"
    " `boxplot(goodput, by: cca)`"
)

FIGURES: Registry[FigureEntry] = Registry(
    "figure",
    "figure",
    [
        _figure(
            "table",
            "Numbers in rows",
            METRIC,
            _BY,
            _PERCENTILE,
            _STAT,
            _CI,
            most=(1, 500),
            has_panels=False,
            shows_statistics=True,
        ),
        _figure(
            "line",
            "A line for each group",
            METRIC,
            _X,
            _BY,
            _CI,
            _STAT,
            _LOG,
            most=(12, 12 * 12),
            lines=MAX_LINES,
            over_time=_X.name,
            over_sweep=True,
            shows_statistics=True,
        ),
        _figure(
            "heatmap",
            "Colours over two axes",
            METRIC,
            _X,
            _Y,
            _STAT,
            most=(24, 2000),
            over_sweep=True,
            shows_statistics=True,
        ),
        _figure(
            "matrix",
            "A metric of every pair, with both of its names as axes",
            METRIC,
            P("other", A_METRIC, "the metric at the mirrored places; without it, the same one"),
            _X,
            _Y,
            _STAT,
            most=(24, 2000),
            of_pairs=True,
        ),
        _figure(
            "scatter",
            "One metric against another, a point for each repetition",
            METRIC,
            P("x", A_METRIC, "the metric of the horizontal axis", required=True),
            _BY,
            P("ellipse", _SIGMAS, "an ellipse of so many standard deviations for each group"),
            P("reverse", _AXES, "axes whose larger values are at the left, or below"),
            _LOG,
            most=(12, 12 * 12),
            lines=MAX_LINES,
        ),
        _figure(
            "boxplot",
            "Medians, quartiles and outliers",
            METRIC,
            _BY,
            P("notch", A_SWITCH, "notches show the median's interval", "off"),
            P(
                "test",
                Words("test", ("welch", "wilcoxon", "none")),
                "significance of the difference between groups that differ in the last of `by`",
                "none",
            ),
            _CI,
            _LOG_X,
            most=(12, 80),
        ),
        _figure(
            "cdf",
            "Cumulative distribution",
            METRIC,
            _BY,
            _LOG_X,
            most=(12, 12 * 12),
            lines=MAX_LINES,
        ),
        _figure(
            "histogram",
            "Frequencies",
            METRIC,
            _BY,
            P("bins", A_BIN_COUNT, "number of bins", "20"),
            most=(12, 12),
        ),
        _figure(
            "sequence",
            "Bytes of a page load over time",
            _BY,
            most=(12, 12 * 12),
            lines=MAX_LINES,
        ),
        _figure(
            "convergence",
            "How a percentile settles with the number of configurations",
            METRIC,
            _BY,
            P("percentile", _A_PERCENT, "which percentile", "50"),
            P("draws", A_COUNT, "random subsets of each size", "1000"),
            most=(12, 12),
        ),
        _figure(
            "pairs",
            (
                "A percentile over the configurations of each pair of sessions, with its"
                " bootstrap interval"
            ),
            METRIC,
            _BY,
            P("percentile", _A_PERCENT, "which percentile", "10"),
            _CI,
            most=(1, 500),
        ),
    ],
    misplaced={
        **dict.fromkeys(("bar", "bars", "barplot", "barchart", "bar_plot", "bar_chart"), BARS),
        **dict.fromkeys(("box", "boxes", "box_plot", "violin", "violins", "violinplot"), BOXES),
        **dict.fromkeys(("points", "dots", "strip"), POINTS),
    },
)


def takes_names(parameter: Parameter[Any]) -> bool:
    """Return whether the value of an option is one name, or several, by which cells differ."""
    return parameter.kind in (A_NAME, NAMES)


GROUP = "fairc.figures"
"""Entry points of other packages' figures."""

FIGURES.accept(GROUP)
