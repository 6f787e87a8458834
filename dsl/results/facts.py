"""What figures and claims are checked against."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from fairc.dsl.expressions.evaluate import Scope, check_symbols, evaluate, truth
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.grid.sweeps import Grid
from fairc.dsl.model.requests import Axis, MetricRequest
from fairc.dsl.text import syntax
from fairc.words.figures import ALWAYS

from .instances import Namer


@dataclass(frozen=True)
class Facts:
    """What figures and claims are checked against.

    first: the scope of the first cell.
    symbols: what a condition may compare with.
    measured: the requests of `measure`, or None if that is already wrong.
    flows: those without users.
    on_users: the other flows.
    users: the groups of users.
    groups: what all flows with an index of one statement are called.
    namer: reads the names of metrics.
    loads: the most page loads of any cell; 0: no flow loads pages.
    present: returns the names of the flows and the groups that a configuration has.
    """

    axes: Sequence[Axis]
    grid: Grid
    first: Scope
    lets: Mapping[str, syntax.Expr]
    symbols: Collection[str]
    measured: Sequence[MetricRequest] | None
    flows: Sequence[str]
    on_users: Sequence[str]
    users: Sequence[str]
    groups: Sequence[str]
    loads: int
    namer: Namer
    present: Callable[[Bindings], Collection[str]]

    @property
    def swept(self) -> list[str]:
        """The swept names."""
        return [axis.name for axis in self.axes]

    @property
    def names(self) -> list[str]:
        """Every name that may be an axis, a group or a facet of a figure."""
        return [*self.swept, *ALWAYS]


def condition(node: syntax.Expr, scope: Scope, symbols: Collection[str]) -> None:
    """Raise CompileError unless a condition can be evaluated in the scope of a configuration."""
    check_symbols(node, scope, symbols)
    truth(evaluate(node, scope), node.span)
