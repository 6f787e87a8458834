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
    """A summary of n values. low, high: its 95 % confidence interval, both None without one.

    reason: why there is no interval, in words; empty where there is one.
    """

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""


@cache
def median_ranks(n: int) -> tuple[int, int] | None:
    """Return the ranks j < k (from 1) whose order statistics enclose the median with 95 %.

    The narrowest pair with at most 2.5 % on each side; None below 6 values, where even minimum
    and maximum do not reach 95 %. With B ~ Binomial(n, 1/2), P(x_(j) <= median <= x_(k)) =
    P(j <= B <= k - 1); only independence and one distribution are assumed.

    Source: Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1.
    """
    tail, j = 0.0, 0
    while True:
        tail += _half_binomial(n, j)
        if tail > (1 - CONFIDENCE) / 2:
            return (j, n + 1 - j) if j else None
        j += 1


def _half_binomial(n: int, k: int) -> float:
    """Return P(B = k) for B ~ Binomial(n, 1/2)."""
    if n < 1000:
        return float(Fraction(math.comb(n, k), 2**n))
    logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logs - n * math.log(2))


def median(values: Sequence[float]) -> Estimate:
    """Return the median with its order-statistics interval (`median_ranks`)."""
    ordered = sorted(values)
    n = len(ordered)
    if not n:
        return _nothing()
    value = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    if (reason := _no_variance(ordered)) or (ranks := median_ranks(n)) is None:
        return Estimate(n, value, reason=reason or "fewer than 6 values")
    return Estimate(n, value, ordered[ranks[0] - 1], ordered[ranks[1] - 1])


def mean(values: Sequence[float]) -> Estimate:
    """Return the mean with Student's interval, x +- t_(n-1, 0.975) s / sqrt(n).

    It assumes a normal distribution of the values, or many of them. Source: Le Boudec,
    Performance Evaluation of Computer and Communication Systems, theorem 2.2 (normal data).
    """
    n = len(values)
    if not n:
        return _nothing()
    value = math.fsum(values) / n
    if reason := _no_variance(values):
        return Estimate(n, value, reason=reason)
    from scipy.special import stdtrit

    variance = math.fsum((x - value) ** 2 for x in values) / (n - 1)
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * math.sqrt(variance / n)
    return Estimate(n, value, value - half, value + half)


def percentile(values: Sequence[float], p: float) -> Estimate:
    """Return the p-th percentile, 0 <= p <= 100, with linear interpolation and no interval.

    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7.
    """
    ordered = sorted(values)
    if not ordered:
        return _nothing()
    place = (len(ordered) - 1) * p / 100
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    value = ordered[below] + (place - below) * (ordered[above] - ordered[below])
    return Estimate(len(ordered), value, reason="no interval is computed for a percentile")


def _nothing() -> Estimate:
    return Estimate(0, None, reason="no value")


def _no_variance(values: Sequence[float]) -> str:
    """Say why values that do not vary have no interval (measurement.md, rule 11)."""
    if len(values) == 1:
        return "one value"
    return "all values are equal" if min(values) == max(values) else ""


STATISTICS: dict[str, Callable[[Sequence[float]], Estimate]] = {
    "median": median,
    "mean": mean,
    "min": partial(percentile, p=0),
    "max": partial(percentile, p=100),
}
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


def statistic(name: str) -> Callable[[Sequence[float]], Estimate]:
    """Return what `--stat` names: median, mean, min, max, or a percentile such as `p90`.

    Raises KeyError.
    """
    if found := _PERCENTILE.fullmatch(name):
        return partial(percentile, p=float(found[1]))
    return STATISTICS[name]
