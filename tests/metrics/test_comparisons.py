"""Tests and effect sizes against published examples, scipy, statsmodels and arch."""

from __future__ import annotations

import math
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairc.runtime.statistics.bootstrap import MIN_VALUES, bca_mean
from fairc.runtime.statistics.dominance import dominance
from fairc.runtime.statistics.estimates import (
    bootstrap,
    mean,
    median,
    percentile,
    quantile_ranks,
    values_needed,
)
from fairc.runtime.statistics.series import autocorrelation, kpss
from fairc.runtime.statistics.two_samples import (
    EXACT_VALUES,
    Welch,
    cliffs_delta,
    hedges_g,
    magnitude,
    mann_whitney,
    midranks,
    welch,
)
from fairc.runtime.statistics.verdicts import compare, holm

# Student, The probable error of a mean, 1908: hours of sleep gained with two drugs.
SLEEP_1 = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
SLEEP_2 = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
# Hollander and Wolfe, Nonparametric Statistical Methods, 1973, example 4.1: permeability.
AT_TERM = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46]
EARLIER = [1.15, 0.88, 0.90, 0.74, 1.21]

FEW = st.lists(st.integers(-5, 5).map(float), min_size=1, max_size=7)
REALS = st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=25)


def drawn(seed: int, n: int, mean: float = 0.0, deviation: float = 1.0) -> list[float]:
    values: list[float] = np.random.default_rng(seed).normal(mean, deviation, n).tolist()
    return values


def test_welch_on_students_sleep_data() -> None:
    """As in the manual of R, `t.test(extra ~ group, data = sleep)`."""
    found = welch(SLEEP_1, SLEEP_2)
    assert isinstance(found, Welch)
    assert found.t == pytest.approx(-1.8608, abs=5e-5)
    assert found.df == pytest.approx(17.776, abs=5e-4)
    assert found.p == pytest.approx(0.07939, abs=5e-6)
    assert (found.low, found.high) == pytest.approx((-3.3654832, 0.2054832), abs=1e-7)


@settings(deadline=None)
@given(REALS, REALS)
def test_welch_is_that_of_scipy(a: list[float], b: list[float]) -> None:
    from scipy.stats import ttest_ind

    if min(np.std(a), np.std(b)) < 1e-3:
        return
    found = welch(a, b)
    other: Any = ttest_ind(a, b, equal_var=False)
    assert isinstance(found, Welch)
    assert (found.t, found.p) == pytest.approx((other.statistic, other.pvalue), rel=1e-6, abs=1e-9)


def test_welch_says_why_it_cannot() -> None:
    assert welch([1.0], [1.0, 2.0]) == "fewer than 2 values in a sample"
    assert welch([1.0, 1.0], [2.0, 2.0]) == "neither sample varies"


def test_mann_whitney_on_a_published_example() -> None:
    """U = 35; R's manual gives p = 0.1272 for its one-sided test, which is exact here, too."""
    found = mann_whitney(AT_TERM, EARLIER)
    assert (found.u, found.exact) == (35, True)
    assert found.p == pytest.approx(2 * 0.1272, abs=1e-4)


def test_the_least_p_is_that_of_complete_separation() -> None:
    assert mann_whitney([1, 2, 3], [4, 5, 6]).p == pytest.approx(2 / 20)
    assert mann_whitney([1, 4, 3], [2, 5, 6]).least_p == pytest.approx(2 / 20)
    assert mann_whitney([1] * 6, [2] * 6).p == pytest.approx(2 / math.comb(12, 6))


@given(FEW, FEW)
def test_mann_whitney_with_ties_is_the_permutation_test(a: list[float], b: list[float]) -> None:
    """Against all ways to divide the pooled values, one by one."""
    ranks = midranks([*a, *b]).tolist()
    sums = [math.fsum(chosen) for chosen in combinations(ranks, len(a))]
    at = math.fsum(ranks[: len(a)])
    sides = [np.mean([s <= at for s in sums]), np.mean([s >= at for s in sums])]
    assert mann_whitney(a, b).p == pytest.approx(min(1.0, 2 * float(min(sides))))


@pytest.mark.parametrize(("n", "m"), [(1, 5), (8, 20), (30, 30)])
def test_mann_whitney_without_ties_is_that_of_scipy(n: int, m: int) -> None:
    from scipy.stats import mannwhitneyu

    a, b = drawn(n, n), drawn(m, m, 0.5)
    other = mannwhitneyu(a, b, method="exact")
    found = mann_whitney(a, b)
    assert (found.u, found.p) == pytest.approx((other.statistic, other.pvalue))


def test_many_values_are_approximated_as_scipy_does() -> None:
    from scipy.stats import mannwhitneyu

    a = [round(x, 1) for x in drawn(1, 50)]
    b = [round(x, 1) for x in drawn(2, EXACT_VALUES, 0.4)]
    found, other = mann_whitney(a, b), mannwhitneyu(a, b, method="asymptotic")
    assert not found.exact
    assert (found.u, found.p) == pytest.approx((other.statistic, other.pvalue))
    assert mann_whitney([1.0] * 40, [1.0] * 40).p == 1


@given(FEW, FEW)
def test_two_samples_can_be_exchanged(a: list[float], b: list[float]) -> None:
    one, other = mann_whitney(a, b), mann_whitney(b, a)
    assert one.p == pytest.approx(other.p)
    assert one.u + other.u == len(a) * len(b)
    assert cliffs_delta(a, b) == pytest.approx(-cliffs_delta(b, a))
    assert -1 <= cliffs_delta(a, b) <= 1
    g, minus_g = hedges_g(a, b), hedges_g(b, a)
    assert (g is None) == (minus_g is None)
    assert g is None or minus_g is None or g == pytest.approx(-minus_g)


def test_cliffs_delta_by_hand() -> None:
    """Of nine pairs the first is larger in five, smaller in three, equal in one."""
    assert cliffs_delta([1, 5, 6], [2, 4, 5]) == pytest.approx((5 - 3) / 9)
    assert [magnitude(d) for d in (0.1, -0.2, 0.4, -0.9)] == [
        "negligible",
        "small",
        "medium",
        "large",
    ]


def test_hedges_g_on_a_published_example() -> None:
    """Borenstein et al., Introduction to Meta-Analysis, 2009, chapter 4: g = 0.5924."""
    z = np.array(drawn(3, 50))
    z = (z - z.mean()) / z.std(ddof=1)
    g = hedges_g((103 + 5.5 * z).tolist(), (100 + 4.5 * z).tolist())
    assert g == pytest.approx(0.5924, abs=1e-4)
    assert hedges_g([1.0], [2.0]) is None
    assert hedges_g([1.0, 1.0], [2.0, 2.0]) is None


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 4), (6, 6), (10, 25), (60, 45)])
def test_one_sided_p_values_are_those_of_scipy(n: int, m: int) -> None:
    from scipy.stats import ks_2samp

    a, b = drawn(n, n), drawn(m + 100, m, 0.3, 1.5)
    found = dominance(a, b)
    for p, alternative in ((found.p_first, "greater"), (found.p_second, "less")):
        other: Any = ks_2samp(a, b, alternative, method="exact")
        assert p == pytest.approx(other.pvalue)


def test_large_samples_take_the_limit() -> None:
    from scipy.stats import ks_2samp

    a, b = drawn(1, 300), drawn(2, 400, 0.15)
    exact: Any = ks_2samp(a, b, "greater", method="exact")
    assert dominance(a, b).p_first == pytest.approx(exact.pvalue, rel=0.15, abs=1e-3)


def test_dominance_in_its_four_outcomes() -> None:
    low, high = drawn(1, 40), drawn(2, 40, 2.0)
    assert dominance(low, high).side == "second"
    assert dominance(high, low).side == "first"
    assert dominance([1, 2], [3, 4]).side == "undecided"
    narrow, wide = drawn(3, 200, 0, 0.2), drawn(4, 200, 0, 3.0)
    assert dominance(narrow, wide).side == "crossing"
    shifted = dominance([1.0, 2, 3, 4, 5, 6], [11.0, 12, 13, 14, 15, 16])
    assert (shifted.side, shifted.crossing) == ("second", 0)
    # One path of C(12, 6) is as extreme.
    assert shifted.p_first == pytest.approx(1 / math.comb(12, 6))


def test_equal_samples_do_not_dominate() -> None:
    found = dominance([1, 2, 3], [1, 2, 3])
    assert (found.p_first, found.p_second, found.side) == (1, 1, "undecided")


def test_holm_by_hand() -> None:
    """0.01 x 4; 0.02 x 3; then 0.03 x 2 = 0.06 as well; 0.5."""
    assert holm([0.03, 0.01, 0.5, 0.02]) == pytest.approx([0.06, 0.04, 0.5, 0.06])
    assert holm([]) == []


@pytest.mark.full
@settings(deadline=None, max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [36, 50, 368, 900])
def test_intervals_of_percentiles_are_those_of_scipy(q: float, n: int) -> None:
    from scipy.stats import quantile_test

    estimate = percentile(list(range(n)), 100 * q)
    interval = quantile_test(list(range(n)), p=q).confidence_interval(0.95)
    if n < values_needed(q):
        assert estimate.low is estimate.high is None
        assert estimate.reason == f"fewer than {values_needed(q)} values"
        assert math.isnan(interval.low) or math.isnan(interval.high)
    else:
        assert (estimate.low, estimate.high) == (interval.low, interval.high)


@pytest.mark.parametrize("q", [0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99])
def test_the_values_needed_are_the_first_that_have_ranks(q: float) -> None:
    needed = values_needed(q)
    assert quantile_ranks(needed, q) is not None
    assert quantile_ranks(needed - 1, q) is None


def test_other_levels() -> None:
    from scipy.stats import quantile_test, ttest_1samp

    x = drawn(11, 40)
    for level in (0.8, 0.9, 0.99):
        for found, interval in (
            (median(x, level), quantile_test(x, p=0.5).confidence_interval(level)),
            (percentile(x, 80, level), quantile_test(x, p=0.8).confidence_interval(level)),
            (mean(x, level), ttest_1samp(x, 0).confidence_interval(level)),
        ):
            assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert median([1.0, 2.0, 3.0, 4.0, 5.0], 0.9).low == 1
    assert median([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.99).reason == "fewer than 8 values"


def test_extremes_have_no_interval() -> None:
    assert percentile([1.0, 2.0] * 50, 100).reason == "an extreme of the sample has no interval"
    assert quantile_ranks(1000, 0) is quantile_ranks(1000, 1) is None


def test_bca_is_that_of_scipy_and_arch() -> None:
    """Different resamples: the ends agree to the noise of 100,000 of them."""
    from arch.bootstrap import IIDBootstrap
    from scipy.stats import bootstrap as of_scipy

    x = np.random.default_rng(7).exponential(size=30)
    low, high = bca_mean(x.tolist(), 0.95)
    width = high - low
    other = of_scipy((x,), np.mean, n_resamples=50_000, rng=1).confidence_interval
    assert (low, high) == pytest.approx((other.low, other.high), abs=0.02 * width)
    ends = IIDBootstrap(x, seed=1).conf_int(np.mean, reps=3_000, method="bca").ravel()
    assert (low, high) == pytest.approx(tuple(ends), abs=0.05 * width)
    assert high - x.mean() > x.mean() - low, "the values are skewed to the right"


def test_the_bootstrap_is_deterministic_moves_with_the_values_and_says_when_it_cannot() -> None:
    x = drawn(5, 20)
    one, two = bootstrap(x), bootstrap(x)
    assert one == two
    moved = bootstrap([1e9 + 1e6 * v for v in x])
    assert one.low is not None and moved.low == pytest.approx(1e9 + 1e6 * one.low)
    assert bootstrap(x[: MIN_VALUES - 1]).reason == f"fewer than {MIN_VALUES} values"
    assert bootstrap([3.0] * 20).reason == "all values are equal"
    assert bootstrap([]).value is None


def test_autocorrelation_by_hand() -> None:
    """1..6, less 3.5: products of neighbours 3.75 + 0.75 - 0.25 + 0.75 + 3.75, over 17.5."""
    found = autocorrelation([1, 2, 3, 4, 5, 6])
    assert not isinstance(found, str)
    assert found.r == pytest.approx((8.75 / 17.5,))
    assert found.band == pytest.approx(1.959964 / math.sqrt(6), abs=1e-6)
    assert autocorrelation([1, 2, 3]) == "fewer than 6 values"
    assert autocorrelation([2] * 9) == "all values are equal"


def test_autocorrelation_is_that_of_statsmodels() -> None:
    from statsmodels.stats.diagnostic import acorr_ljungbox
    from statsmodels.tsa.stattools import acf

    x = np.cumsum(drawn(8, 40))
    found = autocorrelation(x.tolist())
    assert not isinstance(found, str)
    assert found.r == pytest.approx(tuple(acf(x, nlags=8)[1:]))
    assert found.p == pytest.approx(float(acorr_ljungbox(x, lags=[8]).lb_pvalue.iloc[0]))


@pytest.mark.parametrize("n", [30, 100, 700])
@pytest.mark.parametrize("kind", ["noise", "walk", "trend", "wave"])
def test_kpss_is_that_of_statsmodels(n: int, kind: str) -> None:
    from statsmodels.tsa.stattools import kpss as of_statsmodels

    noise = np.array(drawn(n, n))
    x = {
        "noise": noise,
        "walk": np.cumsum(noise),
        "trend": noise + np.linspace(0, 5, n),
        "wave": noise + np.sin(np.arange(n) / 3),
    }[kind]
    found = kpss(x)
    assert not isinstance(found, str)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # says so when p is at an end of the table
        other: Any = of_statsmodels(x, nlags="auto")
    assert (found.statistic, found.p) == pytest.approx(tuple(other[:2]))
    assert found.lags == other[2]
    if n > 50 and kind in ("noise", "walk", "trend"):
        assert (found.p > 0.05) == (kind == "noise")


def test_kpss_says_why_it_cannot() -> None:
    assert kpss([1.0, 2.0] * 5) == "fewer than 30 values"
    assert kpss([1.0] * 50) == "all values are equal"


def words_of(a: list[float], b: list[float]) -> tuple[str, str]:
    (found,) = compare([(a, b)])
    return found.kind, found.text


def test_verdicts_in_words() -> None:
    low, high = [1.0, 2, 3, 4, 5, 6, 7], [11.0, 12, 13, 14, 15, 16, 17]
    assert words_of(low, low) == ("identical", "identical")
    assert words_of(low, high) == (
        "different",
        (
            "different (Mann-Whitney p = 0.00058; Cliff's delta -1.00, large);"
            " medians differ: the 95 % interval of their difference excludes 0;"
            " stochastic dominance holds: the second is larger"
        ),
    )
    assert words_of([1.0, 2, 3], [4.0, 5, 6]) == (
        "undecided",
        "not decided: too few values (3 and 3), the clearest outcome has p = 0.1",
    )
    assert words_of([1.0], [2.0]) == (
        "undecided",
        "not decided: one value says nothing about chance",
    )
    assert words_of([1.0, 1], [2.0, 2]) == (
        "different",
        "different: neither varies, and the second is larger",
    )
    assert words_of([1.0, 1], [1.0, 1, 1])[0] == "same"
    kind, words = words_of(low, [x + 0.1 for x in low])
    assert kind == "same"
    assert words.startswith("no difference found (Mann-Whitney p = 0.71; Cliff's delta -0.14")


def test_what_is_significant_alone_may_not_be_among_many() -> None:
    low, high = [1.0, 2, 3, 4, 5, 6], [11.0, 12, 13, 14, 15, 16]
    one, *others = compare([(low, high)] + [(low, [x + 0.1 for x in low])] * 30)
    assert one.p is not None and one.p < 0.05
    assert one.p_holm == pytest.approx(31 * one.p)
    assert one.kind == "undecided"
    # 2 / C(12, 6) = 0.00216, which 23 comparisons leave below 5 %.
    most = "so few values decide 23 at most, add repetitions"
    assert f"significant alone, not among 31 comparisons: {most} (Mann" in one.text
    near, *_ = compare([(low, [4.5, 5.5, 6.5, 7, 8, 9])] + [(low, [x + 0.1 for x in low])] * 12)
    assert near.text.startswith("not decided: significant alone, not among 13 comparisons (Mann")
    assert {c.kind for c in others} == {"same"}
    (few,) = compare([([1.0, 2, 3], [1.0, 5, 6])])
    assert few.p_holm is not None and few.kind == "undecided"


def test_the_direction_of_a_crossing_is_told() -> None:
    (found,) = compare([(drawn(9, 50), drawn(10, 60, 1.0, 2.0))])
    assert found.dominance is not None and found.dominance.crossing
    assert "consistent with stochastic dominance: the second is larger" in found.text
