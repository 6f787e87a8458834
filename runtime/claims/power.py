"""The number of repetitions that would decide an undecided claim with a power of 80 %, as a range.

The share p of values beyond the bound determines how soon order statistics pass it: n repetitions
decide with probability P(Binomial(n, p) reaches the rank). p is estimated from the available
repetitions by its 95 % interval (Clopper and Pearson), and each end of that interval gives an end
of the range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from fairc.runtime.statistics.distributions import binomial_below
from fairc.runtime.statistics.estimates import quantile_ranks

from .intervals import CONSTANT, Quantity, clopper_pearson

POWER = 0.8
KNOWN = 0.95
"""Level of the interval of the share of values beyond a bound."""
EXACT = 400
"""Up to this many repetitions the binomial distribution is used, beyond them its normal
approximation.
"""
MOST = 1_000_000

Needed = tuple[int, int | None]
"""From, to; None: no end is known, or more than MOST."""


def needed(found: Quantity, low: float | None, high: float | None, level: float) -> Needed | None:
    """Return how many repetitions would decide an undecided quantity, or None if that is unknown,
    or no number would: more values like those that are all equal have no interval either.

    low, high: its bounds, None where it is open. level: of its interval.
    """
    estimate = found.estimate
    if estimate.value is None or estimate.n < 2 or estimate.reason == CONSTANT:
        return None
    ranges = [_of_bound(found, bound, level) for bound in _open(found, low, high)]
    known = [r for r in ranges if r is not None]
    if not known:
        return None
    start, end = _together(known)
    least = max(start, estimate.n + 1)
    return least, None if end is None else max(least, end)


def _open(found: Quantity, low: float | None, high: float | None) -> list[float]:
    """Return the bounds that the interval has not passed: all if there is no interval.

    For a value outside a range, only the nearer bound matters.
    """
    estimate, bounds = found.estimate, [b for b in (low, high) if b is not None]
    value = estimate.value
    assert value is not None
    if low is not None and high is not None and not low <= value <= high:
        return [low if value < low else high]
    if estimate.low is None or estimate.high is None:
        return bounds
    return [b for b in bounds if estimate.low <= b <= estimate.high]


def _of_bound(found: Quantity, bound: float, level: float) -> Needed | None:
    if found.method in ("student", "welch", "sign tests"):
        return _of_width(found, bound, level)
    if found.method == "clopper-pearson":
        return _of_share(found, bound, level)
    value = found.estimate.value
    assert value is not None
    if not found.values or value == bound:
        return None
    above = value > bound
    beyond = sum(x > bound if above else x < bound for x in found.values)
    ends = clopper_pearson(beyond, len(found.values), KNOWN)
    # A quantile q is above a bound when the share of values above it is more than 1 - q.
    share = found.share if above else 1 - found.share
    start, end = (_order_statistics(round(p, 6), share, level) for p in reversed(ends))
    return None if start is None else (start, end)


def _order_statistics(p: float, share: float, level: float) -> int | None:
    """Return the smallest n for which the interval of a quantile passes a bound with probability
    POWER.

    p: share of values beyond the bound. share: the quantile, seen from the side of the bound: the
    lower end of its interval, of rank j, is beyond the bound if at most j - 1 of n values are not.
    None: no n, or more than MOST.
    """
    if p <= 1 - share:
        return None
    for n in range(2, EXACT + 1):
        ranks = quantile_ranks(n, share, level)
        if ranks is not None and binomial_below(ranks[0] - 1, n, 1 - p) >= POWER:
            return n
    spread = _z(level) * math.sqrt(share * (1 - share)) + _POWER_Z * math.sqrt(p * (1 - p))
    return _whole((spread / (p - (1 - share))) ** 2)


def _of_share(found: Quantity, bound: float, level: float) -> Needed | None:
    n = len(found.values)
    ends = clopper_pearson(round(sum(found.values)), n, KNOWN)
    share = sum(found.values) / n
    if share == bound or not 0 < bound < 1:
        return None
    far, near = ends if share < bound else ends[::-1]

    def size(p: float) -> int | None:
        if (p - bound) * (share - bound) <= 0:
            return None
        spread = _z(level) * math.sqrt(bound * (1 - bound)) + _POWER_Z * math.sqrt(p * (1 - p))
        return _whole((spread / (p - bound)) ** 2)

    start = size(far)
    return None if start is None else (start, size(near))


def _of_width(found: Quantity, bound: float, level: float) -> Needed | None:
    """Return the range where the width of an interval falls with the root of n: of means, and of
    medians of independent samples. The interval crosses the bound, so the range has no end.
    """
    estimate = found.estimate
    if estimate.low is None or estimate.high is None or estimate.value in (None, bound):
        return None
    assert estimate.value is not None
    far = estimate.high if estimate.value > bound else estimate.low
    # half = z sigma / sqrt(n), so sigma^2 = n half^2 / z^2.
    half = (estimate.high - estimate.low) / 2
    factor = (1 + _POWER_Z / _z(level)) ** 2
    start = _whole(estimate.n * factor * (half / (far - bound)) ** 2)
    return None if start is None else (start, None)


def _z(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


_POWER_Z = NormalDist().inv_cdf(POWER)


def _whole(n: float) -> int | None:
    return None if n > MOST else max(2, math.ceil(n))


def together(ranges: Sequence[Needed | None]) -> Needed | None:
    """Return the range that decides everything: the largest of each end; None if one is unknown."""
    known = [r for r in ranges if r is not None]
    return _together(known) if known and len(known) == len(ranges) else None


def _together(ranges: Sequence[Needed]) -> Needed:
    """Return the largest of each end of at least one range."""
    ends = [end for _, end in ranges if end is not None]
    return max(start for start, _ in ranges), max(ends) if len(ends) == len(ranges) else None
