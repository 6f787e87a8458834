"""Two independent samples: is one larger, and by how much?

Each docstring names its source. Both tests are two-sided.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.arrays import Floats

from .distributions import normal_below, student_below, student_quantile
from .estimates import CONFIDENCE

# C(60, 30) subsets still fit into 64 bits.
EXACT_VALUES = 60

# Romano et al., Appropriate statistics for ordinal level data, 2006: a |delta| below each limit is
# ...
_MAGNITUDES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))


@dataclass(frozen=True, slots=True)
class Welch:
    """Welch's test of equal means: t, degrees of freedom, p, and the 95 % interval of a - b."""

    t: float
    df: float
    p: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class MannWhitney:
    """The test of equal distributions against a shift.

    u: pairs in which a is larger, ties counting half. p: two-sided. least_p: the smallest p that
    samples of these sizes and ties can have. exact: p comes from the permutation distribution
    itself.
    """

    u: float
    p: float
    least_p: float
    exact: bool


def welch(a: Sequence[float], b: Sequence[float]) -> Welch | str:
    """Return Welch's t-test, or why there is none.

    t = (mean_a - mean_b) / sqrt(v_a + v_b), v = s^2 / n, with the Welch-Satterthwaite degrees of
    freedom (v_a + v_b)^2 / (v_a^2 / (n_a - 1) + v_b^2 / (n_b - 1)). It assumes normal means: normal
    values, or many of them. Source: Welch, The generalization of Student's problem when several
    different population variances are involved, Biometrika 34, 1947.
    """
    if min(len(a), len(b)) < 2:
        return "fewer than 2 values in a sample"
    if not all(map(math.isfinite, (*a, *b))):
        return "a value is larger than all that were observed"
    x, y = np.array(a, np.float64), np.array(b, np.float64)
    v_a, v_b = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    if v_a + v_b == 0:
        return "neither sample varies"
    error = math.sqrt(v_a + v_b)
    df = (v_a + v_b) ** 2 / (v_a**2 / (len(x) - 1) + v_b**2 / (len(y) - 1))
    difference = float(x.mean() - y.mean())
    half = student_quantile(df, (1 + CONFIDENCE) / 2) * error
    t = difference / error
    p = min(1.0, 2 * student_below(df, -abs(t)))
    return Welch(t, df, p, difference - half, difference + half)


def mann_whitney(a: Sequence[float], b: Sequence[float]) -> MannWhitney:
    """Return the Mann-Whitney U test. a, b: at least one value each.

    Up to EXACT_VALUES values in all, p is exact, ties included: of all ways to choose which of the
    pooled mid-ranks are a's, the share with a rank sum as extreme, twice the smaller side. Beyond,
    the normal approximation with correction for ties and continuity. Only independence is assumed.

    Source: Mann and Whitney, Annals of Mathematical Statistics 18, 1947; Lehmann, Nonparametrics,
    1975, chapter 1 (ties, exact and approximate).
    """
    ranks = midranks([*a, *b])
    n, m = len(a), len(b)
    u = float(ranks[:n].sum()) - n * (n + 1) / 2
    if n + m <= EXACT_VALUES:
        p, least = _exact(ranks, n)
        return MannWhitney(u, p, least, exact=True)
    _, ties = np.unique(ranks, return_counts=True)
    total = n + m
    correction = float(np.sum(ties.astype(np.float64) ** 3 - ties)) / (total * (total - 1))
    deviation = math.sqrt(n * m / 12 * (total + 1 - correction))
    if deviation == 0:
        return MannWhitney(u, 1.0, 1.0, exact=False)

    def two_sided(u: float) -> float:
        z = max(0.0, abs(u - n * m / 2) - 0.5) / deviation
        return min(1.0, 2 * normal_below(-z))

    return MannWhitney(u, two_sided(u), two_sided(n * m), exact=False)


def midranks(values: Sequence[float]) -> Floats:
    """Return the rank of each value, from 1; equal values share the mean of theirs."""
    _, group, counts = np.unique(np.array(values, float), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: Floats = last - (counts - 1) / 2
    return middle[group]


def _exact(ranks: Floats, n: int) -> tuple[float, float]:
    """Return p of the first n of the ranks, and the least p that any n of them can have."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # mid-ranks are multiples of a half
    chance = subset_sums(doubled, n) / math.comb(len(ranks), n)
    at = int(doubled[:n].sum())
    possible = np.flatnonzero(chance)

    def two_sided(sum_: int) -> float:
        return min(1.0, 2 * min(float(chance[: sum_ + 1].sum()), float(chance[sum_:].sum())))

    return two_sided(at), min(two_sided(int(possible[0])), two_sided(int(possible[-1])))


def cliffs_delta(a: Sequence[float], b: Sequence[float]) -> float:
    """Return P(a > b) - P(a < b) over all pairs, -1 to 1: 2 U / (n m) - 1.

    Source: Cliff, Dominance statistics: ordinal analyses to answer ordinal questions, 1993.
    """
    n, m = len(a), len(b)
    u = float(midranks([*a, *b])[:n].sum()) - n * (n + 1) / 2
    return 2 * u / (n * m) - 1


def magnitude(delta: float) -> str:
    """Return the size of Cliff's delta as a word (Romano et al., 2006): negligible, small, medium,
    large.
    """
    return next((word for limit, word in _MAGNITUDES if abs(delta) < limit), "large")


def hedges_g(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Return the difference of means in pooled standard deviations, corrected for the bias of few
    values.

    g = J (mean_a - mean_b) / s,  J = Gamma(df/2) / (sqrt(df/2) Gamma((df - 1)/2)),  df = n + m - 2.
    None below 4 values in all, without a value in one sample, where nothing varies, and where a
    value is infinite. Source: Hedges, Distribution theory for Glass's estimator of effect size,
    Journal of Educational Statistics 6, 1981, equation 6e.
    """
    df = len(a) + len(b) - 2
    if df < 2 or not a or not b or not all(map(math.isfinite, (*a, *b))):
        return None
    x, y = np.array(a, np.float64), np.array(b, np.float64)
    pooled = float(np.sum((x - x.mean()) ** 2) + np.sum((y - y.mean()) ** 2)) / df
    if pooled == 0:
        return None
    log_j = math.lgamma(df / 2) - math.lgamma((df - 1) / 2) - math.log(df / 2) / 2
    return math.exp(log_j) * float(x.mean() - y.mean()) / math.sqrt(pooled)


def subset_sums(numbers: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return how many subsets of n of the numbers have each sum, from 0; numbers: above 0."""
    # ways[k, s]: subsets of k of the numbers so far with sum s.
    ways = np.zeros((n + 1, int(numbers.sum()) + 1), np.int64)
    ways[0, 0] = 1
    for number in numbers.tolist():
        ways[1:, number:] += ways[:-1, : ways.shape[1] - number].copy()
    found: NDArray[np.int64] = ways[n]
    return found
