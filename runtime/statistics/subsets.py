"""What a subset of the configurations would have shown: percentiles of samples drawn without
replacement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .estimates import CONFIDENCE


def drawn_ranks(n: int, k: int, q: float) -> tuple[int, int]:
    """Return the ranks (from 1) of n values between which the q-quantile of k of them lies.

    The k are drawn without replacement, 1 <= k <= n; the quantile lies in the closed range with a
    probability of at least CONFIDENCE. It interpolates between the drawn values of ranks r and r +
    1, r = floor((k - 1) q) + 1 (Hyndman and Fan, 1996, definition 7), so the range is from the
    lower end for r to the upper end for r + 1. The r-th smallest of the drawn is at most the m-th
    smallest of all exactly when at least r of the m smallest are drawn: H >= r with H
    hypergeometric(n, m, k).
    """
    from scipy.stats import hypergeom

    place = (k - 1) * q
    rank = math.floor(place) + 1
    above = min(rank + (place > rank - 1), k)
    tail = (1 - CONFIDENCE) / 2
    # P(r-th of the drawn <= m-th of all) = P(H >= r), which grows with m.
    ranks = np.arange(rank, n + 1)
    low = rank + int(np.argmax(hypergeom.sf(rank - 1, n, ranks, k) > tail))
    reached = hypergeom.sf(above - 1, n, ranks, k) >= 1 - tail
    return low, max(low, rank + int(np.argmax(reached)))


def enough(values: Sequence[float], q: float, within: float, most: int) -> int | None:
    """Return how many of the values are enough: the least k from which on subsets give nearly the
    same result.

    That is, for every size from k to `most`, the q-quantile of 95 % of all subsets (`drawn_ranks`)
    lies within `within` of that of all values. None when not even `most` are enough.
    """
    ordered = sorted(values)
    whole = quantile(ordered, q)
    found = None
    for k in range(most, 1, -1):
        low, high = drawn_ranks(len(ordered), k, q)
        if max(whole - ordered[low - 1], ordered[high - 1] - whole) > within:
            break
        found = k
    return found


def quantile(ordered: Sequence[float], q: float) -> float:
    """Return the q-quantile of sorted values by linear interpolation (definition 7)."""
    place = (len(ordered) - 1) * q
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])
