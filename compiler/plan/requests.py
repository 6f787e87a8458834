"""Consistency of a header: duplicate axes, figures that lack an option or name no axis, and
claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc.dsl.core.kinds import Quantities, Words
from fairc.dsl.model import claims
from fairc.dsl.model.metric_names import metric_of, unmarked
from fairc.dsl.model.requests import Axis, Comparison, FigureRequest
from fairc.words.figures import A_METRIC, ALWAYS, FIGURES, WHERE, takes_names
from fairc.words.metrics import METRICS

if TYPE_CHECKING:
    from .header import Plan

Option = str | float | tuple[str, ...]


def contradiction(plan: Plan) -> str:
    """Return the first contradiction in a header; empty if there is none."""
    names = {axis.name for axis in plan.axes}
    if len(names) != len(plan.axes):
        return "two axes have the same name"
    for axis in plan.axes:
        if why := _axis(axis):
            return why
    points = tuple((axis.name, frozenset(axis.values)) for axis in plan.axes)
    for comparison in plan.comparisons:
        if why := _comparison(comparison):
            return f"the value `{comparison.name}` {why}"
    for figure in plan.figures:
        why = _figure(figure, names | set(ALWAYS))
        if why := why or (figure.expression.contradiction(points) if figure.expression else ""):
            return f"the figure `{figure.kind}` {why}"
    for claim in plan.claims:
        if why := claims.contradiction(claim, points):
            return f"the claim `{claim.text}` {why}"
    return _precision(plan, names)


def _precision(plan: Plan, axes: set[str]) -> str:
    """Report what is wrong with the precision that ends the repetitions."""
    ends = plan.precision
    if ends is None:
        return ""
    if ends.least > plan.repeat:
        return "the least number of repetitions is above the most"
    if not set(ends.per) <= axes:
        return "`per` names something that is not an axis"
    if not ends.goals and not ends.claims:
        return "nothing ends its repetitions"
    if ends.claims and not plan.claims:
        return "its repetitions end with claims, and it has none"
    if ends.claims and ends.per:
        return "claims end the repetitions of all configurations together, not `per` value"
    measured = {request.name for request in (*plan.measure, *plan.implied)}
    if not {metric_of(goal.metric) for goal in ends.goals} <= measured:
        return "a precision is of a metric that is not measured"
    if len({goal.metric for goal in ends.goals}) != len(ends.goals):
        return "a value has two precisions"
    return ""


def _axis(axis: Axis) -> str:
    if len(set(axis.values)) != len(axis.values):
        return f"a value of the axis `{axis.name}` appears twice"
    if axis.numbers and len(axis.numbers) != len(axis.values):
        return f"each value of the axis `{axis.name}` has a number, or none has"
    return ""


def _comparison(comparison: Comparison) -> str:
    """Report what is wrong with a value that follows from cells and their baselines."""
    metric, _, value = unmarked(comparison.name).partition(".")
    if metric not in METRICS or value not in METRICS[metric].compared:
        return "compares nothing"
    if METRICS[metric].compared[value] != unmarked(comparison.metric):
        return "compares something else than its name says"
    return ""


def _figure(figure: FigureRequest, names: set[str]) -> str:
    """Report what is wrong with a figure."""
    if figure.kind not in FIGURES:
        return ""  # of another version: the report says that it cannot draw it
    entry = FIGURES[figure.kind]
    parameters = {p.name: p for p in entry.parameters if p.kind is not A_METRIC and p is not WHERE}
    if (figure.metric is None) == (figure.expression is None):
        return "shows no metric, or a metric and an expression"
    for name, parameter in parameters.items():
        if name not in figure.options and (parameter.required or parameter.default):
            return f"lacks its option `{name}`"
    for name, value in figure.options.items():
        if name not in parameters:
            return f"has no option `{name}`"
        kind = parameters[name].kind
        if isinstance(kind, Quantities):
            if not isinstance(value, float | int) or not _within(kind, value):
                return f"has an invalid number for its option `{name}`"
        elif isinstance(kind, Words) and value not in kind.choices:
            return f"has an unknown word for its option `{name}`"
        given = {value if isinstance(value, str) else "", *_several(value)}
        if takes_names(parameters[name]) and not given <= {"", *names}:
            return f"names something that is not an axis in its option `{name}`"
    chosen = figure.where
    if chosen is not None and (
        not set(chosen.names) <= names or any(len(row) != len(chosen.names) for row in chosen.rows)
    ):
        return "has a condition whose rows are not values of axes"
    return ""


def _several(value: Option) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else ()


def _within(kind: Quantities, value: float) -> bool:
    low, high = kind.low, kind.high
    return (low is None or value >= float(low)) and (high is None or value <= float(high))
