"""Requests of an experiment: axes, metrics, figures, precision, settings, input files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from fairc.cell.numbers import Above, Real, Repetition
from fairc.cell.part import absent, empty, off
from fairc.cell.text import Document, MetricName, Nothing, Sha256, Text, Word

from .base import Model
from .claims import ClaimUnit, Combination
from .metric_names import Mark, ValueName
from .names import FlowLabel


def _below(path: str) -> str:
    if not path or path.startswith("/") or ".." in path.split("/"):
        raise ValueError("a path from the experiment's folder, without `..`")
    return path


def _nothing(value: object) -> bool:
    return not value


Below = Annotated[Text, AfterValidator(_below)]
"""The path of a file in or below the folder of the experiment."""


Operator = Literal["+", "-", "*", "/", "min", "max", "sqrt"]
Index = Annotated[int, Field(ge=0, le=1000)]


class Axis(Model):
    """A swept name and its values in canonical text, in file order.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: Word
    values: tuple[Text, ...]
    numbers: tuple[Real, ...] = ()
    unit: Text = ""


class Amount(Model):
    """A number that may depend on the configuration.

    text: as written. names: the swept names that it depends on; rows: their values in canonical
    text; numbers: one for each row.
    """

    text: Text
    names: tuple[Word, ...] = ()
    rows: Annotated[tuple[tuple[Text, ...], ...], Field(min_length=1)] = ((),)
    numbers: Annotated[tuple[Real, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if len(self.rows) != len(self.numbers) or {len(row) for row in self.rows} != {
            len(self.names)
        }:
            raise ValueError("each row of an amount has a value for each name, and a number")
        return self

    def covers(self, bindings: Mapping[str, str]) -> bool:
        """Whether it has a number for a configuration, given its swept values."""
        return tuple(bindings.get(name, "") for name in self.names) in self._of

    @cached_property
    def _of(self) -> dict[tuple[str, ...], float]:
        return dict(zip(self.rows, self.numbers, strict=True))

    def of(self, bindings: Mapping[str, str]) -> float:
        """Return the number of a configuration, given its swept values. Raises KeyError."""
        return self._of[tuple(bindings[name] for name in self.names)]


class Window(Model):
    """The part of a cell's time in which a metric is measured, s after the epoch; its end is no
    longer in it.

    begin: None: the end of the warm-up. end: None: that of the cell.
    """

    begin: Annotated[Amount | None, Field(exclude_if=absent)] = None
    end: Annotated[Amount | None, Field(exclude_if=absent)] = None


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
    values: Annotated[tuple[MetricName, ...], Field(exclude_if=empty)] = ()
    window: Annotated[Window | None, Field(exclude_if=absent)] = None
    varied: Annotated[dict[Word, Amount], Field(exclude_if=_nothing)] = {}
    mark: Annotated[Mark | Nothing, Field(exclude_if=_nothing)] = ""
    is_drawn: Annotated[bool, Field(exclude_if=off)] = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the requested values."""
        return tuple(f"{name}{self.mark}" for name in self.values or (self.name,))

    @property
    def label(self) -> str:
        """Its name among all requests of an experiment: `goodput`, `goodput(from: 5s)`."""
        return f"{self.name}{self.mark}"

    def at(self, bindings: Mapping[str, str]) -> MetricRequest:
        """Return the request with the options of a configuration, given its swept values."""
        if not self.varied:
            return self
        varied = {name: amount.of(bindings) for name, amount in self.varied.items()}
        return self.model_copy(update={"options": {**self.options, **varied}, "varied": {}})


class Operand(Model):
    """A value of a metric in a formula.

    flows: whose; empty: each flow's. is_each: whether it is that of the flow which the result is
    of; else the only one there is.
    """

    metric: ValueName
    flows: tuple[FlowLabel, ...] = ()
    is_each: Annotated[bool, Field(exclude_if=off)] = False


class Formula(Model):
    """A custom metric: what each cell has of it follows from other values of that cell.

    unit: SI unit of its values. flows: whose values it has; empty: each flow's; None: the cell's.
    steps: in reverse Polish notation: the number of an operand, an amount, or an operator, which
    takes the two values before it, `sqrt` one. All are in base units: bit, s, packets.
    """

    name: Word
    text: Text
    unit: Text
    flows: tuple[FlowLabel, ...] | None = None
    operands: Annotated[tuple[Operand, ...], Field(min_length=1)]
    steps: Annotated[tuple[Index | Amount | Operator, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        depth = 0
        for step in self.steps:
            if isinstance(step, int) and step >= len(self.operands):
                raise ValueError("a formula refers to an operand that it lacks")
            taken = (1 if step == "sqrt" else 2) if isinstance(step, str) else 0
            if depth < taken:
                raise ValueError("an operator of a formula lacks the values before it")
            depth += 1 - taken
        if depth != 1:
            raise ValueError("the steps of a formula give more than one value")
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
    """What is computed of each cell.

    measure: what the file names there, metrics of its own among them. implied: what else claims,
    figures, precisions and formulas are about, metrics of its own among them: of these nothing but
    the named values is kept, and what figures draw. formulas: the
    metrics of its own, each after those that it needs. comparisons: values that follow from a cell
    and from its baselines.
    """

    measure: tuple[MetricRequest, ...] = ()
    implied: tuple[MetricRequest, ...] = ()
    formulas: tuple[Formula, ...] = ()
    comparisons: Annotated[tuple[Comparison, ...], Field(exclude_if=empty)] = ()

    @property
    def metrics(self) -> tuple[MetricRequest, ...]:
        """Those of `measure` and the implied ones, without metrics of the file's own."""
        own = {formula.name for formula in self.formulas}
        return tuple(r for r in (*self.measure, *self.implied) if r.name not in own)

    @cached_property
    def amounts(self) -> tuple[Amount, ...]:
        """Every number that may depend on the configuration."""
        windows = (request.window for request in self.metrics if request.window is not None)
        found = [end for window in windows for end in (window.begin, window.end) if end is not None]
        found += (amount for request in self.metrics for amount in request.varied.values())
        steps = (step for formula in self.formulas for step in formula.steps)
        return (*found, *(step for step in steps if isinstance(step, Amount)))

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
    claims: Annotated[bool, Field(exclude_if=off)] = False


class Selection(Model):
    """The cells for which a condition holds, listed so that readers need no syntax.

    text: the condition as written. names: the swept names (and `repetition`, `load`, `flow`) that
    it depends on; rows: their values for which it holds, in canonical text.
    """

    text: Text
    names: tuple[Word, ...]
    rows: tuple[tuple[Text, ...], ...]

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


class Expression(Model):
    """An expression of statistics, as a claim has it: a value for each configuration that they
    share.

    name: of the `let` that holds it; empty: it is written in the figure. text: as written. form,
    unit, shared, units: as of a claim; the units have no bounds.
    """

    name: Word | Nothing = ""
    text: Text
    form: Combination
    unit: Text
    shared: tuple[Word, ...]
    units: Annotated[tuple[ClaimUnit, ...], Field(min_length=1, max_length=1000)]


class Shown(Model):
    """A metric that a figure shows beside its first one; flow: whose, empty for all."""

    metric: ValueName
    flow: Annotated[FlowLabel | Nothing, Field(exclude_if=_nothing)] = ""


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
    flow: Annotated[FlowLabel | Nothing, Field(exclude_if=_nothing)] = ""
    second: Annotated[Shown | None, Field(exclude_if=absent)] = None
    expression: Annotated[Expression | None, Field(exclude_if=absent)] = None
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
