"""Intervals that stay valid under repeated interim analyses while repetitions are added.

An ordinary 95 % interval that is examined after every repetition until it is narrow enough misses
in far more than 5 % of cases. Two kinds do not: ranks for analyses that are fixed in advance, and a
confidence sequence, which is valid at all times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairc.words.repetitions import INTERIM_RANKS

from .estimates import CONFIDENCE, Estimate, no_variance, of_ranks


def at_interim(values: Sequence[float]) -> Estimate:
    """Return the median with the interval of the analysis at this number of values.

    Raises KeyError where `INTERIM_RANKS` has no analysis at their number.
    """
    return of_ranks(values, 0.5, INTERIM_RANKS[len(values)], "")


def at_any_time(values: Sequence[float], q: float = 0.5, level: float = CONFIDENCE) -> Estimate:
    """Return a quantile with an interval that holds at all times at once, 0 < q < 1.

    Its value is the sample's quantile by linear interpolation. There is no interval where one side
    is open.
    """
    kept = kept_counts(len(values), q, level)
    if not values or kept[0] == 0 or kept[1] == len(values):
        return of_ranks(values, q, None, f"fewer than {values_needed(q, level)} values")
    return of_ranks(values, q, (kept[0], kept[1] + 1), "")


def kept_counts(n: int, q: float, level: float = CONFIDENCE) -> tuple[int, int]:
    """Return the least and the largest k for which a q-quantile with k of n values up to it is
    kept.

    A quantile x is kept while B(k + 1, n - k + 1) / (q^k (1 - q)^(n - k)) < 1 / (1 - level), B the
    beta
    function: a uniform mixture of likelihood ratios, a martingale that starts at 1 (Ville's
    inequality). Source: Robbins, Statistical methods related to the law of the iterated logarithm,
    1970.
    """
    limit = -math.log(1 - level)

    def log_ratio(k: int) -> float:
        beta = math.lgamma(k + 1) + math.lgamma(n - k + 1) - math.lgamma(n + 2)
        return beta - k * math.log(q) - (n - k) * math.log1p(-q)

    kept = [k for k in range(n + 1) if log_ratio(k) < limit]
    return kept[0], kept[-1]


def values_needed(q: float = 0.5, level: float = CONFIDENCE) -> int:
    """Return the least number of values whose interval by `at_any_time` is closed."""
    n = 1
    while (kept := kept_counts(n, q, level))[0] == 0 or kept[1] == n:
        n += 1
    return n


def imprecision(estimate: Estimate) -> float | None:
    """Return the larger half of an interval, from the value to its farther end; None without one.

    Values that are all equal have no interval but are as precise as can be: 0.
    """
    if estimate.value is None:
        return None
    if estimate.low is None or estimate.high is None:
        return 0.0 if estimate.n > 1 and estimate.reason == no_variance([0.0, 0.0]) else None
    return max(estimate.high - estimate.value, estimate.value - estimate.low)
