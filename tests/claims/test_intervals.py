"""Intervals of claims against other programs, published numbers, and their own coverage."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fairc.compiler.plan import Contrast, Statistic
from fairc.dsl.model.claims import Combination
from fairc.runtime.claims import intervals
from fairc.runtime.statistics.estimates import Estimate, mean, median, percentile
from fairc.runtime.statistics.medians import median_difference
from fairc.runtime.statistics.repeated import Repeated
from fairc.runtime.statistics.sequential import at_any_time, kept_counts
from fairc.runtime.statistics.two_samples import welch

LEVEL = 0.99
LN2 = math.log(2)


Term = tuple[Statistic, float]
"""A statistic and its factor."""


def term(cells: str, factor: float = 1.0, statistic: str = "median", **more: object) -> Term:
    given = {"statistic": statistic, "metric": "goodput", "cells": (cells,), **more}
    return Statistic.model_validate(given), factor


def unit(*terms: Term, shift: float = 0.0, form: Combination = "sum") -> Contrast:
    statistics, factors = zip(*terms, strict=True)
    return Contrast(form, statistics, factors, shift)


def width(estimate: Estimate) -> float:
    assert estimate.low is not None and estimate.high is not None
    return estimate.high - estimate.low


def holds(estimate: Estimate, value: float) -> bool:
    assert estimate.low is not None and estimate.high is not None
    return estimate.low <= value <= estimate.high


def sample(seed: int, n: int = 12, mean: float = 10.0) -> dict[int, float]:
    draw = random.Random(seed)
    return {r: mean * math.exp(draw.gauss(0, 0.2)) for r in range(1, n + 1)}


def test_clopper_pearson_is_that_of_scipy() -> None:
    for hits, n in ((0, 6), (1, 9), (5, 10), (19, 20), (30, 30)):
        known = stats.binomtest(hits, n).proportion_ci(LEVEL, "exact")
        assert intervals.clopper_pearson(hits, n, LEVEL) == pytest.approx((known.low, known.high))


def test_one_sample_has_order_statistics_of_the_transformed_values() -> None:
    values = sample(1)
    found = intervals.of_unit(unit(term("a", -2.0), shift=3.0), [values], LEVEL, common=True)
    known = median([3 - 2 * x for x in values.values()], LEVEL)
    assert found.estimate == known and known.low is not None


def test_a_percentile_of_a_negated_metric_is_the_opposite_one() -> None:
    values = sample(2, 80)
    p90 = unit(term("a", -1.0, "percentile", share=0.9))
    found = intervals.of_unit(p90, [values], 0.95, common=True).estimate
    known = percentile(list(values.values()), 90)
    assert known.low is not None and known.high is not None and known.value is not None
    assert (found.value, found.low, found.high) == pytest.approx(
        (-known.value, -known.high, -known.low)
    )


def test_common_draws_are_compared_repetition_by_repetition() -> None:
    """The same noise on both sides: the differences do not vary much, the samples do."""
    a = sample(3)
    b = {r: x + 1 + r / 100 for r, x in a.items() if r != 5}
    both = unit(term("a"), term("b", -1.0))
    found = intervals.of_unit(both, [a, b], LEVEL, common=True)
    assert found.estimate == median([a[r] - b[r] for r in b], LEVEL)
    assert found.estimate.n == 11 and found.method == "order statistics"
    apart = intervals.of_unit(both, [a, b], LEVEL, common=False)
    known = median_difference(list(a.values()), list(b.values()), LEVEL)
    assert (apart.estimate.low, apart.estimate.high) == (known.low, known.high)
    assert apart.method == "sign tests"
    assert width(apart.estimate) > 10 * width(found.estimate)


def test_flows_of_one_cell_are_always_paired() -> None:
    both = unit(term("a", flow="x"), term("a", -1.0, flow="y"))
    found = intervals.of_unit(both, [sample(1), sample(2)], LEVEL, common=False)
    assert found.method == "order statistics"


@pytest.mark.parametrize("common", [True, False])
def test_a_ratio_is_taken_on_logarithms(common: bool) -> None:
    """So that the interval of b / a is that of a / b turned over."""
    a, b = sample(4), sample(5)
    one = intervals.of_unit(
        unit(term("a"), term("b"), form="ratio"), [a, b], LEVEL, common=common
    ).estimate
    other = intervals.of_unit(
        unit(term("b"), term("a"), form="ratio"), [b, a], LEVEL, common=common
    ).estimate
    assert one.low is not None and one.high is not None and one.value is not None
    assert (other.value, other.low, other.high) == pytest.approx(
        (1 / one.value, 1 / one.high, 1 / one.low)
    )


def test_the_ratio_of_two_medians_is_that_of_the_medians_that_are_shown() -> None:
    """Of 1, 1, ... 9, 9 the median is 5; on logarithms it would be 3."""
    a = {r: 1.0 if r < 5 else 9.0 for r in range(10)}
    b = {r: 2.0 + r / 1000 for r in range(10)}
    found = intervals.of_unit(
        unit(term("a"), term("b"), form="ratio"), [a, b], LEVEL, common=False
    ).estimate
    assert found.value == pytest.approx(5 / 2.0045)
    assert (found.low, found.high) == pytest.approx((1 / 2.009, 9 / 2.0), rel=0.01)


def test_a_ratio_of_what_is_not_positive_has_no_interval() -> None:
    a = sample(6)
    b = {**sample(7), 3: 0.0}
    found = intervals.of_unit(unit(term("a"), term("b"), form="ratio"), [a, b], LEVEL, common=True)
    assert found.estimate.low is None and "positive" in found.estimate.reason


def test_independent_means_have_welchs_interval() -> None:
    a, b = sample(8), sample(9, 15)
    both = unit(term("a", 1.0, "mean"), term("b", -1.0, "mean"))
    found = intervals.of_unit(both, [a, b], 0.95, common=False).estimate
    known = welch(list(a.values()), list(b.values()))
    assert not isinstance(known, str)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))


def test_the_mean_over_independent_configurations_is_satterthwaites() -> None:
    """By hand: the mean of two means, t with the degrees of freedom of both variances."""
    a, b = sample(10), sample(11, 8, mean=20.0)
    units = [unit(term(name, 1.0, "mean")) for name in "ab"]
    found = intervals.of_mean(units, [[a], [b]], LEVEL, common=False).estimate
    x, y = list(a.values()), list(b.values())
    v = [stats.tvar(s) / len(s) / 4 for s in (x, y)]
    df = sum(v) ** 2 / (v[0] ** 2 / 11 + v[1] ** 2 / 7)
    half = stats.t.ppf((1 + LEVEL) / 2, df) * math.sqrt(sum(v))
    middle = (sum(x) / 12 + sum(y) / 8) / 2
    assert (found.value, found.low, found.high) == pytest.approx(
        (middle, middle - half, middle + half)
    )


def test_the_mean_over_configurations_that_draw_alike_is_of_each_repetition() -> None:
    """Here each configuration varies, and their mean in a repetition hardly does."""
    a = sample(12)
    b = {r: 20 - x + r / 1000 for r, x in a.items()}
    units = [unit(term(name, 1.0, "mean")) for name in "ab"]
    alike = intervals.of_mean(units, [[a], [b]], 0.95, common=True).estimate
    apart = intervals.of_mean(units, [[a], [b]], 0.95, common=False).estimate
    assert alike.value == pytest.approx(apart.value)
    assert width(alike) < width(apart) / 50


def test_values_that_do_not_vary_have_no_interval_but_a_count_has() -> None:
    values = dict.fromkeys(range(1, 11), 0.0)
    found = intervals.of_unit(unit(term("a")), [values], 0.95, common=True).estimate
    assert found.low is None and "`count`" in found.reason
    count = unit(term("a", 1.0, "count", relation="<", bound=1.0))
    share = intervals.of_unit(count, [values], 0.95, common=True).estimate
    assert share.value == 1.0 and share.low == pytest.approx(0.025 ** (1 / 10))


def test_intervals_miss_no_more_often_than_they_say() -> None:
    """2000 samples of 10 exponential values: the median, and the log-ratio of two samples, at
    95 %.
    """
    draw = random.Random(13)
    missed = [0, 0]
    for _ in range(2000):
        a, b = ({r: draw.expovariate(1.0) for r in range(10)} for _ in range(2))
        one = intervals.of_unit(unit(term("a")), [a], 0.95, common=True).estimate
        two = intervals.of_unit(
            unit(term("a"), term("b"), form="ratio"), [a, b], 0.95, common=False
        ).estimate
        missed[0] += not holds(one, math.log(2))
        missed[1] += not holds(two, 1)
    assert max(missed) / 2000 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
    assert min(missed) > 0


RANGE = Repeated(8, 30)


def test_a_range_of_repetitions_has_intervals_that_hold_at_every_look() -> None:
    values = sample(14, 20)
    alone = intervals.of_unit(unit(term("a")), [values], 0.99, common=True, repeated=RANGE)
    assert alone.estimate == at_any_time(list(values.values()), 0.5, 0.99)
    assert alone.method == "confidence sequence"
    both = unit(term("a"), term("b", -1.0))
    other = sample(15, 20)
    pairs = [values[r] - other[r] for r in values]
    apart = intervals.of_unit(both, [values, other], 0.99, common=False, repeated=RANGE)
    assert apart.estimate == at_any_time(pairs, 0.5, 0.99)
    means = unit(term("a", 1.0, "mean"))
    none = intervals.of_unit(means, [values], 0.95, common=True, repeated=RANGE).estimate
    assert none.low is None and "no interval of a mean" in none.reason


def test_the_sequence_of_a_share_is_the_same_as_that_of_a_quantile() -> None:
    """A quantile q with k of n values up to it is kept exactly when the share k / n keeps q."""
    for n in (8, 20, 40):
        for q in (0.1, 0.5, 0.8):
            least, most = kept_counts(n, q, 0.95)
            for k in range(n + 1):
                low, high = intervals.share_at_any_time(k, n, 0.95)
                assert (low <= q <= high) == (least <= k <= most)


def of_pair(
    a: list[float], b: list[float], statistic: str = "median", *, common: bool = False
) -> Estimate:
    """Return the interval of a - b."""
    both = unit(term("a", 1.0, statistic), term("b", -1.0, statistic))
    values = [dict(enumerate(a)), dict(enumerate(b))]
    return intervals.of_unit(both, values, 0.95, common=common).estimate


def test_the_difference_of_medians_that_are_equal_is_found_in_2_5_percent_at_most() -> None:
    """Whatever the shapes. Hodges and Lehmann's shift finds one of mirrored exponentials in 11 to
    26 % (n = 12 to 30); mirrored densities with a step at the median are the worst case.
    """
    draw = np.random.default_rng(54)

    def step(n: int) -> NDArray[np.float64]:
        return np.asarray(np.where(draw.random(n) < 0.5, -0.01, 10.0) * draw.random(n))

    shapes: dict[str, Callable[[int], tuple[NDArray[Any], NDArray[Any]]]] = {
        "mirrored": lambda n: (draw.exponential(1, n) - LN2, LN2 - draw.exponential(1, n)),
        "wide": lambda n: (draw.normal(0, 1, n), draw.normal(0, 30, n)),
        "skewed and wide": lambda n: (draw.exponential(1, n) - LN2, draw.normal(0, 30, n)),
        "tied": lambda n: (draw.integers(0, 3, n), draw.integers(0, 2, n) + draw.integers(0, 2, n)),
        "steps": lambda n: (step(n), -step(n)),
    }
    tries = 100
    for name, drawn in shapes.items():
        found = 0
        for n in (6, 8, 12, 20, 30, 50):
            for _ in range(tries):
                a, b = drawn(n)
                low = of_pair(a.tolist(), b.tolist()).low
                found += low is not None and low > 0
        limit = stats.binom.ppf(0.9999, 6 * tries, 0.025)
        assert found <= limit, (name, found)


def test_means_of_unequal_variances_are_welchs() -> None:
    """A pooled variance would find a difference in about 12 % where the smaller sample varies
    more.
    """
    draw = np.random.default_rng(55)
    found = 0
    for _ in range(400):
        a, b = draw.normal(0, 5, 8).tolist(), draw.normal(0, 1, 24).tolist()
        low = of_pair(a, b, "mean").low
        found += low is not None and low > 0
    assert 1 <= found <= stats.binom.ppf(0.9999, 400, 0.025)


def test_the_ends_of_a_difference_of_medians_by_hand() -> None:
    """7 and 7 values: only if all of one side, or 6 of both, are beyond is a difference rejected,
    so the lower end is the smallest of the first sample less the largest of the second.
    """
    a, b = [10.0, 11, 12, 13, 14, 15, 16], [0.0, 1, 2, 3, 4, 5, 6]
    found = of_pair(a, b)
    # S: (7, any), (any, 7), (6, 6): staircase 6 above up to 5 below, 5 above with 6 below
    assert (found.value, found.low, found.high) == (10.0, min(10 - 5.0, 11 - 6.0), 15.0)
    few = of_pair(a[:5], b)
    assert few.low is None and few.reason == "5 and 7 values give no interval; 7 and 7 do"


def test_the_median_of_differences_is_not_the_difference_of_medians() -> None:
    """In most repetitions a is larger by 1, in four smaller: the medians are in the other order,
    which a remark says.
    """
    a = [float(x) for x in range(21)]
    b = [x - 1 if x > 3 else 100.0 for x in a]
    found = of_pair(a, b, common=True)
    assert found.value == 1.0 and "outside of the interval" in found.remark
    assert not of_pair(a, [x - 1 - i / 100 for i, x in enumerate(a)], common=True).remark


def bounded(
    values: list[float],
    bounds: dict[int, tuple[float, float]],
    statistic: str = "mean",
    **more: object,
) -> Estimate:
    of = unit(term("a", 1.0, statistic, **more))
    seen = dict(enumerate(values))
    return intervals.of_unit(of, [seen], 0.95, common=True, bounds=[bounds]).estimate


def test_a_mean_of_survivors_has_no_upper_end() -> None:
    """Two of eight cells left some transfers out: their means are at least so large."""
    values = [1.0, 2, 3, 1, 2, 3, 2, 2]
    found = bounded(values, {0: (0.5, math.inf), 3: (0.8, math.inf)})
    smallest = [0.5, 2, 3, 0.8, 2, 3, 2, 2]
    assert (found.low, found.high, found.ceiling) == (None, None, None)
    assert found.floor == mean(smallest).low and found.value == 2.0
    assert found.reason == "what had not ended leaves its upper end open"


def test_so_many_unknown_values_a_median_bears() -> None:
    """The interval of 12 values is from the 3rd to the 10th: two unknown ones leave both ends, and
    three the lower one.
    """
    values = [float(x) for x in range(1, 13)]
    for unknown, ends in ((2, (1.0, 11.0)), (3, (None, None)), (0, (3.0, 10.0))):
        found = bounded(values, dict.fromkeys(range(unknown), (0.0, math.inf)), "median")
        if unknown:
            low, high = [*values[unknown:]], sorted(values[unknown:])
            assert found.ends[0] == sorted([0.0] * unknown + low)[2]
            expected = high[9] if unknown == 2 else None
            assert found.ends[1] == expected
        else:
            assert (found.low, found.high) == ends
    count = bounded(values, {0: (0.0, math.inf)}, "count", relation="<", bound=6.5)
    assert (count.low, count.high) == (
        intervals.clopper_pearson(5, 12, 0.95)[0],
        intervals.clopper_pearson(6, 12, 0.95)[1],
    )


def test_differences_and_ratios_take_what_is_unknown_at_its_worst() -> None:
    a, b = [5.0 + x / 10 for x in range(8)], [2.0 + x / 9 for x in range(8)]
    unknown = {7: (1.0, math.inf)}

    def ends(form: Combination, bounds: list[dict[int, tuple[float, float]]]) -> Estimate:
        factor = -1.0 if form == "sum" else 1.0
        both = unit(term("a", 1.0, "median"), term("b", factor, "median"), form=form)
        values = [dict(enumerate(a)), dict(enumerate(b))]
        return intervals.of_unit(both, values, 0.95, common=True, bounds=bounds).estimate

    forms: tuple[Combination, ...] = ("sum", "ratio")
    for form in forms:
        first, second = ends(form, [unknown, {}]), ends(form, [{}, unknown])
        assert first.ends[0] is not None and first.ends[1] is None
        assert second.ends[0] is None and second.ends[1] is not None
    means = unit(term("a", 1.0, "mean"), term("b", -1.0, "mean"))
    values = [dict(enumerate(a)), dict(enumerate(b))]
    for common in (True, False):
        found = intervals.of_unit(means, values, 0.95, common=common, bounds=[unknown, {}]).estimate
        assert found.floor is not None and found.ceiling is None
