"""The difference of two medians of independent samples, with an interval for any two distributions.

Hodges and Lehmann's shift (agreement.py) is the difference of the medians only where both
distributions have one shape. This interval assumes independent values, and nothing about shapes:

    a = values of the first sample above x + d,  b = values of the second below x
    S = max(0, 2 a - n)^2 / n + max(0, 2 b - m)^2 / m,  or infinite if a = n or b = m
    s = the smallest with P(S > s) <= (1 - level) / 2, a ~ Binomial(n, 1/2), b ~ Binomial(m, 1/2)
    lower end = the smallest d for which some x has S <= s

Where d is the true difference and x the second median, a and b are at most binomial, so the lower
end is above the true difference with probability (1 - level) / 2 at most. Rejected are the counts
beyond a staircase, so the lower end is the smallest of the differences of two order statistics, one
for each step. The upper end is the lower one of the second sample against the first, with the other
sign. Ties make the interval wider than necessary.

Sources: Hettmansperger, Two-sample inference based on one-sample sign statistics, Applied
Statistics 33, 1984 (sign tests of both samples; here jointly, and exact); Berger and Boos, P values
maximized over a confidence set for the nuisance parameter, JASA 89, 1994 (every x).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.arrays import Floats

from .agreement import CONSTANT
from .estimates import CONFIDENCE, Estimate, binomial, interpolated


def median_difference(
    first: Sequence[float], second: Sequence[float], level: float = CONFIDENCE
) -> Estimate:
    """Return by how much the median of the first sample is larger. Each: at least one value.

    A value may be infinite: larger, or smaller, than all that were observed. n: of the
    smaller one.
    """
    a, b = np.sort(np.array(first, float)), np.sort(np.array(second, float))
    of_a, of_b = interpolated(a.tolist(), 0.5), interpolated(b.tolist(), 0.5)
    value = None if of_a is None or of_b is None else of_a - of_b
    n = min(len(a), len(b))
    if a[0] == a[-1] and b[0] == b[-1]:
        return Estimate(n, value, reason=CONSTANT)
    tail = (1 - level) / 2
    if _steps(len(a), len(b), tail) is None:
        few = values_needed(tail)
        reason = f"{len(a)} and {len(b)} values give no interval; {few} and {few} do"
        return Estimate(n, value, reason=reason)
    low, high = _lower_end(a, b, tail), -_lower_end(b, a, tail)
    if math.isfinite(low) and math.isfinite(high):
        return Estimate(n, value, low, high)
    floor, ceiling = (end if math.isfinite(end) else None for end in (low, high))
    reason = "it would end at a value beyond all that were observed"
    return Estimate(n, value, reason=reason, floor=floor, ceiling=ceiling)


def values_needed(tail: float) -> int:
    """Return the least number of values of each sample that gives an interval, 0 < tail < 1: all of
    one sample are above, or all of the other below, with probability 2 / 2^n - 1 / 4^n.
    """
    return math.ceil(round(-math.log2(1 - math.sqrt(1 - tail)), 9))


def _lower_end(a: Floats, b: Floats, tail: float) -> float:
    """Return the lower end for two ascending samples; minus infinity where there is none."""
    steps = _steps(len(a), len(b), tail)
    if steps is None:
        return -math.inf
    below = np.flatnonzero(steps >= 0)
    with np.errstate(invalid="ignore"):  # the difference of two infinite values may be anything
        ends = a[len(a) - 1 - steps[below]] - b[below]
    return float(np.where(np.isnan(ends), -np.inf, ends).min())


@cache
def _steps(n: int, m: int, tail: float) -> NDArray[np.int64] | None:
    """Return the most values of the first sample above, for each number of the second below (0 to
    m - 1), that are not rejected; -1: none. None where no region is as small as the tail.
    """
    first = np.array([binomial(n, k, 0.5) for k in range(n + 1)])
    second = np.array([binomial(m, k, 0.5) for k in range(m + 1)])
    more = np.append(np.cumsum(first[::-1])[::-1], 0.0)  # P(a >= k)

    def steps(s: float) -> NDArray[np.int64]:
        room = s - np.maximum(0, 2 * np.arange(m) - m) ** 2 / m
        most = np.floor((n + np.sqrt(n * np.maximum(0, room))) / 2 + 1e-9)
        return np.where(room < -1e-9, -1, np.minimum(most, n - 1)).astype(np.int64)

    def rejects(s: float) -> bool:
        return float(second[m] + np.sum(second[:m] * more[steps(s) + 1])) <= tail

    low, high = 0.0, float(n + m)
    if not rejects(high):
        return None
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if rejects(middle) else (middle, high)
    return steps(high)
