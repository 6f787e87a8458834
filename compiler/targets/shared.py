"""What cells of one configuration have in common is worked out once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MOST = 2000
"""Results that are kept: as many as configurations (`compilation.KEPT_CONFIGURATIONS`)."""


class Kept(Generic[R]):
    """Results by the parts of a plan that they follow from.

    Repetitions of a configuration share every part that no seed changes: the very same objects. So parts
    are distinguished by what they are, not by what they hold; but texts, numbers and, in them, tuples and
    mappings, by their values.
    """

    def __init__(self) -> None:
        self._found: dict[object, tuple[object, R]] = {}

    def of(self, parts: tuple[object, ...], work: Callable[[], R]) -> R:
        """Return the result of `work` for these parts."""
        key = _mark(parts)
        found = self._found.get(key)
        if found is None:
            if len(self._found) >= MOST:
                self._found.clear()
            # With its parts: no other object takes their place in memory, and so their mark.
            found = self._found[key] = parts, work()
        return found[1]


def shared(work: Callable[P, R]) -> Callable[P, R]:
    """Let a function work once for the same positional arguments, distinguished as in `Kept`."""
    kept = Kept[R]()

    def once(*args: P.args, **kwargs: P.kwargs) -> R:
        return kept.of(args, lambda: work(*args, **kwargs))

    return once


def _mark(part: object) -> object:
    if isinstance(part, tuple):
        # A call for each part of a cell would be most of the time.
        return tuple(
            [
                each
                if (kind := type(each)) is str or kind is int
                else _mark(each)
                if kind in _NESTED
                else id(each)
                for each in part
            ]
        )
    if isinstance(part, dict):
        return _mark(tuple(part.items()))
    return type(part), part  # 5 and 5.0 are equal, and written in two ways


_NESTED = frozenset((tuple, dict, float))
