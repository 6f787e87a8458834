"""`report`: figures of an expression of statistics, such as a gain of one configuration over
another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar

from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Symbol
from fairc.dsl.model.claims import ClaimUnit, distinct_flows
from fairc.dsl.model.requests import ShownQuantity
from fairc.dsl.text import syntax
from fairc.words.figures import ALWAYS, FIGURES, FLOW, FigureEntry

from .claim_forms import expanded, form_of, is_statistic, statistical
from .claim_readings import check_where, readings_in
from .claim_units import ClaimUnits, Point, check_joined
from .facts import Facts


def is_expression(node: syntax.Expr, facts: Facts) -> bool:
    """Return whether a node is about statistics, itself or by a `let`."""
    held = statistical(facts.lets)
    return any(
        is_statistic(part) or (isinstance(part, syntax.Name) and part.text in held)
        for part in node.walk()
    )


def expression(
    entry: FigureEntry, node: syntax.Expr, where: syntax.Expr | None, facts: Facts
) -> ShownQuantity:
    """Return what a figure of an expression shows. Raises CompileError with everything wrong.

    where: of the figure.
    """
    if not entry.shows_statistics:
        others = ", ".join(f"`{known.name}`" for known in FIGURES if known.shows_statistics)
        fail(
            "wrong-type",
            f"`{entry.name}` shows the values of a metric, and an expression of statistics has one"
            " for each configuration",
            node.span,
            help=f"figures of such an expression: {others}",
        )
    whole = expanded(node, facts.lets)
    gather = Gather()
    if where is not None:
        with gather.attempt():
            check_where(where, facts)
    readings = readings_in(whole, facts, gather)
    gather.finish()
    resolved = Quantities(facts, whole, readings, where)
    units = tuple(resolved.units())
    name = node.text if isinstance(node, syntax.Name) else ""
    return ShownQuantity(
        name=name,
        text=(whole.inner if isinstance(whole, syntax.Group) and name else whole).span.one_line,
        unit=resolved.unit,
        shared=resolved.shared,
        units=units,
    )


class Quantities(ClaimUnits):
    """The values of an expression: one for each configuration that its statistics share."""

    subject, aim = "figure", "show"
    code: ClassVar[str] = "empty-figure"

    def _unit(self, group: Sequence[Point]) -> ClaimUnit | None:
        shared = {name: group[0].bound[name] for name in self.shared}
        scope = self._facts.grid.scope(shared)
        form = form_of(self._holds, scope, lambda c: self._readings[c.span.start].dimension)
        check_joined(form, self._readings, self._holds)
        expression = self._expression(form, group, scope)
        return None if expression is None else ClaimUnit(expression=expression)


def check_axes(shown: ShownQuantity, named: Collection[Symbol], facts: Facts, at: Span) -> None:
    """Raise CompileError unless the names of a figure tell the values of its expression apart.

    named: what its axes, groups and panels are.
    """
    flows = {FLOW} if any(distinct_flows(shown.units)) else set[str]()
    for symbol in named:
        if symbol.name in {*shown.shared, *flows}:
            continue
        compared = symbol.name not in ALWAYS
        fail(
            "not-an-axis",
            f"an expression of statistics has no value for each `{symbol.name}`",
            symbol.span,
            note="its statistics choose by it" if compared else "",
            help=f"it has one for each combination of: {', '.join(shown.shared)}"
            if shown.shared
            else "it has a single value",
        )
    names = {symbol.name for symbol in named}
    places = {axis.name: i for i, axis in enumerate(facts.axes)}
    for name in shown.shared:
        values = dict.fromkeys(unit.terms[0].cells[places[name]] for unit in shown.units)
        if name not in names and len(values) > 1:
            fail(
                "several-configurations",
                "this figure would show several values of its expression in one place",
                at,
                note=f"`{name}` has {', '.join([*values][:8])}",
                help=f"add `{name}` to `by` or `facet`, or choose one with"
                f" `where: {name} == {next(iter(values))}`",
            )
