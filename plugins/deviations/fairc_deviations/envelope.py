"""Simulated chains of equal length, and the 95 % envelope of their spectra.

Every simulated chain begins in the stationary distribution, lasts as many rounds as the flow, and
is averaged and counted like it. The envelope holds for all bins of all scales together: the
simulated chains and the flow are ordered by their most extreme count, ties broken by the next one
(extreme rank length), and the envelope is the range of the 95 % that are least extreme. So a flow
that is such a chain is inside with a probability of 95 %, rather than of 95 % at each of a hundred
bins.

Source: Myllymaki, Mrkvicka, Grabarnik, Seijo and Hahn, Global envelope tests for spatial processes,
JRSS B 79, 2017.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .chain import Chain
from .windows import Grid

Ints = NDArray[np.int64]

CHAINS = 1000
LEVEL = 0.95
_BLOCK = 256  # rounds whose random numbers are drawn at once


@dataclass(frozen=True, slots=True)
class Envelope:
    """The counts of 95 % of the simulated chains in each bin, by scale, and where the flow stands.

    low, high: counts, shape (bins + 2,). p: share of all chains, the flow among them, that are at
    least as extreme as the flow. inside: whether it is one of the 95 % that are least extreme: p >
    0.05.
    """

    low: Mapping[int, Ints]
    high: Mapping[int, Ints]
    inside: bool
    p: float


def simulate(
    chain: Chain,
    rounds: int,
    grids: Mapping[int, Grid],
    seed: tuple[int, ...],
    chains: int = CHAINS,
) -> dict[int, Ints]:
    """Return the counts of simulated chains, by scale, shape (chains, bins + 2); the same for the
    same seed.

    grids: scale -> bins. All chains step together.
    """
    random = np.random.default_rng(seed)
    size = len(chain.p)
    # Where a chain goes from each window, first without a loss and then with one.
    onward = np.concatenate([chain.up, chain.down]) - 1
    at = random.choice(size, chains, p=chain.stationary)
    total = np.zeros(chains, np.int64)
    begun = {scale: total.copy() for scale in grids}
    counts = {scale: np.zeros((chains, len(g.edges) + 1), np.int64) for scale, g in grids.items()}
    everyone = np.arange(chains)
    for first in range(0, rounds, _BLOCK):
        drawn = random.random((min(_BLOCK, rounds - first), chains))
        for number, u in enumerate(drawn, first + 1):
            total += at
            at = onward[at + size * (u < chain.p[at])]
            for scale, bins in grids.items():
                if number % scale == 0:
                    means = (total - begun[scale]) / scale + 1  # states count from 0
                    counts[scale][everyone, bins.place(means)] += 1
                    begun[scale] = total.copy()
    return counts


def envelope(simulated: Mapping[int, Ints], measured: Mapping[int, Ints]) -> Envelope:
    """Return the envelope of simulated counts, and whether the measured ones are inside; both by
    scale.
    """
    scales = sorted(simulated)
    own = np.concatenate([measured[scale] for scale in scales])
    curves = np.concatenate([simulated[scale] for scale in scales], axis=1)
    curves = np.concatenate([curves, own[None, :]])
    order = _extremeness(curves)
    p = float(np.mean(order >= order[-1]))
    inside = p > 1 - LEVEL
    least = np.argsort(order, kind="stable")[: int(np.ceil(LEVEL * len(curves)))]
    kept = curves[least if inside else least[least != len(curves) - 1]]
    low, high = kept.min(axis=0), kept.max(axis=0)
    borders = np.cumsum([simulated[scale].shape[1] for scale in scales])[:-1]
    return Envelope(
        low=dict(zip(scales, np.split(low, borders), strict=True)),
        high=dict(zip(scales, np.split(high, borders), strict=True)),
        inside=inside,
        p=p,
    )


def _extremeness(curves: Ints) -> Ints:
    """Return the rank of each curve by how extreme it is; equal curves share one.

    curves: (curves, bins).
    """
    from scipy.stats import rankdata

    ranks = rankdata(curves, axis=0)
    outer = np.sort(np.minimum(ranks, len(curves) + 1 - ranks), axis=1)
    _, place = np.unique(outer, axis=0, return_inverse=True)  # rows in lexicographic order
    # Lexicographically smaller rows are more extreme.
    return np.asarray(place.max() - place.reshape(-1), np.int64)
