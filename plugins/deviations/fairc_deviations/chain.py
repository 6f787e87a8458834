"""The congestion window of Reno as a Markov chain, and its large-deviations spectrum.

From w in {1 .. wmax} the chain goes to max(floor(w/2), 1) with probability p(w), else to min(w+1,
wmax).

    A(q)_ij   = exp(q j) P_ij
    Lambda(q) = ln(spectral radius of A(q))
    alpha(q)  = sum_j j l_j r_j / sum_j l_j r_j       l, r: left and right Perron vectors of A(q)
    f(alpha)  = Lambda(q) - q alpha(q)                <= 0, and 0 only at the mean

alpha is the derivative of Lambda (Hellmann-Feynman), so nothing is differentiated numerically.
Perron vectors by Noda's iteration (Numerische Mathematik 17, 1971), which converges quadratically
from above and needs one sparse factorisation per step.

Source: Loiseau et al., Performance Evaluation 67, 2010; Dembo and Zeitouni, Large Deviations
Techniques and Applications, section 3.1.2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STEPS = 60  # of Noda's iteration; it needs fewer than 15
_CLOSE = 1e-13
_RESIDUAL = 1e-9
_TOO_STEEP = 700.0  # exp of more overflows a double


class ChainError(Exception):
    """A chain that has no spectrum; the message says why."""


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the spectrum: slope q, Lambda(q), alpha(q) in packets, f(alpha(q))."""

    q: float
    growth: float
    alpha: float
    f: float


class Chain:
    """The chain with loss probability p(w), shape (wmax,); p[0] is that of a window of one packet.

    Only recurrent windows count. Raises ChainError where they form two classes, the window never
    varies, or the chain is periodic.
    """

    def __init__(self, p: Floats) -> None:
        if not len(p) or not np.all((p >= 0) & (p <= 1)):
            raise ValueError("p must hold probabilities, one for each window")
        self.p = p
        self.windows = np.arange(1, len(p) + 1)
        self.up = np.minimum(self.windows + 1, len(p))
        self.down = np.maximum(self.windows // 2, 1)
        self.recurrent = _recurrent(p, self.up, self.down)
        states = np.flatnonzero(self.recurrent) + 1
        if len(states) == 1:
            raise ChainError(f"the chain ends in a window of {states[0]} packets and stays there")
        period = _period(p, self.up, self.down, states)
        if period > 1:
            raise ChainError(f"the chain is periodic: it returns every {period} rounds")
        self._states = states
        place = np.full(len(p) + 1, -1)
        place[states] = np.arange(len(states))
        loss = p[states - 1]
        source = np.concatenate([np.arange(len(states))] * 2)
        target = np.concatenate([self.up[states - 1], self.down[states - 1]])
        weight = np.concatenate([1 - loss, loss])
        taken = weight > 0
        self._source = source[taken]
        self._target = place[target[taken]]
        self._weight = weight[taken]

    @cached_property
    def stationary(self) -> Floats:
        """The share of rounds at each window in the long run, shape (wmax,)."""
        left, right, _ = self._perron(0.0)
        share = np.zeros(len(self.p))
        share[self._states - 1] = left * right / (left @ right)
        return share

    @property
    def mean(self) -> float:
        """The mean window, packets."""
        return self.middle.alpha

    @cached_property
    def middle(self) -> Point:
        """The point at the mean window."""
        return self.at(0.0)

    def at(self, q: float) -> Point:
        """Return the point of the spectrum with slope q.

        Raises FloatingPointError if it is too steep.
        """
        left, right, growth = self._perron(q)
        mass = left * right
        alpha = float(self._states @ mass / mass.sum())
        # Rounding must not make f positive, or lift it off its zero at the mean.
        f = min(0.0, growth - q * alpha) if q else 0.0
        return Point(q, growth, alpha, f)

    def of(self, alpha: float) -> Point:
        """Return the point at a mean window, packets.

        Raises ValueError for one that the chain reaches with no probability that a double can hold.
        """
        if alpha == self.mean:
            return self.middle
        side = 1.0 if alpha > self.mean else -1.0
        found = self._towards(side, lambda point: side * (point.alpha - alpha))
        if found is None:
            raise ValueError(f"a mean window of {alpha:g} packets is out of the chain's reach")
        return found

    def observable(self, rounds: int, scale: int) -> tuple[Point, Point]:
        """Return the points at alpha_min and alpha_max: k_n = floor(rounds / scale) = exp(-scale
        f).

        By root finding on q, each side on its own. Where no window average is too rare, the end of
        the chain's range. scale: n, rounds.
        """
        level = -math.log(rounds // scale) / scale
        return self._level(-1.0, level), self._level(1.0, level)

    def curve(self, low: Point, high: Point, points: int) -> list[Point]:
        """Return points of the spectrum between two of its points, evenly spread over q on each
        side of 0.
        """
        half = points // 2
        slopes = {*np.linspace(low.q, 0.0, half + 1), *np.linspace(0.0, high.q, half + 1)}
        return [self.at(float(q)) for q in sorted(slopes)]

    def _level(self, side: float, level: float) -> Point:
        found = self._towards(side, lambda point: level - point.f)
        return self._farthest(side) if found is None else found

    @cached_property
    def _sides(self) -> dict[float, list[Point]]:
        """The points of each side between which to look for others, from the middle outwards, as
        far as a double can hold them.
        """
        first, sides = 1e-3 / float(self._states[-1]) ** 2, {}
        for side in (-1.0, 1.0):
            points = sides[side] = [self.middle]
            with suppress(FloatingPointError):
                for n in range(60):
                    points.append(self.at(side * first * 2.0**n))
        return sides

    def _towards(self, side: float, beyond: Callable[[Point], float]) -> Point | None:
        """Return the point towards one side at which `beyond` rises to zero, or None."""
        from scipy.optimize import brentq

        last = self.middle
        if beyond(last) >= 0:
            return last
        for point in self._sides[side]:
            if beyond(point) >= 0:
                find: Any = brentq  # its stubs accept only numpy's numbers
                return self.at(
                    float(
                        find(lambda x: beyond(self.at(x)), last.q, point.q, xtol=1e-15, rtol=1e-12)
                    )
                )
            last = point
        return None

    def _farthest(self, side: float) -> Point:
        """Return the last point on one side that a double can hold."""
        return self._sides[side][-1]

    def _perron(self, q: float) -> tuple[Floats, Floats, float]:
        """Return left and right Perron vectors of A(q), and Lambda(q).

        Raises FloatingPointError.
        """
        from scipy.sparse import csc_array, eye_array
        from scipy.sparse.linalg import splu

        states, size = self._states, len(self._states)
        base = float(states[-1] if q > 0 else states[0])
        if abs(q) * float(states[-1] - states[0]) > _TOO_STEEP:
            raise FloatingPointError("exp(q w) is out of range")
        weight = self._weight * np.exp(q * (states[self._target] - base))
        a = csc_array((weight, (self._source, self._target)), shape=(size, size))
        identity = eye_array(size, format="csc")
        right = left = np.ones(size)
        with np.errstate(all="ignore"):
            image = a @ right
            top = float((image / right).max())
            for _ in range(_STEPS):
                # A little above, so that the matrix can be factored even if top is the eigenvalue
                # itself.
                shift = top * (1 + _CLOSE)
                factors = splu(
                    csc_array(shift * identity - a), permc_spec="COLAMD", diag_pivot_thresh=0.0
                )
                solved = factors.solve(right)
                left = np.abs(factors.solve(left, trans="T"))
                if not (np.all(np.isfinite(solved)) and np.all(solved > 0)):
                    break
                closer = shift - float((right / solved).min())
                right = solved / solved.max()
                left = left / left.max()
                settled = not closer < top * (1 - 10 * _CLOSE)
                top = min(top, closer)
                if settled:
                    break
            # The left vector has gone through as many steps with the same shifts. Windows that are
            # hardly ever reached may be zero in it, which does not change the mean over l r.
            scale = top * float(left @ right)
            missed = float(left @ np.abs(a @ right - top * right)) / scale
            missed += float(np.abs(a.T @ left - top * left) @ right) / scale
        if not missed < _RESIDUAL:
            raise FloatingPointError("the Perron vectors do not fit into doubles")
        return left, right, math.log(top) + q * base


def _recurrent(p: Floats, up: Ints, down: Ints) -> NDArray[np.bool_]:
    """Return the recurrent windows. Raises ChainError for two classes."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = len(p)
    here = np.arange(size)
    source = np.concatenate([here[p < 1], here[p > 0]])
    target = np.concatenate([up[p < 1], down[p > 0]]) - 1
    graph = coo_array((np.ones(len(source)), (source, target)), shape=(size, size))
    count, component = connected_components(graph.tocsr(), connection="strong")
    leaving = np.zeros(count, np.bool_)
    leaving[component[source[component[source] != component[target]]]] = True
    closed = np.flatnonzero(~leaving)
    if len(closed) > 1:
        raise ChainError(f"the chain falls into {len(closed)} sets of windows that it never leaves")
    return np.asarray(component == closed[0], np.bool_)


def _period(p: Floats, up: Ints, down: Ints, states: Ints) -> int:
    """Return the greatest common divisor of the lengths of all cycles among recurrent windows."""
    level = {int(states[0]): 0}
    waiting = [int(states[0])]
    found = 0
    for w in waiting:
        after = [int(up[w - 1])] * bool(p[w - 1] < 1) + [int(down[w - 1])] * bool(p[w - 1] > 0)
        for to in after:
            if to in level:
                found = math.gcd(found, level[w] + 1 - level[to])
            else:
                level[to] = level[w] + 1
                waiting.append(to)
    return found
