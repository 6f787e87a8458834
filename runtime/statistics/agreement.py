"""Do two samples agree within a margin? The shift between them, with its interval, against the
margin.

The interval decides, not a test of difference: with few values, finding nothing says little, and
with many, every difference is found, however small.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Literal

import numpy as np

from .estimates import CONFIDENCE, Estimate, of_ranks
from .two_samples import EXACT_VALUES, subset_sums

Verdict = Literal["agree", "differ", "cannot tell"]
AGREE, OPEN = "agree", "cannot tell"


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of two samples: shift of the second against the first, margin >= 0, and why."""

    verdict: Verdict
    shift: Estimate
    margin: float
    reason: str


def agreement(first: Sequence[float], second: Sequence[float], margin: float) -> Agreement:
    """Judge two samples with at least one value each.

    agree: the 95 % interval of the shift lies within -margin to margin (two one-sided tests, each
    at 2.5 %). differ: it lies outside. cannot tell: neither, or there is no interval. Without one,
    identical samples agree, and samples of more than one value that do not vary are judged by the
    shift itself.

    Source: Schuirmann, A comparison of the two one-sided tests procedure and the power approach for
    assessing the equivalence of average bioavailability, 1987, with the interval of `shift`.
    """
    found = shift(first, second)
    if list(first) == list(second):
        return Agreement("agree", found, margin, "identical")
    if found.value is None:
        reason = "values that are larger than all that were observed leave the shift open"
        return Agreement("cannot tell", found, margin, reason)
    if found.low is None or found.high is None:
        if found.reason != CONSTANT or min(len(first), len(second)) == 1:
            reason = (
                found.reason
                if found.reason != CONSTANT
                else "a single value says nothing about chance"
            )
            return Agreement("cannot tell", found, margin, reason)
        inside = abs(found.value) <= margin
        return Agreement("agree" if inside else "differ", found, margin, CONSTANT)
    if -margin <= found.low and found.high <= margin:
        return Agreement("agree", found, margin, "")
    if found.low > margin or found.high < -margin:
        return Agreement("differ", found, margin, "")
    reason = f"the interval crosses the margin with {len(first)} and {len(second)} values"
    return Agreement("cannot tell", found, margin, reason)


CONSTANT = "neither sample varies"


def shift(first: Sequence[float], second: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return by how much the second sample is larger: the median of all differences, with interval.

    The ends are the k-th smallest and k-th largest difference, k the largest with P(U <= k - 1) at
    most (1 - level) / 2 for the Mann-Whitney U of samples of one distribution; exact up to
    EXACT_VALUES values in all, else by its normal approximation. It assumes that the distributions
    have the same shape; ties make the interval wider than necessary. n: of both together. No value,
    or no interval, where it would fall on a value that is infinite, or on the difference of two.

    Source: Hodges and Lehmann, Estimates of location based on rank tests, 1963; Lehmann,
    Nonparametrics, 1975, section 2.5.
    """
    n, m = len(first), len(second)
    with np.errstate(invalid="ignore"):  # the difference of two infinite values may be anything
        table = np.subtract.outer(np.array(second, float), np.array(first, float))
    differences = table.ravel().tolist()
    value = of_ranks(differences, 0.5, None, "").value
    if min(first) == max(first) and min(second) == max(second):
        return Estimate(n + m, value, reason=CONSTANT)
    k = _rank(n, m, (1 - level) / 2)
    if k < 1:
        reason = f"{n} and {m} values give no interval; 4 and 4 do"
        return Estimate(n + m, value, reason=reason)
    return replace(of_ranks(differences, 0.5, (k, n * m + 1 - k), ""), n=n + m)


def _rank(n: int, m: int, tail: float) -> int:
    """Return the largest k with P(U <= k - 1) <= tail; 0 if there is none."""
    if n + m > EXACT_VALUES:
        deviation = math.sqrt(n * m * (n + m + 1) / 12)
        return math.floor(n * m / 2 - 0.5 + NormalDist().inv_cdf(tail) * deviation) + 1
    sums = subset_sums(np.arange(1, n + m + 1), n)
    chances = np.cumsum(sums[n * (n + 1) // 2 :]) / math.comb(n + m, n)  # of U = 0, 1, ...
    return int(np.searchsorted(chances, tail, side="right"))
