"""Expressions of a plan: one tree for metrics of a file's own, claims, figures and goals.

    number       a number, or one for each configuration (`Amount`)
    value        a metric's value in a cell
    statistic    what the repetitions of one configuration have together
    operation    an operator and its parts

Everything is in SI units. A plan may come from a stranger, so a tree is bounded in depth and size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, reduce
from typing import Annotated, Any, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from fairc.cell.numbers import Real
from fairc.cell.part import unless
from fairc.cell.text import Nothing, Text, Word

from .base import Model
from .metric_names import ValueName
from .names import FlowLabel

DEEPEST = 40
"""The deepest nesting of a tree: the parser of JSON ends at 200 levels, and each takes two."""

MOST_PARTS = 1000

Operator = Literal["+", "-", "*", "/", "min", "max", "sqrt", "trend"]
StatisticName = Literal["median", "mean", "percentile", "count"]
Tested = Literal["", "<", "<=", ">", ">="]
"""The comparison inside `count`; empty: no `count`."""

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Load = Annotated[int, Field(ge=0, le=10_000)]
Row = tuple[Text, ...]


class Undefined(Exception):
    """An expression without a value; its text is the reason."""


class Selection(Model):
    """The configurations for which a condition holds, listed so that readers need no syntax.

    text: the condition as written. names: the swept names (and `repetition`, `load`, `flow`) that
    it depends on; rows: their values for which it holds, in canonical text.
    """

    text: Text
    names: tuple[Word, ...] = ()
    rows: tuple[Row, ...] = ((),)

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if {len(row) for row in self.rows} - {len(self.names)}:
            raise ValueError("each row has a value for each name")
        return self

    @cached_property
    def _places(self) -> dict[Row, int]:
        return {row: place for place, row in enumerate(self.rows)}

    def covers(self, bindings: Mapping[str, str]) -> bool:
        """Whether it has a row for a configuration, given its swept values."""
        return tuple(bindings.get(name, "") for name in self.names) in self._places

    def values_of(self, name: str) -> dict[str, None]:
        """Return the values that a name has in some row, as keys; none if it is not chosen by."""
        places = [place for place, known in enumerate(self.names) if known == name]
        return {row[place]: None for place in places for row in self.rows}

    def without(self, name: str) -> Selection:
        """Return the cells that it chooses, whatever a name has for value."""
        kept = [place for place, known in enumerate(self.names) if known != name]
        rows = dict.fromkeys(tuple(row[place] for place in kept) for row in self.rows)
        names = tuple(self.names[place] for place in kept)
        return Selection(text=self.text, names=names, rows=tuple(rows))


class Amount(Selection):
    """A number that may depend on the configuration.

    text: as written. names: the swept names that it depends on; rows: their values in canonical
    text; numbers: one for each row.
    """

    numbers: Annotated[tuple[Real, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_numbers(self) -> Self:
        if len(self.rows) != len(self.numbers):
            raise ValueError("each row of an amount has a number")
        return self

    def of(self, bindings: Mapping[str, str]) -> float:
        """Return the number of a configuration, given its swept values. Raises KeyError."""
        return self.numbers[self._places[tuple(bindings[name] for name in self.names)]]


class CellValue(Model):
    """A value of a metric in a cell.

    flows: whose; empty: each flow's. is_each: whether it is that of the flow which the result is
    of; else the only one there is.
    """

    metric: ValueName
    flows: Annotated[tuple[FlowLabel, ...], Field(**unless(()))] = ()
    is_each: Annotated[bool, Field(**unless(False))] = False


class Statistic(Model):
    """A statistic of a metric over the repetitions of one configuration.

    flow: the flow or group of users; empty: the cell. load: the page load, from 1; 0: the metric
    has none. share: the quantile of `percentile`. relation, bound: for `count`, which is the share
    of repetitions in which the metric meets the bound (SI unit).
    cells: the configuration, by its value on each axis in canonical text.
    """

    statistic: StatisticName
    metric: ValueName
    flow: Annotated[FlowLabel | Nothing, Field(**unless(""))] = ""
    load: Annotated[Load, Field(**unless(0))] = 0
    share: Annotated[Share, Field(**unless(0.5))] = 0.5
    relation: Annotated[Tested, Field(**unless(""))] = ""
    bound: Annotated[Real, Field(**unless(0.0))] = 0.0
    cells: Annotated[Row, Field(**unless(()))] = ()


Leaf = CellValue | Statistic


class Operation(Model):
    """An operator and its parts, which it takes from left to right; `sqrt` takes one.

    `trend` is from -1 to 1: how far its parts rise in their order. It is no number of a cell.
    """

    operator: Operator
    of: Annotated[tuple[Expression, ...], Field(min_length=1, max_length=MOST_PARTS)]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if (len(self.of) == 1) != (self.operator == "sqrt"):
            raise ValueError(f"`{self.operator}` has another number of parts")
        if self.depth > DEEPEST:
            raise ValueError(f"an expression is nested more than {DEEPEST} levels deep")
        return self

    @cached_property
    def depth(self) -> int:
        """The number of levels of operations."""
        return 1 + max(part.depth if isinstance(part, Operation) else 0 for part in self.of)


def applied(operator: Operator, first: Expression, *others: Expression) -> Operation:
    """Return an operation; what is to the left of it with the same operator becomes part of it."""
    if isinstance(first, Operation) and first.operator == operator and others:
        return Operation(operator=operator, of=(*first.of, *others))
    return Operation(operator=operator, of=(first, *others))


def _kind(node: Any) -> str:
    """Return which kind of node something is, as data or as an object."""
    for kind, of, key in (
        ("operation", Operation, "of"),
        ("statistic", Statistic, "statistic"),
        ("value", CellValue, "metric"),
        ("amount", Amount, "numbers"),
    ):
        if isinstance(node, of) or (isinstance(node, Mapping) and key in node):
            return kind
    return "number"


Expression = Annotated[
    Annotated[Real, Tag("number")]
    | Annotated[Amount, Tag("amount")]
    | Annotated[CellValue, Tag("value")]
    | Annotated[Statistic, Tag("statistic")]
    | Annotated[Operation, Tag("operation")],
    Discriminator(_kind),
]

Operation.model_rebuild()


def nodes(expression: Expression) -> Iterator[Expression]:
    """Yield an expression and all its parts, from left to right."""
    yield expression
    if isinstance(expression, Operation):
        for part in expression.of:
            yield from nodes(part)


def values_in(expression: Expression) -> tuple[CellValue, ...]:
    """Return the values of cells in an expression, from left to right."""
    return tuple(node for node in nodes(expression) if isinstance(node, CellValue))


def sums(expression: Expression) -> Iterator[tuple[Leaf, ...]]:
    """Yield the leaves of each sum in an expression, and each leaf by itself: it may be a sum, too.

    What is subtracted from one number is a sum; `a - b` is none.
    """
    for node in nodes(expression):
        if isinstance(node, CellValue | Statistic):
            yield (node,)
        elif isinstance(node, Operation) and node.operator in ("+", "-"):
            sides: dict[bool, list[Expression]] = {True: [], False: []}
            for place, part in enumerate(node.of):
                is_added = node.operator == "+" or place == 0
                sides[is_added != _is_negative(part)].append(part)
            for parts in sides.values():
                if len(parts) > 1:
                    every = (each for part in parts for each in nodes(part))
                    yield tuple(e for e in every if isinstance(e, CellValue | Statistic))


def _is_negative(part: Expression) -> bool:
    """Whether a part has a negative factor."""
    return (
        isinstance(part, Operation)
        and part.operator == "*"
        and sum(isinstance(of, float | int) and of < 0 for of in part.of) % 2 == 1
    )


def evaluate(
    expression: Expression, bindings: Mapping[str, str], value_of: Callable[[Leaf], float]
) -> float:
    """Return the value of an expression in a configuration. Raises Undefined, KeyError.

    bindings: its swept values, in canonical text. value_of: returns the value of a leaf; called
    from left to right.
    """
    if isinstance(expression, float | int):
        return expression
    if isinstance(expression, Amount):
        return expression.of(bindings)
    if not isinstance(expression, Operation):
        return value_of(expression)
    if expression.operator == "trend":
        raise Undefined("a trend is no number")
    parts = [evaluate(part, bindings, value_of) for part in expression.of]
    if expression.operator != "sqrt":
        return reduce(_RULES[expression.operator], parts)
    if parts[0] < 0:
        raise Undefined("it would be the root of a negative number")
    return math.sqrt(parts[0])


def _quotient(left: float, right: float) -> float:
    if right == 0:
        raise Undefined("it would be divided by zero")
    return left / right


_RULES: Mapping[str, Callable[[float, float], float]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "min": min,
    "max": max,
}
