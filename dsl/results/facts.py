"""Facts about an experiment, against which figures and claims are checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from fairc.dsl.core.diagnostics import CompileError, Diagnostics, Severity
from fairc.dsl.expressions.evaluate import Scope, check_symbols, evaluate, truth
from fairc.dsl.grid.sampling import Bindings
from fairc.dsl.grid.sweeps import Grid
from fairc.dsl.model.requests import Axis, MetricRequest
from fairc.dsl.text import syntax
from fairc.words.figures import ALWAYS

from .instances import Namer

A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True)
class Facts:
    """The facts against which figures and claims are checked.

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
    narrowed: whether the command line leaves configurations of the file out.
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
    narrowed: bool

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


LEFT_OUT = frozenset({"empty-claim", "empty-figure", "no-order"})
"""Codes of what is about configurations that are not there."""
GONE = "`--set` leaves such configurations out, so this is left out as well"


def of_a_part(
    facts: Facts, diagnostics: Diagnostics, action: Callable[[A], T], argument: A
) -> T | None:
    """Return what an action makes of a claim or a figure; None, after a warning, where it is about
    configurations that the command line leaves out. Raises CompileError for anything else.
    """
    try:
        return action(argument)
    except CompileError as error:
        if not facts.narrowed or any(each.code not in LEFT_OUT for each in error.diagnostics):
            raise
        for each in error.diagnostics:
            notes = (*each.notes, GONE)
            diagnostics.add(replace(each, severity=Severity.WARNING, notes=notes))
    return None
