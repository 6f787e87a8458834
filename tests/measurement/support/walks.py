"""A flow that is the chain of large deviations, step by step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairc_deviations.losses import bernoulli

P = bernoulli(0.005, 60)


def walk(
    p: NDArray[np.float64], total: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Windows and losses of the chain, step by step."""
    random, w = np.random.default_rng(seed), 10
    windows, losses = np.empty(total, np.int64), np.empty(total, np.bool_)
    for i in range(total):
        windows[i], losses[i] = w, random.random() < p[w - 1]
        w = max(w // 2, 1) if losses[i] else min(w + 1, len(p))
    return windows, losses
