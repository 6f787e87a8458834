"""Subsets of the configurations: percentiles of samples drawn without replacement."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairc.runtime.arrays import Floats

from .estimates import CONFIDENCE, interpolated


def drawn_ranks(n: int, k: int, q: float) -> tuple[int, int]:
    """Return the ranks (from 1) of n values between which the q-quantile of k of them lies.

    The k are drawn without replacement, 1 <= k <= n; the quantile lies in the closed range with a
    probability of at least CONFIDENCE. It interpolates between the drawn values of ranks r and r +
    1, r = floor((k - 1) q) + 1 (Hyndman and Fan, 1996, definition 7), so the range is from the
    lower end for r to the upper end for r + 1.
    """
    place = (k - 1) * q
    rank = math.floor(place) + 1
    above = min(rank + (place > rank - 1), k)
    tail = (1 - CONFIDENCE) / 2
    low = rank + int(np.argmax(_up_to(n, k, rank) > tail))
    return low, max(low, above + int(np.argmax(_up_to(n, k, above) >= 1 - tail)))


def _up_to(n: int, k: int, r: int) -> Floats:
    """Return the probability that the r-th smallest of k drawn is at most the m-th smallest of n.

    For m = r, r + 1, ..., n - k + r. It is the m-th when r - 1 of the m - 1 smaller ones are drawn,
    it, and k - r of the n - m larger ones.
    """
    logs = np.concatenate(([0.0], np.cumsum(np.log(np.arange(1, n + 1)))))
    smaller = np.arange(r - 1, n - k + r)
    larger = n - 1 - smaller
    ways = logs[smaller] - logs[r - 1] - logs[smaller - r + 1]
    ways += logs[larger] - logs[k - r] - logs[larger - k + r]
    return np.cumsum(np.exp(ways - (logs[n] - logs[k] - logs[n - k])))


def enough(values: Sequence[float], q: float, within: float, most: int) -> int | None:
    """Return how many of the values are enough: the least k from which on subsets give nearly the
    same result.

    That is, for every size from k to `most`, the q-quantile of 95 % of all subsets (`drawn_ranks`)
    lies within `within` of that of all values, which are finite. None when not even `most` are
    enough.
    """
    ordered = sorted(values)
    whole = interpolated(ordered, q)
    assert whole is not None, "finite values"
    found = None
    for k in range(most, 1, -1):
        low, high = drawn_ranks(len(ordered), k, q)
        if max(whole - ordered[low - 1], ordered[high - 1] - whole) > within:
            break
        found = k
    return found
