"""Probabilities and quantiles of the distributions that the statistics need; scalars throughout.

Tested against SciPy, which would make an installation two fifths larger (tests/metrics/
test_distributions.py). DLMF: NIST Digital Library of Mathematical Functions, https://dlmf.nist.gov.
"""

from __future__ import annotations

import math
from bisect import bisect_left

ROUNDING = 1e-15
TINY = 1e-300


def normal_below(z: float) -> float:
    """Return the probability of a standard normal value of at most z; exact in both tails."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def student_below(df: float, t: float) -> float:
    """Return the probability of a value of at most t of Student's distribution, df > 0.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.1 with 26.5.27.
    """
    tail = beta_below(df / 2, 0.5, df / (df + t * t), t * t / (df + t * t)) / 2
    return tail if t < 0 else 1 - tail


def student_quantile(df: float, share: float) -> float:
    """Return Student's t that is not exceeded with probability `share`, 0.5 < share < 1.

    0 < df < 1e8: beyond, the normal distribution's quantile is the same.
    """
    x = beta_quantile(df / 2, 0.5, 2 * (1 - share))
    return math.sqrt(df * (1 - x) / x)


def chi_squared_above(df: int, x: float) -> float:
    """Return the probability of a value of more than x >= 0 of chi-squared, df from 1 to 300.

    Source: Abramowitz and Stegun, 26.4.4 and 26.4.5.
    """
    half, odd = x / 2, df % 2
    terms = (half ** (k + odd / 2) / math.gamma(k + odd / 2 + 1) for k in range((df - odd) // 2))
    series = math.exp(-half) * math.fsum(terms)
    return min(1.0, series + (math.erfc(math.sqrt(half)) if odd else 0.0))


def binomial_below(k: int, n: int, p: float) -> float:
    """Return the probability of at most k successes in n trials, each of probability p.

    Source: DLMF 8.17.5.
    """
    if k < 0:
        return 0.0
    return 1.0 if k >= n else beta_below(n - k, k + 1, 1 - p, p)


def binomial_above(k: int, n: int, p: float) -> float:
    """Return the probability of more than k successes in n trials, each of probability p."""
    if k < 0:
        return 1.0
    return 0.0 if k >= n else beta_below(k + 1, n - k, p, 1 - p)


def binomial_quantile(share: float, n: int, p: float) -> int:
    """Return the least k with a probability of at least `share` of at most k successes."""
    return bisect_left(range(n + 1), share, key=lambda k: binomial_below(k, n, p))


def beta_below(a: float, b: float, x: float, y: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), a, b > 0, 0 <= x <= 1, y = 1 - x.

    y is given because 1 - x may have lost its digits. At most about sqrt(max(a, b)) steps.
    Sources: DLMF 8.17.22, its continued fraction, by Lentz's method (Thompson and Barnett, J.
    Comput. Phys. 64, 1986), and 8.17.4 where that would converge slowly.
    """
    if x <= 0 or y <= 0:
        return float(x > 0)
    if swapped := x > (a + 1) / (a + b + 2):
        a, b, x, y = b, a, y, x
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    fraction, m = d, 0
    while abs(c * d - 1) > ROUNDING or m < 1:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / (1 + term * d or TINY)
            c = 1 + term / c or TINY
            fraction *= c * d
    below = _beta_power(a, b, x, y) * fraction / a
    return 1 - below if swapped else below


def beta_quantile(a: float, b: float, share: float) -> float:
    """Return x with I_x(a, b) = share, 0 < share < 1, a, b > 0.

    Newton's steps from the mean, halving the bracket where they would leave it.
    """
    low, high, x = 0.0, 1.0, a / (a + b)
    while low < x < high:
        excess = beta_below(a, b, x, 1 - x) - share
        low, high = (low, x) if excess > 0 else (x, high)
        slope = _beta_power(a, b, x, 1 - x) / x / (1 - x)
        step = excess / slope if slope else math.inf
        if abs(step) <= ROUNDING * x:
            break
        x = x - step if low < x - step < high else (low + high) / 2
    return x


def _beta_power(a: float, b: float, x: float, y: float) -> float:
    """Return x^a y^b / B(a, b), x, y > 0, x + y = 1.

    With Stirling's formula taken out of the gamma functions, so that large a and b cancel before
    they are rounded. Source: Loader, Fast and accurate computation of binomial probabilities, 2000.
    """
    whole, beyond = a + b, x * b - y * a
    log = a * _log_ratio(x * whole, a, beyond) + b * _log_ratio(y * whole, b, -beyond)
    log += _stirling_error(whole) - _stirling_error(a) - _stirling_error(b)
    return math.exp(log) * math.sqrt(a / whole * b / (2 * math.pi))


def _log_ratio(top: float, bottom: float, difference: float) -> float:
    """Return ln(top / bottom), from their difference where it is small."""
    near = abs(difference) < bottom / 2
    return math.log1p(difference / bottom) if near else math.log(top / bottom)


def _stirling_error(z: float) -> float:
    """Return by how much Stirling's formula falls short of ln Gamma(z), z > 0 (DLMF 5.11.1)."""
    if z < 16:
        return math.lgamma(z) - ((z - 0.5) * math.log(z) - z + math.log(2 * math.pi) / 2)
    return 1 / (12 * z) - 1 / (360 * z**3) + 1 / (1260 * z**5) - 1 / (1680 * z**7)
