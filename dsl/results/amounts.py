"""Numbers of metrics that may depend on swept names: window bounds, options, factors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from fairc.dsl.core.diagnostics import CompileError
from fairc.dsl.core.problems import fail
from fairc.dsl.expressions.names import used_names
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.grid.sweeps import Grid
from fairc.dsl.model.expressions import Amount
from fairc.dsl.text import syntax

T = TypeVar("T")
ROW_LIMIT = 100_000
"""At most this many combinations of values are examined for one expression."""

Row = tuple[str, ...]


@dataclass(frozen=True)
class Sweep:
    """The swept names of an experiment, in the order of its axes, and what gives their values."""

    grid: Grid
    names: Sequence[str]
    lets: Mapping[str, syntax.Expr]

    def used(self, nodes: Sequence[syntax.Node]) -> tuple[str, ...]:
        """Return the swept names that expressions depend on."""
        found = used_names(nodes, self.lets)
        return tuple(name for name in self.names if name in found)

    def each(self, nodes: Sequence[syntax.Expr], of: Callable[[Bindings], T]) -> Mapping[Row, T]:
        """Return what a function gives for each combination of the names that expressions use.

        What only an excluded configuration has may fail, and is left out. Raises CompileError.
        """
        names = self.used(nodes)
        found: dict[Row, T] = {}
        failed: dict[Row, CompileError] = {}
        for walked, bound in enumerate(self.grid.projected(names) if names else ({},), 1):
            if walked > ROW_LIMIT:
                fail(
                    "too-many",
                    f"this depends on more than {ROW_LIMIT:,} combinations of values",
                    nodes[0].span,
                    help="use fewer swept names",
                )
            row = tuple(bound[name].canonical for name in names)
            if row in found or row in failed:
                continue
            self.grid.work.reset()
            self.grid.work.step(nodes[0].span)
            try:
                found[row] = of(bound)
            except CompileError as error:
                failed[row] = error
        if failed and (first := next(self._occurring(failed, names), None)) is not None:
            raise failed[first]
        if not found:
            raise next(iter(failed.values()))
        return found

    def _occurring(self, rows: Mapping[Row, object], names: Sequence[str]) -> Iterator[Row]:
        """Yield those of some rows that a configuration has."""
        if not names:
            yield from rows
            return
        for walked, (bound, _) in enumerate(self.grid.configurations()):
            row = tuple(bound[name].canonical for name in names)
            if row in rows or walked > ROW_LIMIT:
                yield row if row in rows else next(iter(rows))


def amount(text: str, names: Sequence[str], numbers: Mapping[Row, float]) -> Amount:
    """Return a number as a plan holds it; numbers: of each combination of the names' values."""
    if len(set(numbers.values())) == 1:
        return Amount(text=text, numbers=(next(iter(numbers.values())),))
    return Amount(
        text=text, names=tuple(names), rows=tuple(numbers), numbers=tuple(numbers.values())
    )
