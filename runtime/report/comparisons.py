"""Tests of the differences between a run's configurations, and of the independence of its
repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

from fairc.runtime.formatting import (
    MINUS,
    Interval,
    Number,
    counted,
    listed,
    number,
    one_line,
    scaled,
)
from fairc.runtime.metrics.registry import title
from fairc.runtime.repetitions import samples
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.statistics.estimates import Estimate
from fairc.runtime.statistics.multiple import holm
from fairc.runtime.statistics.paired import comparisons_decided, least_p, pairs_needed
from fairc.runtime.statistics.series import Autocorrelation, autocorrelation
from fairc.runtime.statistics.verdicts import compare

from .answer import entries
from .run import Configuration, Run
from .summary import Results

if TYPE_CHECKING:
    from fairc.compiler.plan import Axis, FigureRequest
    from fairc.runtime.statistics.paired import Matched
    from fairc.runtime.statistics.verdicts import Comparison

# More configurations make more pairs than anyone reads, and Holm's correction decides none of them.
MAX_CONFIGURATIONS = 4
# The most rows of a table that anyone reads.
MAX_ROWS = 240


@dataclass(frozen=True, slots=True)
class Difference:
    """The amount by which the second of two is larger.

    unit: of the page; interval: None without one.
    """

    unit: str
    value: Number
    interval: Interval | None

    @property
    def text(self) -> str:
        """It with its interval and its unit."""
        ends = f" [{self.interval[0].text}, {self.interval[1].text}]" if self.interval else ""
        return f"{self.value.text}{ends} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class PairComparison:
    """One measure in two configurations; text: the result of the tests.

    where: the swept values that both have, where `first` and `second` are only those that differ.
    difference: of configurations that draw alike; else None.
    """

    what: str
    where: str
    first: str
    second: str
    text: str
    difference: Difference | None = None

    @property
    def shift(self) -> str:
        """The difference as the page prints it; empty without one."""
        return self.difference.text if self.difference else ""


@dataclass(frozen=True, slots=True)
class Series:
    """One measure over the repetitions of one configuration, as text.

    r: autocorrelation at lag 1, with the band that holds 95 % of independent series; p: of the
    Ljung-Box test, among all series of the page.
    """

    what: str
    configuration: str
    n: int
    r: str
    p: str


@dataclass(frozen=True, slots=True)
class Comparisons:
    """too_many: the number of configurations, where there are too many to compare every two.

    by: the swept names whose values are compared then, all others being equal, because figures of
    the experiment test them; empty where every two are compared, or none.
    sentences: the results of the comparisons by these names, metric by metric.
    dependent: the series whose repetitions depend on each other at 5 % (after Holm).
    pairing: that values were compared repetition by repetition, and how many comparisons these can
    decide; empty where the configurations are independent samples.
    """

    pairs: tuple[PairComparison, ...]
    series: tuple[Series, ...]
    dependent: tuple[Series, ...]
    too_many: int
    by: tuple[str, ...] = ()
    sentences: tuple[str, ...] = ()
    pairing: str = ""


def comparisons(run: Run, results: Results) -> Comparisons:
    """Compare the metrics that the experiment names; each by its first value, as `fairc table`
    does.

    Only configurations are compared: flows share their cells, and are not independent. Cells that
    do not count are left out. P-values are adjusted over all comparisons, and over all series.
    """
    measures = [m for m in results.measures if m in results.asked]
    ran = [c for c in run.configurations if c.counted]
    few = len(ran) <= MAX_CONFIGURATIONS
    by = () if few else tested_names(run.plan.figures, run.plan.axes)
    found = []
    for measure in measures if few or by else ():
        with_values = [c for c in ran if results.summary(measure, c).values]
        pairs_ = combinations(with_values, 2)
        found += [(measure, a, b) for a, b in pairs_ if few or _differ_in(a, b) in by]
    if len(found) > MAX_ROWS:
        found, by = [], ()
    common = bool(run.plan.common)
    if common:
        found = [(m, a, b) for m, a, b in found if matched(results, m, a, b).first]
    tested = compare(
        matched(results, m, a, b)
        if common
        else (results.summary(m, a).values, results.summary(m, b).values)
        for m, a, b in found
    )
    pairs = tuple(
        PairComparison(
            _what(run, results, m, a),
            *_names(a, b, by),
            comparison.text,
            _difference(results, m, comparison.shift),
        )
        for (m, a, b), comparison in zip(found, tested, strict=True)
    )
    series = tuple(_series(run, results, measures, ran))
    return Comparisons(
        pairs,
        tuple(s for s, _ in series) if few else (),
        tuple(s for s, dependent in series if dependent),
        0 if few else len(ran),
        by,
        tuple(_summed_up([m.metric for m, _, _ in found], pairs, by)) if by else (),
        _pairing(tested) if common and tested else "",
    )


def matched(results: Results, measure: Measure, a: Configuration, b: Configuration) -> Matched:
    """Return the values of the repetitions that count in both configurations, in order."""
    return samples.matched(
        *({o.repetition: v for o, v in results.sizes(measure, c)} for c in (a, b))
    )


def _pairing(tested: Sequence[Comparison]) -> str:
    """Return what is paired, and how many comparisons this number of repetitions can decide, as
    text.
    """
    most = max(c.pairs or 0 for c in tested)
    tests = sum(c.p is not None for c in tested)
    can = comparisons_decided(most)
    text = (
        "All configurations of a repetition share their random starts, arrivals and sizes, so"
        " values are compared in pairs, repetition by repetition: the exact Wilcoxon signed-rank"
        " test, and the interval of the differences from their Walsh averages. The smallest p"
        f" possible with {counted(most, 'repetition')} is {least_p(most):.2g}:"
    )
    decided = "no comparison" if not can else f"at most {counted(can, 'comparison')} together"
    needed = f"; the {tests} here need {pairs_needed(tests)} repetitions" if tests > can else ""
    return f"{text} they can decide {decided}{needed}."


def _difference(results: Results, measure: Measure, shift: Estimate | None) -> Difference | None:
    """Return the amount by which the second is larger, in the unit of the page and exactly."""
    if shift is None or shift.value is None:
        return None
    scale, decimals = results.formats[measure.metric]
    ends = None
    if shift.low is not None and shift.high is not None:
        ends = scaled(shift.low, scale, decimals), scaled(shift.high, scale, decimals)
    return Difference(scale.unit, scaled(shift.value, scale, decimals), ends)


def _names(a: Configuration, b: Configuration, by: tuple[str, ...]) -> tuple[str, str, str]:
    """Return what two configurations share, and what each of them is called."""
    if not by:
        return "", a.label, b.label
    name = _differ_in(a, b)
    shared = ", ".join(f"{key} = {value}" for key, value in a.bindings if key != name)
    first, second = (f"{name} = {dict(c.bindings)[name]}" for c in (a, b))
    return shared, first, second


def _summed_up(
    metrics: list[str], pairs: tuple[PairComparison, ...], by: tuple[str, ...]
) -> Iterator[str]:
    """Yield for each metric in how many comparisons medians differ, and one side dominates."""
    for metric in dict.fromkeys(metrics):
        texts = [pair.text for m, pair in zip(metrics, pairs, strict=True) if m == metric]
        if any(pair.shift for pair in pairs):
            differ = sum(w.startswith("different") for w in texts)
            yield (
                f"{title(metric)} between values of {listed([*map(one_line, by)])}:"
                f" different in {differ} of {len(texts)} comparisons."
            )
            continue
        differ = sum("medians differ" in w for w in texts)
        holds = sum("stochastic dominance holds" in w for w in texts)
        yield (
            f"{title(metric)} between values of {listed([*map(one_line, by)])}: medians"
            f" differ in {differ} of {len(texts)} comparisons, stochastic dominance holds in"
            f" {holds}."
        )


def tested_names(figures: Iterable[FigureRequest], axes: Iterable[Axis]) -> tuple[str, ...]:
    """Return the swept names whose values the experiment's own figures test against each other."""
    names = []
    swept = {axis.name for axis in axes}
    for figure in figures:
        by = figure.options.get("by", ())
        last = by if isinstance(by, str) else by[-1] if isinstance(by, tuple) and by else ""
        if figure.options.get("test", "none") != "none" and last in swept:
            names.append(last)
    return tuple(dict.fromkeys(names))


def _differ_in(a: Configuration, b: Configuration) -> str:
    """Return the one swept name in which two configurations differ; empty for several."""
    names = [x for (x, v), (_, w) in zip(a.bindings, b.bindings, strict=True) if v != w]
    return names[0] if len(names) == 1 else ""


def _series(
    run: Run, results: Results, measures: list[Measure], ran: list[Configuration]
) -> Iterator[tuple[Series, bool]]:
    """Yield each series, and whether it is dependent; too short and constant ones are left out."""
    found: list[tuple[Measure, Configuration, int, Autocorrelation]] = []
    for measure in measures:
        for configuration in ran:
            values = results.summary(measure, configuration).values
            if not all(map(math.isfinite, values)):
                continue
            result = autocorrelation(values)
            if not isinstance(result, str):
                found.append((measure, configuration, len(values), result))
    adjusted = holm([result.p for *_, result in found])
    for (measure, configuration, n, result), p in zip(found, adjusted, strict=True):
        label = configuration.label if run.axes else ""
        r = f"{number(result.r[0], 2)} ({MINUS}{result.band:.2f} to {result.band:.2f})"
        what = _what(run, results, measure, configuration)
        yield Series(what, label, n, r, number(p, 3)), p < 0.05


def _what(run: Run, results: Results, measure: Measure, configuration: Configuration) -> str:
    (entry,) = entries(run, results, [measure], configuration)
    return entry.what
