"""Claims, which a run decides, resolved to configurations so that readers need no syntax."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from fairc.cell.numbers import Real
from fairc.cell.text import Nothing, Text, Word

from .base import Model
from .metric_names import ValueName
from .names import FlowLabel

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]
Load = Annotated[int, Field(ge=0, le=10_000)]

Statistic = Literal["median", "mean", "percentile", "count"]
Relation = Literal["<", "<=", ">", ">=", "in"]
Over = Literal["each", "mean"]
Least = Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)]
Combination = Literal["sum", "ratio", "trend"]
Tested = Literal["", "<", "<=", ">", ">="]
"""The comparison inside `count`; empty: no `count`."""


class ClaimTerm(Model):
    """A statistic of a metric over the repetitions of one configuration.

    flow: the flow or group of users; empty: the cell. load: the page load, from 1; 0: the metric
    has none. share: the quantile of `percentile`. relation, bound: for `count`, which is the share
    of repetitions in which the metric meets the bound (SI unit). factor: of the statistic in its
    sum; in a ratio, of the first term only.
    cells: the configuration, by its value on each axis in canonical text.
    """

    statistic: Statistic
    metric: ValueName
    flow: FlowLabel | Nothing = ""
    load: Load = 0
    share: Share = 0.5
    relation: Tested = ""
    bound: Real = 0.0
    factor: Real = 1.0
    cells: tuple[Text, ...] = ()


class ClaimUnit(Model):
    """A quantity and its bounds (SI unit, None: open): shift plus the sum of its terms, or their
    ratio; or the trend of its terms in their order, from -1 to 1.
    """

    terms: Annotated[tuple[ClaimTerm, ...], Field(min_length=1, max_length=1000)]
    shift: Real = 0.0
    low: Real | None
    high: Real | None


def _all(least: object) -> bool:
    return least == 1


class Claim(Model):
    """A hypothesis that the run decides.

    text: the claim's title. over: whether it must hold in each unit, or for their mean. least: the
    share of the units in which it must hold; left out where it is 1. condition, holds: as written.
    form: how the terms of a unit are combined. relation: of the quantity to its bounds; `in`
    includes both. unit: SI unit of the quantity. shared: the axes that distinguish units.
    """

    text: Text
    over: Over
    condition: Text
    holds: Text
    form: Combination
    relation: Relation
    unit: Text
    shared: tuple[Word, ...]
    units: Annotated[tuple[ClaimUnit, ...], Field(min_length=1, max_length=1000)]
    least: Annotated[Least, Field(exclude_if=_all)] = 1.0

    @property
    def extent(self) -> str:
        """What `for` says: `each`, `mean` or a share such as `90%`."""
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


def contradiction(claim: Claim, axes: tuple[tuple[str, frozenset[str]], ...]) -> str:
    """Return the first contradiction in a claim; axes: names with their values."""
    if not set(claim.shared) <= {name for name, _ in axes}:
        return "is distinguished by something that is not an axis"
    if claim.least < 1 and claim.over == "mean":
        return "is about a share of the configurations and about their mean"
    for unit in claim.units:
        if why := of_unit(claim.form, unit, axes):
            return why
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


def of_unit(
    form: Combination, unit: ClaimUnit, axes: tuple[tuple[str, frozenset[str]], ...]
) -> str:
    """Return the first contradiction in the terms of a unit; axes: names with their values."""
    if form == "ratio" and len(unit.terms) != 2:
        return "is a ratio of other than two statistics"
    if form == "sum" and len(unit.terms) > 2:
        return "is a sum of more than two statistics"
    if form == "trend" and len(unit.terms) < 2:
        return "is a trend of fewer than two values"
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
