"""Averages of the window over n rounds, and their empirical spectrum.

    k_n = floor(N / n) disjoint windows of n rounds, from the first round on
    f_n(alpha) = ln(count of windows with their mean in the bin of alpha / k_n) / n, less its
    maximum

Source: Loiseau et al., Performance Evaluation 67, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FEWEST, _MOST = 5, 40


@dataclass(frozen=True, slots=True)
class Grid:
    """Bins of equal width between two means, with one open bin below and one above.

    edges: shape (bins + 1,), packets, ascending. A value on an edge belongs to the bin above it; on
    the last edge, to the last bin.
    """

    edges: Floats

    @property
    def centres(self) -> Floats:
        """The middle of each bin of equal width, packets."""
        middle: Floats = (self.edges[:-1] + self.edges[1:]) / 2
        return middle

    def place(self, means: Floats) -> Ints:
        """Return the bin of each mean; 0 and bins + 1 are the open ones."""
        found = np.searchsorted(self.edges, means, side="right")
        found[means == self.edges[-1]] -= 1
        return found

    def count(self, means: Floats) -> Ints:
        """Return how many means lie in each bin, open ones at both ends included; shape (bins +
        2,).
        """
        return np.bincount(self.place(means), minlength=len(self.edges) + 1)

    def widened(self, means: Floats) -> Grid:
        """Return the bins with more of the same width at both ends, so that every mean lies in
        one.
        """
        width = self.edges[1] - self.edges[0]
        below = max(0, int(np.ceil((self.edges[0] - means.min()) / width)))
        above = max(0, int(np.ceil((means.max() - self.edges[-1]) / width)))
        first = self.edges[0] - width * np.arange(below, 0, -1)
        last = self.edges[-1] + width * np.arange(1, above + 1)
        return Grid(np.concatenate([first, self.edges, last]))


def averages(window: Ints, scale: int) -> Floats:
    """Return the means of the windows of `scale` rounds, shape (floor(N / scale),), packets."""
    count = len(window) // scale
    means: Floats = window[: count * scale].reshape(count, scale).mean(axis=1)
    return means


def grid(low: float, high: float, count: int, beyond: int = 0) -> Grid:
    """Return bins between two means for a number of windows k: 2 k^(1/3) (Rice's rule), 5 to 40.

    beyond: how many more of the same width at each end.
    """
    bins = int(np.clip(round(2 * count ** (1 / 3)), _FEWEST, _MOST))
    width = (high - low) / bins
    edges: Floats = low + width * np.arange(-beyond, bins + beyond + 1, dtype=np.float64)
    return Grid(edges)


def spectrum(counts: NDArray[np.number], windows: int, scale: int) -> Floats:
    """Return ln(count / k_n) / n of each bin; NaN where it is empty.

    The maximum is not subtracted.
    """
    share = np.where(counts > 0, counts, np.nan) / windows
    logarithm: Floats = np.log(share) / scale
    return logarithm
