"""Drawing by hash: which configurations `sample` keeps, and the order of `order = shuffled`.

Every configuration gets a number that depends on the experiment's seed and on its own values
(those behind `of`) alone, so the draw is the same on every machine, and adding a value to a sweep
changes little of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from operator import itemgetter

from fairc.dsl.core.values import Value, shown

Bindings = dict[str, Value]
Point = tuple[Bindings, tuple[int, ...]]
"""A configuration: its bindings, and the repetitions that it keeps."""

SLACK = 1000
"""Candidates held beyond the wanted number before the surplus is dropped."""

_Drawn = dict[int, list[tuple[int, Point]]]
"""Candidates by their random numbers, with their places in the grid."""


@dataclass(frozen=True)
class Sample:
    """`sample = size per (names)`: that many configurations for each combination of the names.

    of: `size of (names)`: that many combinations of these names, each with every configuration that
    has it; empty: configurations.
    """

    size: int
    per: tuple[str, ...]
    seed: int
    of: tuple[str, ...] = ()

    def draw(self, points: Iterable[Point]) -> list[Point]:
        """Return the configurations that are drawn, in their original order."""
        held: dict[tuple[str, ...], _Drawn] = {}
        for index, point in enumerate(points):
            bound = point[0]
            drawn = held.setdefault(tuple(shown(bound[name]) for name in self.per), {})
            unit = {name: bound[name] for name in self.of} if self.of else bound
            drawn.setdefault(number(self.seed, "sample", unit), []).append((index, point))
            if len(drawn) >= self.size + SLACK:
                self._keep_smallest(drawn)
        for drawn in held.values():
            self._keep_smallest(drawn)
        kept = [item for drawn in held.values() for several in drawn.values() for item in several]
        return [point for _, point in sorted(kept, key=itemgetter(0))]

    def _keep_smallest(self, drawn: _Drawn) -> None:
        for surplus in sorted(drawn)[self.size :]:
            del drawn[surplus]


def shuffled(points: Iterable[Point], seed: int, repetition: int) -> list[Point]:
    """Return configurations in a random order, a different one for each repetition."""
    keyed = [(number(seed, f"order {repetition}", p[0]), i, p) for i, p in enumerate(points)]
    return [point for _, _, point in sorted(keyed, key=itemgetter(0, 1))]


def number(seed: int, purpose: str, bound: Bindings) -> int:
    """Return the number of a configuration, uniform in [0, 2^64)."""
    named = (f"{name}={value.canonical}" for name, value in sorted(bound.items()))
    text = "\n".join((str(seed), purpose, *named))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
