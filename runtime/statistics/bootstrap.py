"""Bootstrap intervals: of a mean (BCa), for skewed values where Student's does not hold; of a
quantile.

    G: distribution of the means of B resamples, drawn with replacement
    z0 = Phi^-1(share of them below the mean; half of those equal to it)
    a  = sum (m. - m_i)^3 / (6 (sum (m. - m_i)^2)^1.5),  m_i: mean without value i, m.: their mean
    ends: the quantiles of G at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z = Phi^-1(0.025),
    Phi^-1(0.975)

Second-order accurate; the resamples are drawn from a fixed seed, so the same values give the same
interval. Below MIN_VALUES the resamples know too little about the tails.

A quantile's interval is that of the resamples' quantiles, without correction: its jackknife, which
BCa needs, is not consistent.

Source: Efron, Better bootstrap confidence intervals, JASA 82, 1987; DiCiccio and Efron, Bootstrap
confidence intervals, Statistical Science 11, 1996, section 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import NormalDist

import numpy as np

RESAMPLES = 9999
MIN_VALUES = 10
_SEED = 1987
_DRAWN_AT_ONCE = 2_000_000
_NORMAL = NormalDist()


def bca_mean(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Return the interval of the mean. values: n >= 2, not all equal; confidence: below 1."""
    x = np.array(values, np.float64)
    x = (x - (centre := x.mean())) / (scale := x.std())  # so that nothing over- or underflows
    resamples = _resamples(x, np.random.PCG64(_SEED))
    means = np.concatenate([rows.mean(axis=1) for rows in resamples])
    below = (np.sum(means < 0) + 0.5 * np.sum(means == 0)) / RESAMPLES
    # Within one resample of 0 and 1, where the normal quantile is infinite.
    z0 = _NORMAL.inv_cdf(float(np.clip(below, 1 / (RESAMPLES + 1), RESAMPLES / (RESAMPLES + 1))))
    off = x / (len(x) - 1)  # m. - m_i
    acceleration = float(np.sum(off**3) / (6 * np.sum(off**2) ** 1.5))

    def end(share: float) -> float:
        z = z0 + _NORMAL.inv_cdf(share)
        at = _NORMAL.cdf(z0 + z / (1 - acceleration * z))
        return float(centre + scale * np.quantile(means, at))

    return end((1 - confidence) / 2), end((1 + confidence) / 2)


def quantile_interval(
    values: Sequence[float], q: float, confidence: float, seed: int
) -> tuple[float, float]:
    """Return the interval of the q-quantile (by linear interpolation), 0 < q < 1; seed: of the
    resamples.
    """
    x = np.sort(np.array(values, np.float64))
    found = np.concatenate(
        [np.quantile(rows, q, axis=1) for rows in _resamples(x, np.random.PCG64(seed))]
    )
    low, high = np.quantile(found, ((1 - confidence) / 2, (1 + confidence) / 2))
    return float(low), float(high)


def _resamples(x: np.ndarray, bits: np.random.PCG64) -> Iterator[np.ndarray]:
    """Yield resamples of x, drawn with replacement, several at once: shape (several, len(x))."""
    draw = np.random.Generator(bits)
    step = max(1, _DRAWN_AT_ONCE // len(x))
    for done in range(0, RESAMPLES, step):
        yield x[draw.integers(0, len(x), (min(step, RESAMPLES - done), len(x)))]
