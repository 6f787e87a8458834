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
    Cell,
    Number,
    count,
    counted,
    interval,
    listed,
    number,
    one_line,
    scaled,
)
from fairc.runtime.metrics.registry import title
from fairc.runtime.repetitions import samples
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.statistics.estimates import Estimate
from fairc.runtime.statistics.paired import comparisons_decided, least_p, pairs_needed
from fairc.runtime.statistics.series import Autocorrelation, autocorrelation
from fairc.runtime.statistics.verdicts import compare, holm

from .answer import Entry, entries
from .run import Configuration, Run
from .sheet import Sheet, section_table
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
class Comparisons:
    """too_many: the number of configurations, where there are too many to compare every two.

    by: the swept names whose values are compared then, all others being equal, because figures of
    the experiment test them; empty where every two are compared, or none.
    sentences: the results of the comparisons by these names, metric by metric.
    pairs: each measure in two configurations. series: the autocorrelation of each measure over the
    repetitions of one configuration.
    dependent: the series whose repetitions depend on each other at 5 % (after Holm), as text;
    independence_tested: whether any series was long enough for this test.
    pairing: that values were compared repetition by repetition, and how many comparisons these can
    decide; empty where the configurations are independent samples.
    """

    pairs: Sheet
    series: Sheet
    dependent: tuple[str, ...]
    independence_tested: bool
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
    measures = [m for m in results.measures if m in results.requested]
    ran = [c for c in run.configurations if c.counted]
    few = len(ran) <= MAX_CONFIGURATIONS
    by = () if few else tested_names(run.plan.figures, run.plan.axes)
    found = []
    for measure in measures if few or by else ():
        with_values = [c for c in ran if results.group(measure, c).values]
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
        else (results.group(m, a).used, results.group(m, b).used)
        for m, a, b in found
    )
    rows: list[tuple[Cell, ...]] = []
    for (m, a, b), comparison in zip(found, tested, strict=True):
        shift = _difference(results, m, comparison.shift)
        entry = _entry(run, results, m, a)
        what = entry.what if shift[0] == "" else entry.named
        rows.append((what, *_names(a, b, by), *shift, comparison.text))
    series = list(_series(run, results, measures, ran))
    return Comparisons(
        _pairs(rows, by),
        _autocorrelation([row for row, _ in series] if few else []),
        tuple(_dependence(row) for row, dependent in series if dependent),
        bool(series),
        0 if few else len(ran),
        by,
        tuple(_summed_up([m.metric for m, _, _ in found], tested, by)) if by else (),
        _pairing(tested) if common and tested else "",
    )


def _pairs(rows: Iterable[tuple[Cell, ...]], by: tuple[str, ...]) -> Sheet:
    """Return the comparisons: where both are, what differs, by how much, and what tests say.

    where: the swept values that both have, where `first` and `second` are only those that differ.
    second - first: of configurations that draw alike.
    """
    head = (
        ("metric", False),
        ("where", False),
        ("first", False),
        ("second", False),
        ("second - first", True),
        ("95 % interval", True),
        ("tests", False),
    )
    caption = "Configurations" if by else "All pairs of configurations"
    return section_table("comparisons", "Comparisons", head, rows, caption)


def _autocorrelation(rows: Iterable[tuple[Cell, ...]]) -> Sheet:
    """Return the autocorrelation at lag 1, with the band that holds 95 % of independent series, and
    p of the Ljung-Box test, among all series of the page.
    """
    head = (
        ("configuration", False),
        ("metric", False),
        ("n", True),
        ("autocorrelation at lag 1 (95 % band)", True),
        ("p after Holm", True),
    )
    title = "Autocorrelation of repetitions"
    return section_table(
        "autocorrelation", title, head, rows, "Autocorrelation in the order of repetitions"
    )


def _dependence(row: tuple[str, str, Number, str, str]) -> str:
    configuration, what, _, r, p = row
    where = f", {configuration}" if configuration else ""
    return f"{what}{where}: autocorrelation {r}, p = {p}"


def matched(results: Results, measure: Measure, a: Configuration, b: Configuration) -> Matched:
    """Return the values of the repetitions that count in both configurations, in order."""
    return samples.matched(*(results.group(measure, c).by_repetition for c in (a, b)))


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


def _difference(results: Results, measure: Measure, shift: Estimate | None) -> tuple[Cell, Cell]:
    """Return the amount by which the second is larger, and its interval; empty without one."""
    if shift is None or shift.value is None:
        return "", ""
    scale, decimals = results.formats[measure.metric]
    ends = interval(shift.low, shift.high, scale, decimals)
    return scaled(shift.value, scale, decimals), ends


def _names(a: Configuration, b: Configuration, by: tuple[str, ...]) -> tuple[str, str, str]:
    """Return what two configurations share, and what each of them is called."""
    if not by:
        return "", a.label, b.label
    name = _differ_in(a, b)
    shared = ", ".join(f"{key} = {value}" for key, value in a.bindings if key != name)
    first, second = (f"{name} = {dict(c.bindings)[name]}" for c in (a, b))
    return shared, first, second


def _summed_up(
    metrics: list[str], tested: Sequence[Comparison], by: tuple[str, ...]
) -> Iterator[str]:
    """Yield for each metric in how many comparisons medians differ, and one side dominates."""
    for metric in dict.fromkeys(metrics):
        own = [of for m, of in zip(metrics, tested, strict=True) if m == metric]
        if any(of.shift and of.shift.value is not None for of in tested):
            differ = sum(of.kind == "different" for of in own)
            yield (
                f"{title(metric)} between values of {listed([*map(one_line, by)])}:"
                f" different in {differ} of {len(own)} comparisons."
            )
            continue
        differ = sum("medians differ" in of.text for of in own)
        holds = sum("stochastic dominance holds" in of.text for of in own)
        yield (
            f"{title(metric)} between values of {listed([*map(one_line, by)])}: medians"
            f" differ in {differ} of {len(own)} comparisons, stochastic dominance holds in"
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
) -> Iterator[tuple[tuple[str, str, Number, str, str], bool]]:
    """Yield each series, and whether it is dependent; too short and constant ones are left out."""
    found: list[tuple[Measure, Configuration, int, Autocorrelation]] = []
    for measure in measures:
        for configuration in ran:
            values = results.group(measure, configuration).used
            if not all(map(math.isfinite, values)):
                continue
            result = autocorrelation(values)
            if not isinstance(result, str):
                found.append((measure, configuration, len(values), result))
    adjusted = holm([result.p for *_, result in found])
    for (measure, configuration, n, result), p in zip(found, adjusted, strict=True):
        label = configuration.label if run.axes else ""
        r = f"{number(result.r[0], 2)} ({MINUS}{result.band:.2f} to {result.band:.2f})"
        what = _entry(run, results, measure, configuration).what
        yield (label, what, count(n), r, number(p, 3)), p < 0.05


def _entry(run: Run, results: Results, measure: Measure, configuration: Configuration) -> Entry:
    (entry,) = entries(run, results, [measure], configuration)
    return entry
