"""Requests of an experiment: axes, metrics, figures, precision, settings, input files."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from fairc.cell.numbers import Above, Real, Repetition
from fairc.cell.part import unless
from fairc.cell.text import Document, MetricName, Nothing, Sha256, Text, Word

from .base import Model
from .claims import Quantity
from .expressions import Amount, CellValue, Expression, Selection, Statistic, nodes, values_in
from .metric_names import Mark, ValueName, request_label
from .names import FlowLabel


def _below(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("a path from the experiment's folder, without `..`")
    return path


Below = Annotated[Text, AfterValidator(_below)]
"""The path of a file in or below the folder of the experiment."""


class Axis(Model):
    """A swept name and its values in canonical text, in file order.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: Word
    values: tuple[Text, ...]
    numbers: tuple[Real, ...] = ()
    unit: Text = ""


class Window(Model):
    """The part of a cell's time in which a metric is measured, s after the epoch; its end is no
    longer in it.

    begin: None: the end of the warm-up. end: None: that of the cell.
    """

    begin: Annotated[Amount | None, Field(**unless(None))] = None
    end: Annotated[Amount | None, Field(**unless(None))] = None

    def of(self, bindings: Mapping[str, str]) -> tuple[float | None, float]:
        """Return when it begins and ends in a configuration, given its swept values.

        None: when the warm-up ends. Infinite: when the cell does.
        """
        begin_s = None if self.begin is None else self.begin.of(bindings)
        return begin_s, math.inf if self.end is None else self.end.of(bindings)


class MetricRequest(Model):
    """A metric that is measured: its name, flows named by position, keyword options (SI units), and
    its window, left out where it has none.

    values: the sub-values named in the file, such as `queue_delay.p95`; the metric's own name
    stands for its first value. Left out where only that is named. All values are computed.
    varied: options that depend on the configuration; left out where there are none.
    mark: what the names of its values end with, `(from: 5s)`, where one name has several requests.
    is_drawn: whether a figure shows it although `measure` does not name it: then it has its values
    over time and its curves, too.
    """

    name: MetricName
    sessions: tuple[FlowLabel, ...] = ()
    options: dict[Word, Real | Text] = {}
    values: Annotated[tuple[MetricName, ...], Field(**unless(()))] = ()
    window: Annotated[Window | None, Field(**unless(None))] = None
    varied: Annotated[dict[Word, Amount], Field(**unless({}))] = {}
    mark: Annotated[Mark | Nothing, Field(**unless(""))] = ""
    is_drawn: Annotated[bool, Field(**unless(False))] = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the requested values."""
        return tuple(f"{name}{self.mark}" for name in self.values or (self.name,))

    @property
    def label(self) -> str:
        """Its name among all requests of an experiment: `goodput`, `goodput(from: 5s)`."""
        return f"{self.name}{self.mark}"

    def is_of(self, names: Collection[str]) -> bool:
        """Whether it is of a flow with these names; one that names no flow is of all."""
        return not self.sessions or any(name in names for name in self.sessions)

    def at(self, bindings: Mapping[str, str]) -> MetricRequest:
        """Return the request with the options of a configuration, given its swept values."""
        if not self.varied:
            return self
        varied = {name: amount.of(bindings) for name, amount in self.varied.items()}
        return self.model_copy(update={"options": {**self.options, **varied}, "varied": {}})


class Formula(Model):
    """A custom metric: what each cell has of it follows from other values of that cell.

    unit: SI unit of its values. flows: whose values it has; empty: each flow's; None: the cell's.
    expression: of values of the cell, in base units: bit, s, packets.
    """

    name: Word
    text: Text
    unit: Text
    flows: tuple[FlowLabel, ...] | None = None
    expression: Expression

    @cached_property
    def operands(self) -> tuple[CellValue, ...]:
        """The values that it is made of, from left to right."""
        return values_in(self.expression)

    @model_validator(mode="after")
    def _is_of_values(self) -> Self:
        parts = list(nodes(self.expression))
        other = any(
            isinstance(p, Statistic) or getattr(p, "operator", "") == "trend" for p in parts
        )
        if other or not self.operands:
            raise ValueError("a formula is made of no value, or of something other than values")
        return self


class Comparison(Model):
    """A value that follows from a cell and from its baselines, in which flows are alone.

    name: of the value, `harm.fct`. metric: what follows it from, as both cells name it. flows:
    whose it is; empty: everybody's.
    """

    name: ValueName
    metric: ValueName
    flows: tuple[FlowLabel, ...] = ()


class Requests(Model):
    """The requests of an experiment: what is computed of each cell.

    measure: what the file names there, metrics of its own among them. implied: what else claims,
    figures, precisions and formulas are about, metrics of its own among them: of these nothing but
    the named values is kept, and what figures draw. formulas: the
    metrics of its own, each after those that it needs. comparisons: values that follow from a cell
    and from its baselines.
    """

    measure: tuple[MetricRequest, ...] = ()
    implied: tuple[MetricRequest, ...] = ()
    formulas: tuple[Formula, ...] = ()
    comparisons: Annotated[tuple[Comparison, ...], Field(**unless(()))] = ()

    @property
    def metrics(self) -> tuple[MetricRequest, ...]:
        """Those of `measure` and the implied ones, without metrics of the file's own."""
        own = {formula.name for formula in self.formulas}
        return tuple(r for r in (*self.measure, *self.implied) if r.name not in own)

    def window_of(self, value: str) -> Window | None:
        """Return the window in which a value is measured, by its full name; None: it has none."""
        label, requests = request_label(value), (*self.measure, *self.implied)
        return next((request.window for request in requests if request.label == label), None)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """Every number that may depend on the configuration."""
        windows = (request.window for request in self.metrics if request.window is not None)
        found = [end for window in windows for end in (window.begin, window.end) if end is not None]
        found += (amount for request in self.metrics for amount in request.varied.values())
        parts = (part for formula in self.formulas for part in nodes(formula.expression))
        return (*found, *(part for part in parts if isinstance(part, Amount)))

    def behind(self, name: str) -> tuple[Formula, ...]:
        """Return the formula of a name, and those that it needs; none for a built-in metric."""
        needed, found = {name}, list[Formula]()
        for formula in reversed(self.formulas):
            if formula.name in needed:
                needed |= {operand.metric for operand in formula.operands}
                found.append(formula)
        return tuple(found[::-1])


class Goal(Model):
    """The precision that a value must reach before repetitions stop: `metric` as in `measure`
    (`fairness.F`).

    within: the largest half-width of its interval, which may depend on the configuration;
    relative: as a fraction of the value, else in its SI unit.
    """

    metric: ValueName
    within: Above | Amount
    relative: bool

    def within_of(self, bindings: Mapping[str, str]) -> float:
        """Return the half-width in a configuration, given its swept values. Raises KeyError."""
        return self.within.of(bindings) if isinstance(self.within, Amount) else self.within

    @property
    def halves(self) -> tuple[float, ...]:
        """Every half-width that a configuration may have, ascending."""
        given = self.within
        return tuple(sorted(set(given.numbers))) if isinstance(given, Amount) else (given,)

    @model_validator(mode="after")
    def _is_positive(self) -> Self:
        if self.halves[0] <= 0:
            raise ValueError("the half-width of an interval is positive")
        return self


class Precision(Model):
    """When repetitions stop: after `least` of them or later, at the first interim analysis with
    every goal reached.

    per: the axes whose values distinguish the groups that stop together; empty: all configurations
    stop together.
    claims: whether every claim must be decided as well; then `goals` may be empty. Left out where
    it need not.
    """

    least: Repetition
    goals: tuple[Goal, ...]
    per: tuple[Word, ...] = ()
    claims: Annotated[bool, Field(**unless(False))] = False


class ShownQuantity(Quantity):
    """An expression of statistics that a figure shows; its units have no bounds.

    name: of the `let` that holds it; empty: it is written in the figure.
    """

    name: Word | Nothing = ""


class Shown(Model):
    """A metric that a figure shows beside its first one; flow: whose, empty for all."""

    metric: ValueName
    flow: Annotated[FlowLabel | Nothing, Field(**unless(""))] = ""


class FigureRequest(Model):
    """An entry of `report`: kind of figure, the metric shown (`fairness.F`), its options.

    flow: whose values of the metric, or of which group of users; empty, and left out: all.
    expression: what it shows instead of a metric; second: another metric that it shows; left out
    where there is none.
    options: complete, defaults written out; quantities in SI base units. where: the cells that it
    shows, or None for all.
    """

    kind: Word
    metric: ValueName | None = None
    flow: Annotated[FlowLabel | Nothing, Field(**unless(""))] = ""
    second: Annotated[Shown | None, Field(**unless(None))] = None
    expression: Annotated[ShownQuantity | None, Field(**unless(None))] = None
    options: dict[Word, Text | Real | tuple[Text, ...]] = {}
    where: Selection | None = None


class Setting(Model):
    """What `--set` replaced: a name, its value as given, and what the file says (empty:
    nothing).
    """

    name: Word
    value: Text
    instead: Document = ""


class Input(Model):
    """A file that the spec reads: its path from the spec's folder, its SHA-256."""

    path: Below
    sha256: Sha256
