"""Summaries of repetitions: median, mean, percentiles, and the intervals that they deserve."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A summary of n values. low, high: its confidence interval, both None without one.

    reason: why there is no interval; empty if there is one.
    """

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def median_ranks(n: int, level: float = CONFIDENCE) -> tuple[int, int] | None:
    """Return the ranks j < k (from 1) whose order statistics enclose the median (`quantile_ranks`).

    None where even minimum and maximum do not reach the level: below 6 values at 95 %.
    """
    return quantile_ranks(n, 0.5, level)


@cache
def quantile_ranks(n: int, q: float, level: float = CONFIDENCE) -> tuple[int, int] | None:
    """Return the ranks j < k (from 1) whose order statistics enclose the q-quantile.

    The narrowest pair with at most (1 - level) / 2 on each side; None where even minimum and maximum leave
    more outside (`values_needed`), and for q = 0 and 1. With B ~ Binomial(n, q),
    P(x_(j) <= quantile <= x_(k)) >= P(j <= B <= k - 1), with equality for a continuous distribution;
    only independence and one distribution are assumed.

    Source: Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1.
    """
    if max(q, 1 - q) >= 1:
        return None
    below, above = _tail_rank(n, q, level), _tail_rank(n, 1 - q, level)
    return (below, n + 1 - above) if below and above else None


def _tail_rank(n: int, q: float, level: float) -> int:
    """Return the largest j with P(B <= j - 1) <= (1 - level) / 2, B ~ Binomial(n, q); 0 if there is none."""
    tail, j = 0.0, 0
    while j <= n:
        tail += _binomial(n, j, q)
        if tail > (1 - level) / 2:
            break
        j += 1
    return j


def _binomial(n: int, k: int, q: float) -> float:
    """Return P(B = k) for B ~ Binomial(n, q), 0 < q < 1."""
    if q == 0.5 and n < 1000:
        return float(Fraction(math.comb(n, k), 2**n))
    logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logs + k * math.log(q) + (n - k) * math.log1p(-q))


def values_needed(q: float, level: float = CONFIDENCE) -> int:
    """Return the least number of values that give the q-quantile an interval, 0 < q < 1."""
    return math.ceil(math.log((1 - level) / 2) / math.log(max(q, 1 - q)))


def median(values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return the median with its order-statistics interval (`median_ranks`)."""
    ordered = sorted(values)
    n = len(ordered)
    if not n:
        return _nothing()
    value = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    if (reason := no_variance(ordered)) or (ranks := median_ranks(n, level)) is None:
        return Estimate(n, value, reason=reason or f"fewer than {values_needed(0.5, level)} values")
    return Estimate(n, value, ordered[ranks[0] - 1], ordered[ranks[1] - 1])


def mean(values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return the mean with Student's interval, x +- t_(n-1, (1 + level) / 2) s / sqrt(n).

    It assumes normally distributed values, or many of them. Source: Le Boudec,
    Performance Evaluation of Computer and Communication Systems, theorem 2.2 (normal data).
    """
    n = len(values)
    if not n:
        return _nothing()
    value = math.fsum(values) / n
    if reason := no_variance(values):
        return Estimate(n, value, reason=reason)
    from scipy.special import stdtrit

    variance = math.fsum((x - value) ** 2 for x in values) / (n - 1)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * math.sqrt(variance / n)
    return Estimate(n, value, value - half, value + half)


def percentile(values: Sequence[float], p: float, level: float = CONFIDENCE) -> Estimate:
    """Return the p-th percentile, 0 <= p <= 100, with its order-statistics interval.

    The value interpolates linearly; the interval (`quantile_ranks`) is of the distribution's
    percentile. Minimum and maximum (0 and 100) have none.

    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7.
    """
    ordered = sorted(values)
    n = len(ordered)
    if not n:
        return _nothing()
    place = (n - 1) * p / 100
    below = math.floor(place)
    above = min(below + 1, n - 1)
    value = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    if max(p / 100, 1 - p / 100) >= 1:
        return Estimate(n, value, reason="an extreme of the sample has no interval")
    if (reason := no_variance(ordered)) or (ranks := quantile_ranks(n, p / 100, level)) is None:
        needed = f"fewer than {values_needed(p / 100, level)} values"
        return Estimate(n, value, reason=reason or needed)
    return Estimate(n, value, ordered[ranks[0] - 1], ordered[ranks[1] - 1])


def bootstrap(values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return the mean with its BCa bootstrap interval (bootstrap.py): for skewed values."""
    from .bootstrap import MIN_VALUES, bca_mean

    n = len(values)
    if not n:
        return _nothing()
    value = math.fsum(values) / n
    if reason := no_variance(values):
        return Estimate(n, value, reason=reason)
    if n < MIN_VALUES:
        return Estimate(n, value, reason=f"fewer than {MIN_VALUES} values")
    return Estimate(n, value, *bca_mean(values, level))


def _nothing() -> Estimate:
    return Estimate(0, None, reason="no value")


def no_variance(values: Sequence[float]) -> str:
    """Return why values that do not vary have no interval, else "" (measurement.md, rule 11)."""
    if len(values) == 1:
        return "one value"
    return "all values are equal" if min(values) == max(values) else ""


STATISTICS: dict[str, Callable[[Sequence[float]], Estimate]] = {
    "median": median,
    "mean": mean,
    "bootstrap": bootstrap,
    "min": partial(percentile, p=0),
    "max": partial(percentile, p=100),
}
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


def statistic(name: str) -> Callable[[Sequence[float]], Estimate]:
    """Return what `--stat` names: one of STATISTICS, or a percentile such as `p90`.

    Raises KeyError.
    """
    if found := _PERCENTILE.fullmatch(name):
        return partial(percentile, p=float(found[1]))
    return STATISTICS[name]
