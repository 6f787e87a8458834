"""Claims, which a run decides, resolved to configurations so that readers need no syntax."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from fairc.cell.numbers import Real
from fairc.cell.part import unless
from fairc.cell.text import Text, Word

from .base import Model
from .expressions import Expression, Operation, Operator, Statistic

Axes = Sequence[tuple[str, frozenset[str]]]
"""The names of axes with their values."""

Relation = Literal["<", "<=", ">", ">=", "in"]
Over = Literal["each", "mean"]
Least = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Combination = Literal["sum", "ratio", "trend"]


@dataclass(frozen=True)
class Contrast:
    """The combination of an expression of statistics.

        sum    f1 s1 + f2 s2 + shift    ratio    f1 s1 / s2 + shift    trend    s1, s2, ...

    of one or two statistics s; terms: these, factors: theirs.
    """

    form: Combination
    terms: tuple[Statistic, ...]
    factors: tuple[float, ...]
    shift: float = 0.0

    @cached_property
    def expression(self) -> Expression:
        """The expression itself."""
        parts = [
            term if factor == 1 else Operation(operator="*", of=(factor, term))
            for term, factor in zip(self.terms, self.factors, strict=True)
        ]
        operator: Operator = OPERATORS[self.form]
        whole = parts[0] if len(parts) == 1 else Operation(operator=operator, of=tuple(parts))
        return Operation(operator="+", of=(whole, self.shift)) if self.shift else whole


OPERATORS: Mapping[Combination, Operator] = {"sum": "+", "ratio": "/", "trend": "trend"}


def contrast_of(expression: Expression) -> Contrast:
    """Return how the statistics of an expression are combined. Raises ValueError for any other."""
    shift = 0.0
    match expression:
        case Operation(operator="+", of=(whole, float(shift))):
            expression = whole
    form: Combination = "sum"
    parts: tuple[Expression, ...] = (expression,)
    if isinstance(expression, Operation) and expression.operator in ("+", "/", "trend"):
        form = next(known for known, sign in OPERATORS.items() if sign == expression.operator)
        parts = expression.of
    terms, factors = list[Statistic](), list[float]()
    for part in parts:
        match part:
            case Statistic():
                terms.append(part)
                factors.append(1.0)
            case Operation(operator="*", of=(float(factor), Statistic() as term)):
                terms.append(term)
                factors.append(factor)
            case _:
                raise ValueError("this is no sum, ratio or trend of statistics")
    return Contrast(form, tuple(terms), tuple(factors), shift)


class ClaimUnit(Model):
    """An expression of statistics in one configuration, and its bounds (SI unit, None: open)."""

    expression: Expression
    low: Real | None = None
    high: Real | None = None

    @cached_property
    def contrast(self) -> Contrast:
        """The combination of its statistics."""
        return contrast_of(self.expression)

    @property
    def terms(self) -> tuple[Statistic, ...]:
        """Its statistics."""
        return self.contrast.terms

    @model_validator(mode="after")
    def _is_of_statistics(self) -> Self:
        assert self.contrast.terms
        return self


class Quantity(Model):
    """What claims and figures are about: an expression of statistics, which has a value for each
    configuration that its statistics share.

    text: a claim's title; of a figure as written. unit: SI unit of its values. shared: the axes
    that distinguish units.
    """

    text: Text
    unit: Text
    shared: tuple[Word, ...]
    units: Annotated[tuple[ClaimUnit, ...], Field(min_length=1, max_length=1000)]

    @property
    def form(self) -> Combination:
        """The combination of the statistics of its units."""
        return self.units[0].contrast.form

    @property
    def terms(self) -> Iterator[Statistic]:
        """The statistics of all units."""
        return (term for unit in self.units for term in unit.terms)

    def contradiction(self, axes: Axes) -> str:
        """Return the first contradiction in it; axes: names with their values."""
        if not set(self.shared) <= {name for name, _ in axes}:
            return "is distinguished by something that is not an axis"
        if len({unit.contrast.form for unit in self.units}) > 1:
            return "has units of several forms"
        return next(filter(None, (_of_unit(unit.contrast, axes) for unit in self.units)), "")


class Claim(Quantity):
    """A hypothesis that the run decides.

    over: whether it must hold in each unit, or for their mean. least: the share of the units in
    which it must hold; left out where it is 1. condition, holds: as written. relation: of the
    quantity to its bounds; `in` includes both.
    """

    over: Over
    condition: Text
    holds: Text
    relation: Relation
    least: Annotated[Least, Field(**unless(1))] = 1.0

    @property
    def extent(self) -> str:
        """The value of `for`: `each`, `mean` or a share such as `90%`."""
        return f"{100 * self.least:.12g}%" if self.least < 1 else self.over

    @property
    def required(self) -> int:
        """The number of units in which it must hold."""
        return math.ceil(round(self.least * len(self.units), 9))

    @property
    def pairs(self) -> int:
        """The number of intervals and tests that decide it; of a trend: one, and each step."""
        if self.form == "trend":
            return sum(len(unit.terms) for unit in self.units)
        return 1 if self.over == "mean" else len(self.units)


def distinct_flows(units: Sequence[ClaimUnit]) -> tuple[str, ...]:
    """Return the flow by which each unit differs from others of its configuration; empty texts
    where all units are about the same flows.
    """
    for flows in zip(*([term.flow for term in unit.terms] for unit in units), strict=False):
        if len(set(flows)) > 1:
            return flows
    return ("",) * len(units)


def contradiction(claim: Claim, axes: Axes) -> str:
    """Return the first contradiction in a claim; axes: names with their values."""
    if claim.least < 1 and claim.over == "mean":
        return "is about a share of the configurations and about their mean"
    if why := claim.contradiction(axes):
        return why
    for unit in claim.units:
        if claim.form == "trend" and claim.over == "mean":
            return "is the mean of trends"
        if (unit.low is None, unit.high is None) != {
            "in": (False, False),
            "<": (True, False),
            "<=": (True, False),
        }.get(claim.relation, (False, True)):
            return "has bounds that do not belong to its relation"
        if unit.low is not None and unit.high is not None and unit.low > unit.high:
            return "has an empty range"
        kinds = {term.statistic for term in unit.terms}
        if claim.over == "mean" and not kinds <= {"median", "mean"}:
            return "takes the mean of something other than medians or means"
    return ""


def _of_unit(unit: Contrast, axes: Axes) -> str:
    """Return the first contradiction in the statistics of a unit."""
    form = unit.form
    if form == "ratio" and len(unit.terms) != 2:
        return "is a ratio of other than two statistics"
    if form == "ratio" and unit.factors[1] != 1:
        return "has a factor in the denominator of its ratio"
    if form == "sum" and len(unit.terms) > 2:
        return "is a sum of more than two statistics"
    if form == "trend" and len(unit.terms) < 2:
        return "is a trend of fewer than two values"
    if form == "trend" and (unit.shift or set(unit.factors) != {1.0}):
        return "is a trend of something other than statistics"
    kinds = {term.statistic for term in unit.terms}
    if form == "trend" and kinds != {"median"}:
        return "is a trend of something other than medians"
    if len(unit.terms) == 2 and (len(kinds) > 1 or not kinds <= {"median", "mean"}):
        return "joins statistics that have no interval together"
    for term in unit.terms:
        if len(term.cells) != len(axes) or any(
            value not in values for value, (_, values) in zip(term.cells, axes, strict=True)
        ):
            return "is about a configuration that is no point of the axes"
        if (term.statistic == "count") != bool(term.relation):
            return "has a `count` of nothing, or a bound without one"
    return ""
