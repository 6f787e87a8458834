"""Trends: the medians of a unit rise, or fall, along a swept name.

    common draws          Page's test, repetition by repetition
    independent samples   the Jonckheere-Terpstra test

A trend is found where the test rejects, at the level of one side of an interval, that the name
changes nothing. It holds where, besides, the interval of no step (two neighbouring values) goes the
other way; it fails where one does, or where the opposite trend is found. Each step needs an
interval that could contradict, so few repetitions leave a trend undecided. The test of independent
samples also finds that their shapes change, so there the last median has to be above the first one,
too, by the interval of their difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from fairc.compiler.plan import ClaimUnit, Contrast, Statistic
from fairc.runtime.formatting import quantity
from fairc.runtime.metrics.registry import value_named
from fairc.runtime.statistics import agreement
from fairc.runtime.statistics.estimates import Estimate
from fairc.runtime.statistics.repeated import Repeated
from fairc.runtime.statistics.trend import Trend, jonckheere_terpstra, page

from .intervals import CONSTANT, ByRepetition, Method, of_unit

OF_TRENDS = "no test of a trend is valid if the values decide their number"
UNVARIED = "the repetitions do not vary"


@dataclass(frozen=True, slots=True)
class TrendTest:
    """The trend of a unit.

    estimate: of tau, -1 to 1, without an interval; its reason: why nothing is decided. p: the
    chance of such a trend in the claimed direction where the name changes nothing.
    """

    estimate: Estimate
    verdict: Literal["holds", "fails", "undecided"] = "undecided"
    p: float | None = None
    method: Method = "none"
    remark: str = ""


def undecided(reason: str) -> TrendTest:
    """Return a trend without a value."""
    return TrendTest(Estimate(0, None, reason=reason))


def of_trend(
    unit: ClaimUnit,
    values: Sequence[ByRepetition],
    level: float,
    *,
    common: bool,
    repeated: Repeated,
) -> TrendTest:
    """Return the trend of a unit along its terms; one with an upper bound is claimed to fall.

    values: of each of its terms. level: of the interval of each step.
    common: whether the configurations of a repetition draw alike.
    """
    sign = 1.0 if unit.high is None else -1.0
    rising = [{r: sign * x for r, x in of_level.items()} for of_level in values]
    method: Method
    if common:
        shared = sorted(set.intersection(*(set(of_level) for of_level in rising)))
        if not shared:
            return undecided("no repetition counts in every configuration")
        blocks = [[of_level[r] for of_level in rising] for r in shared]
        test, against = page(blocks), page([[-x for x in block] for block in blocks])
        n, method = len(shared), "page"
    else:
        samples = [list(of_level.values()) for of_level in rising]
        test = jonckheere_terpstra(samples)
        against = jonckheere_terpstra([[-x for x in sample] for sample in samples])
        n, method = min(map(len, samples)), "jonckheere-terpstra"
    found = TrendTest(Estimate(n, sign * test.tau), p=test.p, method=method)
    if repeated.is_range:
        return _open(replace(found, p=None), OF_TRENDS)
    if all(len(set(of_level.values())) == 1 for of_level in rising):
        return _open(replace(found, p=None), UNVARIED)
    steps = tuple(_steps(unit.terms, rising, level, common, repeated))
    decided = _decided(found, against, steps, unit, level)
    if common or decided.verdict != "holds":
        return decided
    ends = (unit.terms[0], unit.terms[-1])
    (whole,) = _steps(ends, [rising[0], rising[-1]], level, common, repeated)
    least = whole.value if whole.reason == agreement.CONSTANT else whole.ends[0]
    if least is None or least <= 0:
        return _open(found, "the interval of the last median less the first one does not exclude 0")
    return decided


def _decided(
    found: TrendTest, against: Trend, steps: Sequence[Estimate], unit: ClaimUnit, level: float
) -> TrendTest:
    """Return the trend with its verdict; against: the test of the opposite one."""
    tail = (1 - level) / 2
    contrary = [i for i, step in enumerate(steps) if step.high is not None and step.high < 0]
    if contrary:
        remark = "; ".join(_text(unit, i, steps[i]) for i in contrary)
        return replace(found, verdict="fails", remark=remark)
    if against.p < tail:
        return replace(found, verdict="fails", remark="the trend is the opposite")
    assert found.p is not None
    if found.p >= tail:
        return _open(found, f"p is not below {tail:.2g}")
    for step in steps:
        constant = step.low is None and step.reason in (CONSTANT, agreement.CONSTANT)
        if step.low is None and not (constant and step.value is not None and step.value >= 0):
            return _open(found, f"a step has no interval: {UNVARIED if constant else step.reason}")
    return replace(found, verdict="holds")


def _open(found: TrendTest, reason: str) -> TrendTest:
    return replace(found, estimate=replace(found.estimate, reason=reason))


def _steps(
    terms: Sequence[Statistic],
    values: Sequence[ByRepetition],
    level: float,
    common: bool,
    repeated: Repeated,
) -> Iterator[Estimate]:
    """Yield by how much each value exceeds the one before it, with its interval."""
    for (before, a), (after, b) in pairwise(zip(terms, values, strict=True)):
        step = Contrast("sum", (after, before), (1.0, -1.0))
        yield of_unit(step, (b, a), level, common=common, repeated=repeated).estimate


def _text(unit: ClaimUnit, index: int, step: Estimate) -> str:
    """Say which step goes the other way, and by how much."""
    before, after = unit.terms[index], unit.terms[index + 1]
    of, sign = value_named(before.metric).unit, 1 if unit.high is None else -1
    assert step.low is not None and step.high is not None
    low, high = (quantity(sign * end, of, 3) for end in (step.low, step.high)[::sign])
    names = [f"{a} to {b}" for a, b in zip(before.cells, after.cells, strict=True) if a != b]
    return f"from {' and '.join(names)} it changes by {low} .. {high}"
