"""Loss probability by window: p(w), counted with Wilson's interval, fitted, and modelled.

Counted: rounds with an entry / rounds, of all rounds at w. Windows that were never visited are
interpolated linearly between visited neighbours; below the smallest visited one, p is that
window's. A window that was always left downwards would keep the chain below it, and the largest
one, if it never had a loss, would trap it for ever, though the flow moved on: there p is the middle
of Wilson's interval, (losses + z^2 / 2) / (visits + z^2).

Bernoulli: p(w) = 1 - (1 - p_pkt)^w, p_pkt fitted by maximum likelihood to the rounds counted.

Gaussian: p(w) = 1/2 (1 - erf((C - (w S / RTT + mu)) / (sigma sqrt 2))), cross traffic of mean mu
and standard deviation sigma at the time scale of the buffer, both from the plan (`cross`).

Source: Wilson, JASA 22, 1927; Loiseau et al., Performance Evaluation 67, 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

_Z = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Counted:
    """Visits and losses of each window 1 .. wmax, the largest visited; shape (wmax,)."""

    visits: Ints
    losses: Ints

    @property
    def visited(self) -> Bools:
        """Which windows were visited."""
        return np.asarray(self.visits > 0, np.bool_)

    @property
    def share(self) -> Floats:
        """Losses of each window over its visits; NaN where it was not visited."""
        unknown = np.full(len(self.visits), np.nan)
        found: Floats = np.divide(self.losses, self.visits, out=unknown, where=self.visited)
        return found

    @property
    def p(self) -> Floats:
        """p(w) of the chain: no window traps it, and those never visited are interpolated."""
        seen = np.flatnonzero(self.visited)
        share, n = self.share[seen], self.visits[seen]
        shut = np.where(seen == len(self.visits) - 1, share == 0, share == 1)
        middle = (self.losses[seen] + _Z**2 / 2) / (n + _Z**2)
        found: Floats = np.interp(np.arange(len(self.visits)), seen, np.where(shut, middle, share))
        return found

    @property
    def interval(self) -> tuple[Floats, Floats]:
        """Wilson's 95 % interval of p(w); NaN where a window was not visited."""
        low, high = np.full((2, len(self.visits)), np.nan)
        seen = self.visited
        low[seen], high[seen] = wilson(self.losses[seen], self.visits[seen])
        return low, high


def counted(window: Ints, lost: Bools) -> Counted:
    """Count visits and losses of windows. window: shape (N,), >= 1; lost: shape (N,)."""
    most = int(window.max())
    return Counted(
        np.bincount(window, minlength=most + 1)[1:],
        np.bincount(window[lost], minlength=most + 1)[1:],
    )


def wilson(hits: Ints, of: Ints) -> tuple[Floats, Floats]:
    """Return Wilson's 95 % interval of a probability, of > 0."""
    share, z2 = hits / of, _Z**2
    centre = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z / (1 + z2 / of) * np.sqrt(share * (1 - share) / of + z2 / (4 * of.astype(float) ** 2))
    return np.maximum(0.0, centre - half), np.minimum(1.0, centre + half)


def bernoulli(p_packet: float, largest: int) -> Floats:
    """Return p(w) of independent packet losses, shape (largest,)."""
    found: Floats = -np.expm1(np.arange(1, largest + 1) * np.log1p(-p_packet))
    return found


def fit_bernoulli(found: Counted) -> float | str:
    """Return the packet loss probability under which the rounds are most likely, or why there is
    none.
    """
    from scipy.optimize import brentq

    w = np.arange(1, len(found.visits) + 1, dtype=np.float64)
    kept = float(w @ (found.visits - found.losses))  # packets of rounds without a loss
    if not found.losses.any():
        return "no losses, so there is no probability to fit"
    if kept == 0:
        return "every round had a loss, so there is no probability to fit"
    hit = found.losses > 0
    packets, times = w[hit], found.losses[hit]

    def score(rate: float) -> float:
        """Return the derivative of the log likelihood with respect to rate = -ln(1 - p_pkt)."""
        return float(times @ (packets / np.expm1(packets * rate))) - kept

    low, high = 1e-15, 1.0
    while score(high) > 0:
        high *= 2
    root: Any = brentq(score, low, high, xtol=1e-16)
    return float(-np.expm1(-root))


def gaussian(
    capacity_bps: float, mean_bps: float, deviation_bps: float, round_bps: float, largest: int
) -> Floats:
    """Return p(w) under cross traffic with a normal rate, shape (largest,).

    round_bps: rate of a window of one packet, S / RTT. All rates are on the wire. With a deviation
    of zero, p is a step.
    """
    from scipy.special import erf

    left = capacity_bps - mean_bps - round_bps * np.arange(1, largest + 1)
    if deviation_bps == 0:
        return np.where(left > 0, 0.0, np.where(left < 0, 1.0, 0.5))
    found: Floats = 0.5 * (1 - erf(left / (deviation_bps * np.sqrt(2.0))))
    return found
