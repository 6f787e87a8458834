"""Summaries against published tables and against scipy."""

from __future__ import annotations

import statistics as standard

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairc.runtime.statistics import mean, median, percentile, statistic
from fairc.runtime.statistics.estimates import bootstrap, quantile_ranks, skewed

# Le Boudec, Performance Evaluation of Computer and Communication Systems, appendix A, where the
# published pair is symmetric: n -> (j, k).
PUBLISHED = {6: (1, 6), 7: (1, 7), 9: (2, 8), 10: (2, 9), 30: (10, 21)}


@pytest.mark.parametrize(("n", "ranks"), PUBLISHED.items())
def test_ranks_are_the_published_ones(n: int, ranks: tuple[int, int]) -> None:
    assert quantile_ranks(n, 0.5) == ranks


@pytest.mark.parametrize("n", range(6))
def test_there_are_no_ranks_below_six(n: int) -> None:
    assert quantile_ranks(n, 0.5) is None


@pytest.mark.parametrize("n", [*range(6, 60), 100, 999, 1000, 1001, 5000])
def test_ranks_are_the_narrowest_that_cover_95_percent(n: int) -> None:
    from scipy.stats import binom

    ranks = quantile_ranks(n, 0.5)
    assert ranks is not None
    j, k = ranks
    assert j + k == n + 1
    assert binom.cdf(k - 1, n, 0.5) - binom.cdf(j - 1, n, 0.5) >= 0.95
    assert binom.cdf(j, n, 0.5) > 0.025, "one rank further in would leave too much outside"


@settings(deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=60, unique=True))
def test_the_median_interval_is_that_of_scipy(values: list[float]) -> None:
    from scipy.stats import quantile_test

    estimate = median(values)
    interval = quantile_test(values, p=0.5).confidence_interval(0.95)
    assert (estimate.low, estimate.high) == (interval.low, interval.high)
    assert estimate.value == standard.median(values)
    assert interval.low <= estimate.value <= interval.high


def test_six_values_give_minimum_and_maximum() -> None:
    estimate = median([5, 3, 9, 1, 7, 2])
    assert (estimate.n, estimate.value, estimate.low, estimate.high) == (6, 4, 1, 9)


@pytest.mark.parametrize(
    ("values", "value", "reason"),
    [
        ([], None, "no value"),
        ([3.0], 3.0, "one value"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], 3.0, "fewer than 6 values"),
        ([2.0] * 30, 2.0, "all values are equal"),
    ],
)
def test_a_median_without_an_interval_says_why(
    values: list[float], value: float | None, reason: str
) -> None:
    estimate = median(values)
    assert (estimate.value, estimate.low, estimate.high) == (value, None, None)
    assert estimate.reason == reason


def test_mean_by_hand() -> None:
    """1..5: mean 3, s = sqrt(2.5), t(4, 0.975) = 2.776445: half-width 1.963243."""
    estimate = mean([1, 2, 3, 4, 5])
    assert estimate.value == 3
    assert estimate.low == pytest.approx(3 - 1.963243, abs=1e-6)
    assert estimate.high == pytest.approx(3 + 1.963243, abs=1e-6)


@settings(deadline=None)
@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30).filter(lambda v: np.std(v) > 1e-3))
def test_the_mean_interval_is_that_of_scipy(values: list[float]) -> None:
    from scipy.stats import ttest_1samp

    estimate = mean(values)
    interval = ttest_1samp(values, 0).confidence_interval(0.95)
    assert estimate.low == pytest.approx(interval.low, rel=1e-6, abs=1e-6)
    assert estimate.high == pytest.approx(interval.high, rel=1e-6, abs=1e-6)


def test_a_mean_of_equal_values_has_no_interval() -> None:
    assert mean([4.0, 4.0]).reason == "all values are equal"
    assert mean([4.0]).low is None
    assert mean([]).value is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.floats(0, 100))
def test_percentiles_are_those_of_numpy(values: list[float], p: float) -> None:
    estimate = percentile(values, p)
    assert estimate.value == pytest.approx(np.percentile(values, p), rel=1e-9, abs=1e-6)
    assert (estimate.low is None) == (estimate.high is None) == bool(estimate.reason)


def test_statistics_by_name() -> None:
    values = [float(n) for n in range(101)]
    assert statistic("median")(values).value == 50
    assert statistic("mean")(values).value == 50
    assert statistic("min")(values).value == 0
    assert statistic("max")(values).value == 100
    assert statistic("p90")(values).value == 90
    assert statistic("p99.5")(values).value == pytest.approx(99.5)


@pytest.mark.parametrize("name", ["p", "p100", "p-1", "mode", "", "p9x", "P90"])
def test_an_unknown_statistic_is_a_key_error(name: str) -> None:
    with pytest.raises(KeyError):
        statistic(name)


def test_skewness_by_hand() -> None:
    """Seven 0 and one 8: mean 1, m2 = 56 / 8, m3 = (7 (-1)^3 + 7^3) / 8 = 42, g = 42 / 7^1.5 =
    2.27; 25 g^2 = 129.
    """
    found = skewed([0.0] * 7 + [8.0])
    assert found.startswith("skewed values (skewness 2.3, n = 8)")
    assert mean([0.0] * 7 + [8.0]).remark == found
    assert bootstrap([0.0] * 9 + [8.0]).remark.startswith("skewed values")
    assert skewed([float(n) for n in range(8)]) == ""
    assert skewed([1.0, 2.0]) == "", "two values have no skewness"
    assert skewed([1e300, 2e300, 9e300] * 2).startswith("skewed"), "no power overflows"


def test_more_values_allow_more_skewness() -> None:
    """0 0 0 1: g = 2 / sqrt(3), 25 g^2 = 33.3, whatever the number of such quartets."""
    assert skewed([0.0, 0, 0, 1] * 8)
    assert not skewed([0.0, 0, 0, 1] * 9)


def test_few_lognormal_values_are_mostly_found(seed: int = 7) -> None:
    """What docs/trust/statistics.md says of 12 of them with sigma 1.5: Student covers some 73 %, 94
    % are found.
    """
    draw = np.random.default_rng(seed)
    covered = found = 0
    for _ in range(2000):
        estimate = mean(draw.lognormal(0, 1.5, 12).tolist())
        assert estimate.low is not None and estimate.high is not None
        covered += estimate.low <= np.exp(1.5**2 / 2) <= estimate.high
        found += bool(estimate.remark)
    assert 0.70 < covered / 2000 < 0.76
    assert 0.91 < found / 2000 < 0.96
