"""The signed-rank test and its interval: enumerations, published examples, scipy."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairc.runtime.statistics.paired import (
    EXACT_PAIRS,
    Matched,
    comparisons_decided,
    correlation,
    least_p,
    pairs_needed,
    signed_rank,
    student,
    walsh_shift,
)
from fairc.runtime.statistics.two_samples import mann_whitney, midranks
from fairc.runtime.statistics.verdicts import compare

# Hollander and Wolfe, Nonparametric Statistical Methods, 1973, example 3.1: a depression scale
# before and after a therapy; R's manual of wilcox.test has it, too.
BEFORE = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
AFTER = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
CHANGES = [y - x for x, y in zip(BEFORE, AFTER, strict=True)]

FEW = st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=9)


def test_a_published_example() -> None:
    """T = 5, one-sided p = 10/512; R gives -0.46 with [-0.786, -0.010]."""
    found = signed_rank(CHANGES)
    assert (found.n, found.t, found.exact) == (9, 5, True)
    assert found.p == pytest.approx(2 * 10 / 512)
    shift = walsh_shift(CHANGES)
    assert shift.value == pytest.approx(-0.46)
    assert shift.low == pytest.approx(-0.786)
    assert shift.high == pytest.approx(-0.010)


@settings(deadline=None)
@given(FEW)
def test_p_is_that_of_all_signs(differences: list[float]) -> None:
    """Against every way to give signs to the mid-ranks of what is not 0, one by one."""
    kept = [d for d in differences if d]
    if not kept:
        assert signed_rank(differences).p == 1.0
        return
    ranks = midranks([abs(d) for d in kept])
    sums = [
        float(ranks[np.array(signs)].sum()) for signs in product((False, True), repeat=len(kept))
    ]
    at = float(ranks[np.array(kept) > 0].sum())
    sides = [np.mean([s <= at for s in sums]), np.mean([s >= at for s in sums])]
    assert signed_rank(differences).p == pytest.approx(min(1.0, 2 * float(min(sides))))


@pytest.mark.parametrize("n", [1, 2, 6, 25, 60])
def test_p_without_ties_is_that_of_scipy(n: int) -> None:
    from scipy.stats import wilcoxon

    differences = np.random.default_rng(n).normal(0.3, 1, n)
    other: Any = wilcoxon(differences, method="exact")
    assert signed_rank(differences.tolist()).p == pytest.approx(other.pvalue)


def test_many_pairs_are_approximated_as_scipy_does() -> None:
    from scipy.stats import wilcoxon

    differences = np.round(np.random.default_rng(5).normal(0.1, 1, EXACT_PAIRS + 40), 1)
    differences = differences[differences != 0]
    assert len(differences) > EXACT_PAIRS
    found = signed_rank(differences.tolist())
    other: Any = wilcoxon(differences, method="approx", correction=True)
    assert not found.exact
    assert found.p == pytest.approx(other.pvalue, rel=1e-9)


def test_the_approximation_continues_what_is_exact() -> None:
    differences = np.random.default_rng(6).normal(0.1, 1, EXACT_PAIRS).tolist()
    exact = signed_rank(differences)
    assert exact.exact
    mean, variance = EXACT_PAIRS * (EXACT_PAIRS + 1) / 4, sum(k * k for k in range(1, 201)) / 4
    z = (abs(exact.t - mean) - 0.5) / math.sqrt(variance)
    assert exact.p == pytest.approx(math.erfc(z / math.sqrt(2)), rel=0.02)


@settings(deadline=None)
@given(st.lists(st.floats(-100, 100), min_size=6, max_size=12, unique=True))
def test_the_interval_holds_what_the_test_does_not_reject(differences: list[float]) -> None:
    """A shift inside it is not rejected at 5 %, one outside is: the interval is the test
    inverted.
    """
    found = walsh_shift(differences)
    assert found.low is not None and found.high is not None and found.value is not None
    assert found.low <= found.value <= found.high
    width = found.high - found.low or 1.0
    for shift, inside in (
        (found.low + 0.37 * width, True),
        (found.low - 1e-3 * width - 1e-6, False),
        (found.high + 1e-3 * width + 1e-6, False),
    ):
        moved = [d - shift for d in differences]
        ranks = [abs(d) for d in moved]
        if len(set(ranks)) == len(ranks) and min(ranks) > 0:  # ties have another distribution
            assert (signed_rank(moved).p > 0.05) is inside


@pytest.mark.parametrize(("n", "rank"), [(5, None), (6, 1), (7, 3), (8, 4), (10, 9), (20, 53)])
def test_the_ranks_of_the_interval_are_those_of_the_tables(n: int, rank: int | None) -> None:
    """Two-sided 5 % points of the signed-rank sum (any textbook): 0, 2, 3, 8, 52; the rank is one
    more.
    """
    differences = [float(2**k) for k in range(n)]
    found = walsh_shift(differences)
    averages = sorted((a + b) / 2 for i, a in enumerate(differences) for b in differences[i:])
    if rank is None:
        assert (found.low, found.reason) == (None, "fewer than 6 pairs")
    else:
        assert (found.low, found.high) == (averages[rank - 1], averages[-rank])


def test_the_interval_covers_the_centre_as_often_as_it_says() -> None:
    draw = np.random.default_rng(17)
    held = 0
    for _ in range(2000):
        found = walsh_shift(draw.laplace(3.0, 1.0, 10).tolist())
        assert found.low is not None and found.high is not None
        held += found.low <= 3.0 <= found.high
    assert 0.935 < held / 2000 < 0.972  # exactly 0.9512: 1 - 2 x 25/1024, within four deviations


def test_what_so_many_pairs_can_decide() -> None:
    """Holm multiplies the smallest p, 2 / 2^n, by the number of comparisons."""
    assert [least_p(n) for n in (1, 5, 6)] == [1.0, 0.0625, 0.03125]
    assert [comparisons_decided(n) for n in (0, 5, 6, 8, 10)] == [0, 0, 1, 6, 25]
    assert [pairs_needed(m) for m in (1, 2, 6, 7, 25, 26)] == [6, 7, 8, 9, 10, 11]
    for m in range(1, 40):
        n = pairs_needed(m)
        assert m * 2 / 2**n < 0.05 <= m * 2 / 2 ** (n - 1)


def test_correlation_is_pearsons() -> None:
    assert correlation([1, 2, 3, 4], [10, 20, 30, 40]) == pytest.approx(1)
    assert correlation([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    x, y = np.random.default_rng(3).normal(size=(2, 30))
    assert correlation(x.tolist(), y.tolist()) == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert correlation([1, 2], [1, 2]) is None
    assert correlation([1, 1, 1], [1, 2, 3]) is None


def test_students_test_of_differences_is_that_of_scipy() -> None:
    from scipy.stats import ttest_1samp

    other: Any = ttest_1samp(CHANGES, 0)
    assert student(CHANGES) == pytest.approx(other.pvalue)
    assert student([1.0]) is student([2.0, 2.0]) is None


def test_pairs_show_what_independent_samples_hide() -> None:
    """A shift of 0.1 under a spread of 9: 10 pairs decide, Mann and Whitney's test sees nothing."""
    first = [float(k) for k in range(10)]
    second = [x + 0.1 + 0.001 * (k % 3) for k, x in enumerate(first)]
    assert mann_whitney(first, second).p > 0.7
    (found,) = compare([Matched(first, second)])
    assert found.kind == "different"
    assert found.p == pytest.approx(2 / 2**10)
    assert found.text == "different (signed-rank p = 0.002; 10 pairs, correlation 1.00)"
    assert found.shift is not None and found.shift.low is not None
    assert 0.1 <= found.shift.low < 0.103


def test_pairs_that_cannot_decide_say_so() -> None:
    few, same, alone, constant = compare(
        [
            Matched([1, 2, 3, 4, 5], [2, 4, 6, 8, 9]),
            Matched([1, 2], [1, 2]),
            Matched([1], [2]),
            Matched([1, 1], [2, 2]),
        ]
    )
    assert few.kind == "undecided"
    assert few.text.startswith("not decided: too few pairs that differ (5), the clearest outcome")
    assert (same.kind, same.text) == ("identical", "identical, pair by pair")
    assert alone.kind == "undecided"
    assert constant.text == "different: neither varies, and the second is larger"
