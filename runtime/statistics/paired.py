"""Two samples whose values belong together, pair by pair: is one larger, and by how much?

For configurations with common random draws (`common` in the plan) and for flows of the same cells:
these are not independent samples, so only their differences count. Pairs are independent of each
other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from fairc.runtime.arrays import Floats

from .distributions import normal_below, student_below
from .estimates import CONFIDENCE, Estimate, of_ranks
from .two_samples import midranks

EXACT_PAIRS = 200
"""Up to this many pairs the distribution of the rank sum is computed in full."""


class Matched(NamedTuple):
    """Two samples of equal length; value i of both comes from one draw, such as a repetition."""

    first: Sequence[float]
    second: Sequence[float]


@dataclass(frozen=True, slots=True)
class SignedRank:
    """The signed-rank test of differences that are symmetric about 0.

    n: differences that are not 0. t: rank sum of the positive ones. p: two-sided. least_p: the
    smallest p that n differences can have. exact: p comes from the permutation distribution itself.
    """

    n: int
    t: float
    p: float
    least_p: float
    exact: bool


def signed_rank(differences: Sequence[float]) -> SignedRank:
    """Return the Wilcoxon signed-rank test. differences: at least one; zeros are left out.

    Up to EXACT_PAIRS, p is exact, ties included: of all 2^n ways to give signs to the mid-ranks of
    the absolute differences, the share with a sum as extreme, twice the smaller side. Beyond, the
    normal approximation with correction for ties and continuity.

    Source: Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945;
    Lehmann, Nonparametrics, 1975, section 3.2 (ties, exact and approximate).
    """
    kept = [d for d in differences if d]
    n = len(kept)
    if not n:
        return SignedRank(0, 0.0, 1.0, 1.0, exact=True)
    ranks = midranks(np.abs(kept).tolist())
    t = float(ranks[np.array(kept) > 0].sum())
    if n <= EXACT_PAIRS:
        chance = _chances(ranks)
        at = round(2 * t)
        p = 2 * min(float(chance[: at + 1].sum()), float(chance[at:].sum()))
        return SignedRank(n, t, min(1.0, p), least_p(n), exact=True)
    deviation = math.sqrt(float(np.sum(ranks**2)) / 4)
    z = max(0.0, abs(t - n * (n + 1) / 4) - 0.5) / deviation
    return SignedRank(n, t, min(1.0, 2 * normal_below(-z)), least_p(n), exact=False)


def least_p(n: int) -> float:
    """Return the smallest p of n pairs, n >= 0: all differences have one sign, 2 / 2^n."""
    return min(1.0, 2.0 ** (1 - n)) if n < 1000 else 0.0


def comparisons_decided(n: int) -> int:
    """Return how many comparisons of n pairs can all be significant after Holm's correction.

    The largest m with m 2 / 2^n < 5 %; 0 below 6 pairs.
    """
    return math.ceil(round((1 - CONFIDENCE) * 2.0 ** (min(n, 60) - 1), 9)) - 1


def pairs_needed(comparisons: int) -> int:
    """Return the least number of pairs that can decide this number of comparisons, >= 1."""
    n = 1
    while comparisons_decided(n) < comparisons:
        n += 1
    return n


def student(differences: Sequence[float]) -> float | None:
    """Return p of Student's t-test that the mean difference is 0; None below 2 or if all are equal.

    It assumes normal differences. Source: Student, The probable error of a mean, Biometrika 6,
    1908.
    """
    d = np.array(differences, float)
    if len(d) < 2 or float(np.ptp(d)) == 0:
        return None
    t = float(d.mean() / (d.std(ddof=1) / math.sqrt(len(d))))
    return min(1.0, 2 * student_below(len(d) - 1, -abs(t)))


def walsh_shift(differences: Sequence[float]) -> Estimate:
    """Return the centre of the differences, the median of the Walsh averages, with its interval.

    The averages are (d_i + d_j) / 2, i <= j. The ends are the k-th smallest and the k-th largest, k
    the largest with P(T <= k - 1) at most (1 - CONFIDENCE) / 2 for the signed-rank sum T of n
    differences without ties; ties make the interval wider than necessary. It assumes that the
    differences are symmetric about their centre. differences: at least one, zeros included; where
    it would fall on an infinite one there is no value, or no interval.

    Source: Hodges and Lehmann, Estimates of location based on rank tests, 1963; Hollander and
    Wolfe, Nonparametric Statistical Methods, 1973, section 3.3 (Tukey's interval).
    """
    d = np.array(differences, float)
    n = len(d)
    rows, columns = np.triu_indices(n)
    with np.errstate(
        invalid="ignore"
    ):  # of two opposite infinite differences the average may be anything
        averages = ((d[rows] + d[columns]) / 2).tolist()
    found = of_ranks(averages, 0.5, None, "")
    value = found.value
    if n == 1:
        return Estimate(n, value, reason="one pair")
    if min(differences) == max(differences):
        return Estimate(n, value, reason="all differences are equal")
    tail = (1 - CONFIDENCE) / 2
    k = _rank(n, tail)
    if k < 1:
        return Estimate(n, value, reason=f"fewer than {math.ceil(-math.log2(tail))} pairs")
    interval = of_ranks(averages, 0.5, (k, len(averages) + 1 - k), "")
    return replace(interval, n=n)


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Pearson's correlation r of the pairs; None below 3 pairs, and where a side does not
    vary or is infinite.

    The variance of the mean difference is 1 - r times that of independent samples of equal
    variances.
    """
    x, y = np.array(first, float), np.array(second, float)
    if len(x) < 3 or not np.isfinite((x, y)).all() or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    x, y = (
        (x - x.mean()) / np.ptp(x),
        (y - y.mean()) / np.ptp(y),
    )  # so that nothing over- or underflows
    r = float(np.sum(x * y) / math.sqrt(float(np.sum(x**2) * np.sum(y**2))))
    return min(1.0, max(-1.0, r))


def _chances(ranks: Floats) -> Floats:
    """Return P(2 T = s) for s = 0, 1, ...: every rank is in the sum T with probability 1/2."""
    doubled = np.rint(2 * ranks).astype(np.int64)  # mid-ranks are multiples of a half
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for rank in doubled.tolist():
        chance[rank:] = (chance[rank:] + chance[: len(chance) - rank]) / 2
        chance[:rank] /= 2
    return chance


def _rank(n: int, tail: float) -> int:
    """Return the largest k with P(T <= k - 1) <= tail, ranks 1 to n; 0 if there is none."""
    if n > EXACT_PAIRS:
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24)
        return math.floor(n * (n + 1) / 4 - 0.5 + NormalDist().inv_cdf(tail) * deviation) + 1
    chances = np.cumsum(_chances(np.arange(1.0, n + 1))[::2])
    return int(np.searchsorted(chances, tail, side="right"))
