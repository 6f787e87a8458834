"""Drawing by hash: which configurations `sample` keeps, and the order of `order = shuffled`.

Every configuration gets a number that depends on the experiment's seed and on its own values
alone, so the draw is the same on every machine, and adding a value to a sweep changes little
of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter

from fairc.dsl.core.values import Value, shown

Bindings = dict[str, Value]
Point = tuple[Bindings, tuple[int, ...]]
"""A configuration: its bindings, and the repetitions that it keeps."""

SLACK = 1000
"""Candidates held beyond the wanted number before the surplus is dropped."""


@dataclass(frozen=True)
class Sample:
    """`sample = size per (names)`: that many configurations for each combination of the names."""

    size: int
    per: tuple[str, ...]
    seed: int

    def draw(self, points: Iterable[Point]) -> list[Point]:
        """Return the configurations that are drawn, in their original order."""
        held: dict[tuple[str, ...], list[tuple[int, int, Point]]] = {}
        for index, point in enumerate(points):
            group = held.setdefault(tuple(shown(point[0][name]) for name in self.per), [])
            group.append((number(self.seed, "sample", point[0]), index, point))
            if len(group) >= self.size + SLACK:
                group[:] = self._smallest(group)
        drawn = [item for group in held.values() for item in self._smallest(group)]
        return [point for _, _, point in sorted(drawn, key=itemgetter(1))]

    def _smallest(self, group: Sequence[tuple[int, int, Point]]) -> list[tuple[int, int, Point]]:
        return nsmallest(self.size, group, key=itemgetter(0, 1))


def shuffled(points: Iterable[Point], seed: int, repetition: int) -> list[Point]:
    """Return configurations in a random order, a different one for each repetition."""
    keyed = [(number(seed, f"order {repetition}", p[0]), i, p) for i, p in enumerate(points)]
    return [point for _, _, point in sorted(keyed, key=itemgetter(0, 1))]


def number(seed: int, purpose: str, bound: Bindings) -> int:
    """Return the number of a configuration, uniform in [0, 2^64)."""
    named = (f"{name}={value.canonical}" for name, value in sorted(bound.items()))
    text = "\n".join((str(seed), purpose, *named))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
