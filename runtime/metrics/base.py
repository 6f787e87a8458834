"""Metrics: a name, the values with their units, and the function that computes them."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import update_wrapper
from typing import Literal

from fairc.compiler.plan import Cell, MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.curves import Curve, Trace
from fairc.runtime.measurement.results import MetricValue
from fairc.words.metrics import METRICS

UNSEEN = "the bottleneck is on the server itself, so packets are not seen before its queue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Presentation:
    """The presentation of a value; the defaults suit most. Other values are named in full.

    title: its name on a page, with its scope in brackets; empty: its full name.
    rank: its place among the values of a page, the smallest first.
    always: whether the answer of a page has it wherever it was measured, if `measure` names it or
    not.
    is_yes_or_no: whether 1 is printed as yes and 0 as no.
    is_percent: whether 0.0015 is printed as 0.15 %.
    has_sides: whether it is from -0.5 to 0.5, below 0 where the first of two sessions dominates,
    above 0 the second.
    beside: the value of each flow that stands beside it; empty for none.
    stand_in: the value in its place where it is not defined; empty for none.
    chance: the value whose distance from 1 is what chance alone would give this one; empty for
    none.
    typical: its place among the values that choose typical configurations and repetitions; None: it
    chooses none.
    column: of the table `flows`, which has it of every run, measured or not; empty for none.
    """

    title: str = ""
    rank: int = 5
    always: bool = False
    is_yes_or_no: bool = False
    is_percent: bool = False
    has_sides: bool = False
    beside: str = ""
    stand_in: str = ""
    chance: str = ""
    typical: int | None = None
    column: str = ""


Bounds = Literal["mean", "fraction", "sum", "none"]
"""What the number of a value over all but some things that had not ended says about all of them:
their mean is at least the sum over their number, as none is below 0 (`mean`); their share is
between those without and with all of them (`fraction`); it only grows (`sum`); nothing (`none`)."""


@dataclass(frozen=True, slots=True)
class Value:
    """One number that a metric gives: full name (`fairness.F`), SI unit, meaning in a line.

    censoring: of a value that is biased where something had not ended (`censored`): what had not,
    and how it counts, to follow "3 of 9"; else empty. bounds: what it says about all together.
    shown: how it is presented. of_own_time: whether it is a rate over the flow's own time, which
    ends with the flow.
    """

    name: str
    unit: str
    meaning: str
    censoring: str = ""
    shown: Presentation = Presentation()
    bounds: Bounds = "none"
    of_own_time: bool = False

    def of(
        self,
        number: float | None,
        flow: str | None = None,
        reason: str = "",
        load: int | None = None,
        censored: tuple[int, int] = (0, 0),
    ) -> MetricValue:
        """Return this value for a cell, flow or page load.

        censored: how many had not ended, of how many (MetricValue).
        Raises ValueError for a number that is None or not finite, unless a reason is given.
        """
        known = number is not None and math.isfinite(number)
        if not known and not reason:
            raise ValueError(f"{self.name} without a value needs a reason")
        return MetricValue(
            metric=self.name,
            flow=flow,
            value=float(number) if known and number is not None else None,
            unit=self.unit,
            reason="" if known else reason,
            load=load,
            censored=censored[0],
            started=censored[1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """Where the values of a metric over time are in the tables of a run, for its first value and in
    its unit.

    table: with `cell`, `flow` and `t_s`. where: which of its rows; `{mark}` is what names of values
    end with (`(from: 5s)`). value: of the rows of a bin of time, in SQL; `{slot_s}` is the length
    of a slot. meaning: what a value is, as text.
    """

    table: str
    where: str
    value: str
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """Where the values of a metric within a cell are in the tables of a run, in the unit of its
    first value.

    table: with `cell` and `flow`. column: the value, null where it is infinite. where: which of its
    rows: `begin_s` and `until_s` are what is measured of a cell, `{mark}` as of a course. there: a
    value of the metric that every cell has. things: what has a value, in full, `{when}` the part of
    the time; word: in one word. took: what a share is of. infinite: what
    one without a value is. counted: the column that says how many things a cell has, where its rows
    are places of the distribution function and not the things.
    """

    table: str = ""
    column: str = ""
    where: str = ""
    there: str = ""
    things: str
    word: str
    took: str = "are at most this"
    infinite: str = ""
    counted: str = "0"


def declared(
    name: str,
    meaning: str,
    censoring: str = "",
    shown: Presentation = Presentation(),
    bounds: Bounds = "none",
    of_own_time: bool = False,
) -> Value:
    """Return a value that the language declares, with its unit; arguments as of `Value`.

    Raises KeyError for one that the language does not have.
    """
    metric, _, value = name.partition(".")
    entry = METRICS[metric]
    if value and value not in entry.values:
        raise KeyError(name)
    return Value(name, entry.unit_of(value), meaning, censoring, shown, bounds, of_own_time)


Compute = Callable[[Measurement, MetricRequest], tuple[MetricValue, ...]]


@dataclass(frozen=True, slots=True)
class Solo:
    """Value of a flow in a baseline. value: None: nothing counts. reason: why it has no number."""

    value: MetricValue | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Sides:
    """The inputs of a value: a cell and its baselines.

    value: what is compared. flows: whose; empty: everybody's. own: what the cell has of it by
    itself. beside: what flows have there, beside others, of the metric that it follows from. alone:
    returns what a flow has of that metric in a baseline, given what its flows are called together,
    the flow and a page load; None where the cell has no such baseline.
    """

    value: Value
    flows: tuple[str, ...]
    cell: Cell
    own: Sequence[MetricValue]
    beside: Sequence[MetricValue]
    alone: Callable[[str, str | None, int | None], Solo | None]


Compare = Callable[[Sides], Iterator[MetricValue]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric; its definition, formula and source are the docstring of its module.

    name: as in the language. values: what it gives; the first is what the bare name means.
    compute: returns all values of one cell from its measurement and a request.
    traces: returns the metric's time series, if it has any. curves: returns its other curves.
    figure: the default figure that shows it over time; empty for none. course: for `line` over
    time; courses: for other values than the first, by name. distribution: for `cdf` within cells.
    compare: yields the values that follow from a cell and its baselines.
    """

    name: str
    values: tuple[Value, ...]
    compute: Compute
    traces: Callable[[Measurement, MetricRequest], tuple[Trace, ...]] | None = None
    curves: Callable[[Measurement, MetricRequest], tuple[Curve, ...]] | None = None
    figure: str = ""
    course: Course | None = None
    courses: Mapping[str, Course] = field(default_factory=dict)
    distribution: Distribution | None = None
    compare: Compare | None = None

    @property
    def definition(self) -> str:
        """The docstring of the module that computes it."""
        return inspect.getdoc(sys.modules[self.compute.__module__]) or ""


def of_module(compute: Compute, function: Callable[..., object]) -> Compute:
    """Return `compute`, attributed to the module of another function: its docstring defines the
    metric.
    """
    return update_wrapper(compute, function, ("__module__",), ())


def per_flow(of_flow: Callable[[Measurement, FlowRecord], tuple[MetricValue, ...]]) -> Compute:
    """Return a `compute` that gives the values of each requested flow."""

    def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
        flows = measurement.sessions(request.sessions)
        return tuple(value for flow in flows for value in of_flow(measurement, flow))

    return of_module(compute, of_flow)


def asked(
    measurement: Measurement, request: MetricRequest, usual: Callable[[FlowRecord], bool]
) -> tuple[FlowRecord, ...]:
    """Return the requested flows; where the request names none, those that are usual."""
    flows = measurement.sessions(request.sessions)
    return flows if request.sessions else tuple(flow for flow in flows if usual(flow))


def window(measurement: Measurement, flow: FlowRecord) -> tuple[float, float]:
    """Return when a flow is measured, s: from the later of its start and the beginning of the
    measurement to the earlier of their ends.
    """
    return max(flow.start_s, measurement.begin_s), min(flow.end_s, measurement.until_s)


def inactive(measurement: Measurement, who: str = "the flow") -> str:
    """Return the reason where nobody is active while the cell is measured."""
    if measurement.window is not None:
        return f"{who} was not active in the window"
    return f"{who} ended before the warm-up did"
