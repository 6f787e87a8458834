"""Probabilities and quantiles: against SciPy, and against sums of exact terms where it is less
precise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from fairc.runtime.statistics.distributions import (
    beta_below,
    beta_quantile,
    binomial_above,
    binomial_below,
    binomial_quantile,
    chi_squared_above,
    normal_below,
    student_below,
    student_quantile,
)

CLOSE = pytest.approx
FREEDOM = st.one_of(st.integers(1, 60), st.floats(1, 1e5))
LEVELS = st.floats(0.6, 0.99999)


@given(FREEDOM, st.floats(-60, 60))
def test_students_tails_are_those_of_scipy(df: float, t: float) -> None:
    assert student_below(df, t) == CLOSE(float(special.stdtr(df, t)), rel=1e-9, abs=1e-200)


@given(FREEDOM, LEVELS)
def test_students_quantiles_are_those_of_scipy(df: float, share: float) -> None:
    assert student_quantile(df, share) == CLOSE(float(special.stdtrit(df, share)), rel=1e-9)


@pytest.mark.parametrize(
    ("df", "t"), [(1, 12.706), (2, 4.303), (5, 2.571), (10, 2.228), (30, 2.042), (120, 1.980)]
)
def test_students_quantiles_are_those_of_printed_tables(df: int, t: float) -> None:
    assert student_quantile(df, 0.975) == CLOSE(t, abs=6e-4)


@given(LEVELS)
def test_students_quantiles_of_one_degree_are_cauchys(share: float) -> None:
    assert student_quantile(1, share) == CLOSE(1 / math.tan(math.pi * (1 - share)), rel=1e-12)


@given(st.integers(1, 40), st.floats(0, 300))
def test_chi_squared_is_that_of_scipy(df: int, x: float) -> None:
    assert chi_squared_above(df, x) == CLOSE(float(special.chdtrc(df, x)), rel=1e-11)


@given(st.floats(-37, 37))
def test_the_normal_tails_are_those_of_scipy(z: float) -> None:
    assert normal_below(z) == CLOSE(float(special.ndtr(z)), rel=1e-12)


@given(st.floats(0.1, 3000), st.floats(0.1, 3000), st.floats(0.001, 0.999))
def test_the_incomplete_beta_function_is_that_of_scipy(a: float, b: float, x: float) -> None:
    expected = float(special.betainc(a, b, x))
    assert beta_below(a, b, x, 1 - x) == CLOSE(expected, rel=1e-9, abs=1e-200)


@given(st.floats(0.5, 500), st.floats(0.5, 500), st.floats(0.001, 0.999))
def test_its_inverse_is_where_that_of_scipy_has_the_share(a: float, b: float, share: float) -> None:
    """SciPy's own inverse can be off by 1e-8: `betaincinv(a, a, 0.5)` is 0.5 by symmetry."""
    found = beta_quantile(a, b, share)
    low, high = found * (1 - 1e-9), min(1.0, found * (1 + 1e-9))
    assert special.betainc(a, b, low) <= share <= special.betainc(a, b, high)


@given(st.floats(0.5, 500))
def test_the_median_of_a_symmetric_one_is_a_half(a: float) -> None:
    assert beta_quantile(a, a, 0.5) == CLOSE(0.5, rel=1e-14)


@given(st.data())
def test_binomial_tails_are_exact(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60))
    k = data.draw(st.integers(-1, n))
    p = data.draw(st.floats(1e-6, 1 - 1e-6))
    exact = Fraction(p)
    terms = [math.comb(n, i) * exact**i * (1 - exact) ** (n - i) for i in range(n + 1)]
    assert binomial_below(k, n, p) == CLOSE(float(sum(terms[: k + 1])), rel=1e-9)
    assert binomial_above(k, n, p) == CLOSE(float(sum(terms[k + 1 :])), rel=1e-9)


@pytest.mark.parametrize("n", [10**5, 10**7, 10**9])
@pytest.mark.parametrize("p", [1e-4, 0.01, 0.5])
@pytest.mark.parametrize("deviations", [-4, -1, 0, 2, 5])
def test_binomial_tails_of_many_packets_are_those_of_scipy(
    n: int, p: float, deviations: int
) -> None:
    k = max(0, round(n * p + deviations * math.sqrt(n * p * (1 - p))))
    assert binomial_below(k, n, p) == CLOSE(float(special.betainc(n - k, k + 1, 1 - p)), rel=1e-9)
    assert binomial_above(k, n, p) == CLOSE(float(special.betainc(k + 1, n - k, p)), rel=1e-9)


def test_a_tail_of_a_billion_packets_is_the_sum_of_its_terms() -> None:
    # 1.35142823206808e-3: the terms from k + 1 on, in decimals of 60 digits.
    assert binomial_above(10_009_439, 10**9, 0.01) == CLOSE(1.35142823206808e-3, rel=1e-10)


@given(st.integers(1, 10_000), st.floats(0.001, 0.999), st.floats(0.001, 0.999))
def test_the_binomial_quantile_is_that_of_scipy(n: int, p: float, share: float) -> None:
    k = binomial_quantile(share, n, p)
    enough, few = stats.binom.cdf(k, n, p), stats.binom.cdf(k - 1, n, p)
    assert enough > share - 1e-12
    assert few < share + 1e-12
