"""Tests of a trend: do values increase along an order?

Both tests ask whether values that are exchangeable along the order (the name changes nothing) would
rise as much. They are one-sided; of values that fall, the trend is that of their negatives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairc.runtime.arrays import Floats

from .distributions import normal_below
from .two_samples import EXACT_VALUES, midranks, subset_sums

EXACT_LEVELS = 9
"""Up to this many levels Page's test is exact: the distribution needs every subset of them."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A test of a trend.

    p: that values which are exchangeable along the order rise as much. tau: of all pairs of levels,
    the share in which the later value is larger, less the share in which it is smaller: 1 where
    every value is larger than those before it. exact: whether p is.
    """

    p: float
    tau: float
    exact: bool


def page(blocks: Sequence[Sequence[float]]) -> Trend:
    """Return Page's test for blocks with a value at each level, at least one block and two levels.

    L = sum over blocks and levels of (level x rank within the block); equal values share the mean
    of their ranks. p is the share of all orders of the values within each block with an L as large:
    exact, ties included, up to EXACT_LEVELS levels, beyond by its normal approximation, corrected
    for continuity. Values of a block may depend on each other; blocks do not.

    Source: Page, Ordered hypotheses for multiple treatments: a significance test for linear ranks,
    JASA 58, 1963.
    """
    n, k = len(blocks), len(blocks[0])
    levels = np.arange(1, k + 1)
    doubled = [(2 * midranks(block)).round().astype(np.int64) for block in blocks]
    found = sum(int(levels @ ranks) for ranks in doubled)  # 2 L
    tau = math.fsum(_tau(block) for block in blocks) / n
    if k <= EXACT_LEVELS:
        orders = [tuple(sorted(ranks.tolist())) for ranks in doubled]
        of_block = {order: _of_block(order) for order in set(orders)}  # few: they differ by ties
        chances = np.ones(1)
        for order in orders:
            chances = np.convolve(chances, of_block[order])
        return Trend(_tail(chances, found), tau, exact=True)
    mean = n * k * (k + 1) ** 2 / 2
    of_levels = float(np.var(levels, ddof=1))
    variance = sum(of_levels * float(np.var(ranks)) * k for ranks in doubled)
    z = (found - 1 - mean) / math.sqrt(variance) if variance else -math.inf
    return Trend(normal_below(-z), tau, exact=False)


def jonckheere_terpstra(samples: Sequence[Sequence[float]]) -> Trend:
    """Return the Jonckheere-Terpstra test for independent samples in order, at least one value
    each.

    J = over all pairs of samples, the pairs of values of which the later sample's is larger, so
    that equal values count against the trend, and p is never too small. Exact up to EXACT_VALUES
    values in all, as the sum of independent Mann-Whitney statistics, of each sample against all
    those before it; beyond, by its normal approximation, corrected for continuity.

    Source: Jonckheere, A distribution-free k-sample test against ordered alternatives, Biometrika
    41, 1954; Terpstra, Indagationes Mathematicae 14, 1952; the sum: Odeh, Technometrics 13, 1971.
    """
    sizes = [len(sample) for sample in samples]
    above = below = pairs = 0
    before = np.empty(0)  # in ascending order
    for sample in (np.array(values, float) for values in samples):
        above += int(np.searchsorted(before, sample, "left").sum())
        below += int((before.size - np.searchsorted(before, sample, "right")).sum())
        pairs += before.size * sample.size
        before = np.sort(np.concatenate([before, sample]))
    tau = (above - below) / pairs
    if sum(sizes) <= EXACT_VALUES:
        chances = np.ones(1)
        for i, size in enumerate(sizes[1:], 1):
            chances = np.convolve(chances, _of_pair(sum(sizes[:i]), size))
        return Trend(_tail(chances, above), tau, exact=True)
    total = sum(sizes)
    mean = (total**2 - sum(n**2 for n in sizes)) / 4
    variance = (total**2 * (2 * total + 3) - sum(n**2 * (2 * n + 3) for n in sizes)) / 72
    z = (above - 0.5 - mean) / math.sqrt(variance)
    return Trend(normal_below(-z), tau, exact=False)


def _tau(values: Sequence[float]) -> float:
    """Return Kendall's tau-a of values with their order."""
    column = np.array(values, float)
    later, earlier = np.triu_indices(len(column), 1)[::-1]
    up, down = column[later] > column[earlier], column[later] < column[earlier]
    return (int(up.sum()) - int(down.sum())) / len(later)


def _of_block(ranks: tuple[int, ...]) -> Floats:
    """Return the chances of the sum of (level x rank), from 0 on, where all orders are alike.

    Level by level: a set of the ranks that are taken -> how often each sum occurs.
    """
    k = len(ranks)
    top = sum(level * rank for level, rank in enumerate(ranks, 1))
    ways = np.zeros((1 << k, top + 1))
    ways[0, 0] = 1
    for taken in range(1 << k):  # a subset comes before those that contain it
        level = taken.bit_count() + 1
        for place, rank in enumerate(ranks):
            if not taken >> place & 1:
                by = level * rank
                ways[taken | 1 << place, by:] += ways[taken, : top + 1 - by]
    return np.asarray(ways[-1] / math.factorial(k), np.float64)


def _of_pair(n: int, m: int) -> Floats:
    """Return the chances of the Mann-Whitney statistic of n and m values of one distribution."""
    sums = subset_sums(np.arange(1, n + m + 1), n)
    return np.asarray(sums[n * (n + 1) // 2 :], np.float64) / math.comb(n + m, n)


def _tail(chances: Floats, found: int) -> float:
    """Return the chance of at least what was found."""
    return min(1.0, math.fsum(chances[found:].tolist()))
