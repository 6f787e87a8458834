"""First-order stochastic dominance of one sample's distribution over another's.

a dominates b when F_a(x) <= F_b(x) everywhere and < somewhere: at every level, a is at least as
likely to exceed it. Two one-sided two-sample Kolmogorov-Smirnov tests decide, each at 5 %:

    against a: max (F_a - F_b) is too large for F_a <= F_b
    against b: max (F_b - F_a) is too large for F_b <= F_a

a dominates when there is evidence against b and none against a. Evidence against both: the
distributions cross. Against neither: not decided. "None against a" is no proof: with few values
only a large crossing would be seen, so `crossing`, the largest step of the sample the other way, is
kept.

p is exact for continuous distributions (paths on the lattice of both samples), and too large, so on
the safe side, with ties; for large samples p = exp(-2 D^2 n m / (n + m)).

Source: McFadden, Testing for stochastic dominance, 1989; Smirnov, Annals of Mathematical
Statistics 19, 1948 (limit); Hodges, Arkiv foer Matematik 3, 1958, section 3 (lattice).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

LEVEL = 0.05
_EXACT_PAIRS = 40_000

Side = Literal["first", "second", "crossing", "undecided"]


@dataclass(frozen=True, slots=True)
class Dominance:
    """side: which sample dominates. p_first: of the test that would speak against the first
    dominating, p_second: against the second. crossing: max (F_d - F_o) of the dominating sample d
    over the other o; 0 means that the samples show no exception; None if neither dominates.
    """

    side: Side
    p_first: float
    p_second: float
    crossing: float | None


def dominance(a: Sequence[float], b: Sequence[float]) -> Dominance:
    """Return which of two samples dominates. a, b: at least one value each."""
    x, y = np.sort(np.array(a, np.float64)), np.sort(np.array(b, np.float64))
    n, m = len(x), len(y)
    at = np.concatenate((x, y))
    # In integers: differences of the distribution functions times n m.
    steps = np.searchsorted(x, at, "right") * m - np.searchsorted(y, at, "right") * n
    against_a, against_b = max(0, int(steps.max())), max(0, int((-steps).max()))
    p_first, p_second = _p(against_a, n, m), _p(against_b, m, n)
    side: Side = "undecided"
    if p_first < LEVEL and p_second < LEVEL:
        side = "crossing"
    elif p_second < LEVEL:
        side = "first"
    elif p_first < LEVEL:
        side = "second"
    crossing = {"first": against_a / (n * m), "second": against_b / (n * m)}.get(side)
    return Dominance(side, p_first, p_second, crossing)


def _p(height: int, n: int, m: int) -> float:
    """Return P(max (F_n - G_m) >= height / (n m)) under equal continuous distributions."""
    if height <= 0:
        return 1.0
    if n * m > _EXACT_PAIRS:
        return math.exp(-2 * (height / (n * m)) ** 2 * n * m / (n + m))
    # Paths from (0, 0) to (n, m) that keep i m - j n < height, as shares of all of them so that
    # nothing overflows: row i holds, over j, the paths that reach (i, j), divided by C(i + m, m).
    j = np.arange(m + 1)
    row = np.ones(m + 1)
    for i in range(1, n + 1):
        row[i * m - j * n >= height] = 0.0
        row = np.cumsum(row)
        row *= i / (i + m)  # C(i - 1 + m, m) / C(i + m, m)
    return float(min(1.0, max(0.0, 1.0 - row[-1])))
