"""Intervals of claims against other programs, published numbers, and their own coverage."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from fairc.compiler.plan import ClaimTerm, ClaimUnit
from fairc.runtime.claims import intervals
from fairc.runtime.statistics.agreement import shift
from fairc.runtime.statistics.estimates import Estimate, median, percentile
from fairc.runtime.statistics.repeated import Repeated
from fairc.runtime.statistics.sequential import at_any_time, kept_counts
from fairc.runtime.statistics.two_samples import welch

LEVEL = 0.99


def term(cells: str, factor: float = 1.0, statistic: str = "median", **more: object) -> ClaimTerm:
    return ClaimTerm.model_validate(
        {"statistic": statistic, "metric": "goodput", "factor": factor, "cells": (cells,), **more}
    )


def unit(*terms: ClaimTerm, shift: float = 0.0) -> ClaimUnit:
    return ClaimUnit(terms=terms, shift=shift, low=0.0, high=None)


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
    found = intervals.of_unit(unit(term("a", -2.0), shift=3.0), "sum", [values], LEVEL, common=True)
    known = median([3 - 2 * x for x in values.values()], LEVEL)
    assert found.estimate == known and known.low is not None


def test_a_percentile_of_a_negated_metric_is_the_opposite_one() -> None:
    values = sample(2, 80)
    p90 = unit(term("a", -1.0, "percentile", share=0.9))
    found = intervals.of_unit(p90, "sum", [values], 0.95, common=True).estimate
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
    found = intervals.of_unit(both, "sum", [a, b], LEVEL, common=True)
    assert found.estimate == median([a[r] - b[r] for r in b], LEVEL)
    assert found.estimate.n == 11 and found.method == "order statistics"
    apart = intervals.of_unit(both, "sum", [a, b], LEVEL, common=False)
    known = shift(list(b.values()), list(a.values()), LEVEL)
    assert (apart.estimate.low, apart.estimate.high) == (known.low, known.high)
    assert apart.method == "hodges-lehmann"
    assert width(apart.estimate) > 10 * width(found.estimate)


def test_flows_of_one_cell_are_always_paired() -> None:
    both = unit(term("a", flow="x"), term("a", -1.0, flow="y"))
    found = intervals.of_unit(both, "sum", [sample(1), sample(2)], LEVEL, common=False)
    assert found.method == "order statistics"


@pytest.mark.parametrize("common", [True, False])
def test_a_ratio_is_taken_on_logarithms(common: bool) -> None:
    """So that the interval of b / a is that of a / b turned over."""
    a, b = sample(4), sample(5)
    one = intervals.of_unit(
        unit(term("a"), term("b")), "ratio", [a, b], LEVEL, common=common
    ).estimate
    other = intervals.of_unit(
        unit(term("b"), term("a")), "ratio", [b, a], LEVEL, common=common
    ).estimate
    assert one.low is not None and one.high is not None and one.value is not None
    assert (other.value, other.low, other.high) == pytest.approx(
        (1 / one.value, 1 / one.high, 1 / one.low)
    )


def test_a_ratio_of_what_is_not_positive_has_no_interval() -> None:
    a = sample(6)
    b = {**sample(7), 3: 0.0}
    found = intervals.of_unit(unit(term("a"), term("b")), "ratio", [a, b], LEVEL, common=True)
    assert found.estimate.low is None and "positive" in found.estimate.reason


def test_independent_means_have_welchs_interval() -> None:
    a, b = sample(8), sample(9, 15)
    both = unit(term("a", 1.0, "mean"), term("b", -1.0, "mean"))
    found = intervals.of_unit(both, "sum", [a, b], LEVEL, common=False).estimate
    known = welch(list(a.values()), list(b.values()), LEVEL)
    assert not isinstance(known, str)
    assert (found.low, found.high) == pytest.approx((known.low, known.high))


def test_the_mean_over_independent_configurations_is_satterthwaites() -> None:
    """By hand: the mean of two means, t with the degrees of freedom of both variances."""
    a, b = sample(10), sample(11, 8, mean=20.0)
    units = [unit(term(name, 1.0, "mean")) for name in "ab"]
    found = intervals.of_mean(units, "sum", [[a], [b]], LEVEL, common=False).estimate
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
    alike = intervals.of_mean(units, "sum", [[a], [b]], 0.95, common=True).estimate
    apart = intervals.of_mean(units, "sum", [[a], [b]], 0.95, common=False).estimate
    assert alike.value == pytest.approx(apart.value)
    assert width(alike) < width(apart) / 50


def test_values_that_do_not_vary_have_no_interval_but_a_count_has() -> None:
    values = dict.fromkeys(range(1, 11), 0.0)
    found = intervals.of_unit(unit(term("a")), "sum", [values], 0.95, common=True).estimate
    assert found.low is None and "`count`" in found.reason
    count = unit(term("a", 1.0, "count", relation="<", bound=1.0))
    share = intervals.of_unit(count, "sum", [values], 0.95, common=True).estimate
    assert share.value == 1.0 and share.low == pytest.approx(0.025 ** (1 / 10))


def test_intervals_miss_no_more_often_than_they_say() -> None:
    """2000 samples of 10 exponential values: the median, and the log-ratio of two samples, at
    95 %.
    """
    draw = random.Random(13)
    missed = [0, 0]
    for _ in range(2000):
        a, b = ({r: draw.expovariate(1.0) for r in range(10)} for _ in range(2))
        one = intervals.of_unit(unit(term("a")), "sum", [a], 0.95, common=True).estimate
        two = intervals.of_unit(
            unit(term("a"), term("b")), "ratio", [a, b], 0.95, common=False
        ).estimate
        missed[0] += not holds(one, math.log(2))
        missed[1] += not holds(two, 1)
    assert max(missed) / 2000 < 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2000)
    assert min(missed) > 0


RANGE = Repeated(8, 30)


def test_a_range_of_repetitions_has_intervals_that_hold_at_every_look() -> None:
    values = sample(14, 20)
    alone = intervals.of_unit(unit(term("a")), "sum", [values], 0.99, common=True, repeated=RANGE)
    assert alone.estimate == at_any_time(list(values.values()), 0.5, 0.99)
    assert alone.method == "confidence sequence"
    both = unit(term("a"), term("b", -1.0))
    other = sample(15, 20)
    pairs = [values[r] - other[r] for r in values]
    apart = intervals.of_unit(both, "sum", [values, other], 0.99, common=False, repeated=RANGE)
    assert apart.estimate == at_any_time(pairs, 0.5, 0.99)
    means = unit(term("a", 1.0, "mean"))
    none = intervals.of_unit(means, "sum", [values], 0.95, common=True, repeated=RANGE).estimate
    assert none.low is None and "no interval of a mean" in none.reason


def test_the_sequence_of_a_share_is_the_same_as_that_of_a_quantile() -> None:
    """A quantile q with k of n values up to it is kept exactly when the share k / n keeps q."""
    for n in (8, 20, 40):
        for q in (0.1, 0.5, 0.8):
            least, most = kept_counts(n, q, 0.95)
            for k in range(n + 1):
                low, high = intervals.share_at_any_time(k, n, 0.95)
                assert (low <= q <= high) == (least <= k <= most)
