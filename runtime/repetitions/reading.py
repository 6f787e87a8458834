"""Values of the cells of a run, and which of them count, read from the run's tables."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from fairc.compiler.plan import Cell, Formula, Plan
from fairc.dsl.core.registry import suggest
from fairc.dsl.model.expressions import CellValue, Expression, Leaf, Statistic, nodes, sums
from fairc.dsl.model.names import names_of
from fairc.runtime.measurement.results import CellResult, MetricValue
from fairc.runtime.metrics.base import Value as MetricsValue
from fairc.runtime.metrics.registry import value_named
from fairc.runtime.statistics.repeated import repeated
from fairc.runtime.store import verdicts
from fairc.runtime.store.baselines import Baselines
from fairc.runtime.store.tables import RunTables, axis_columns, quoted

from .crowds import MOST_FLOWS, crowds
from .remarks import merged
from .stationarity import Nonstationary, nonstationary
from .times import Time, Times, different, times

# The columns of `cells` that begin an Outcome, in its order; swept names follow.
_CELL = (
    "cell, configuration, repetition, seed, status, verdict, coalesce(reasons, []), result_sha256"
)
_FIELDS = 8


class UnknownName(Exception):
    """A metric, a statistic or an axis that does not exist; `kind` says which."""

    def __init__(self, kind: str, name: str, choices: Iterable[str], hint: str = "") -> None:
        self.kind, self.name, self.choices = kind, name, tuple(choices)
        near = suggest(name, self.choices)
        hint = f"did you mean `{near}`? " if near else hint
        super().__init__(f"no {kind} is called `{name}`; {hint}known: {', '.join(self.choices)}")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One cell of the run, finished or failed.

    verdict: None when it failed. result_sha256: of its raw artefacts. bindings: its swept values in
    file order.
    """

    cell: str
    configuration: str
    repetition: int
    seed: str
    status: str
    verdict: str | None
    reasons: Sequence[str]
    result_sha256: str = ""
    bindings: tuple[tuple[str, str], ...] = ()

    @property
    def counts(self) -> bool:
        """Whether the cell enters summaries."""
        return verdicts.counts(self)

    @property
    def verdict_word(self) -> str:
        """`valid`, `flagged`, `invalid` or `failed`."""
        return verdicts.word(self)


class Measure(NamedTuple):
    """One number of each cell: its metric, its flow (or None), its SI base unit.

    load: number of the page load that it is of, or None: loads of a cell are not independent, so
    each is summarised by itself.
    """

    metric: str
    flow: str | None
    unit: str
    load: int | None = None

    @property
    def label(self) -> str:
        """Name it: `plt of web, load 2`."""
        of = f" of {self.flow}" if self.flow else ""
        return f"{self.metric}{of}{'' if self.load is None else f', load {self.load}'}"


class Value(NamedTuple):
    """The value of a measure in a finished cell.

    number: None where it is not defined; then `reason` may say why. protocol: HTTP version of a
    page load.
    censored: how many of the `started` things that it is of had not ended (MetricValue).
    """

    measure: Measure
    outcome: Outcome
    number: float | None
    reason: str = ""
    protocol: str | None = None
    censored: int = 0
    started: int = 0

    @property
    def size(self) -> float | None:
        """The number; infinite where it is larger than any that was observed; None where it is not
        defined.
        """
        return math.inf if self.number is None and self.censored else self.number

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Between what it is where something had not ended, or has no number; None for any other,
        and for one that is larger than any that was observed.
        """
        if self.number is None:
            return (-math.inf, math.inf) if self.started and not self.censored else None
        if not self.censored:
            return None
        known = 1 - self.censored / self.started
        kind = _value(self.measure.metric)
        if kind is not None and kind.bounds == "mean" and self.number >= 0:
            return self.number * known, math.inf
        if kind is not None and kind.bounds == "fraction":
            return self.number * known, self.number * known + 1 - known
        if kind is not None and kind.bounds == "sum":
            return self.number, math.inf
        return -math.inf, math.inf


class CellValues(NamedTuple):
    """A cell that has a result, and what it measured."""

    outcome: Outcome
    values: tuple[Value, ...]


class Measurements(ABC):
    """The measurements of cells of a plan.

    axes: swept names in file order. repeated: how often the plan repeats its configurations.
    Whatever reads tables raises TableError.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.axes = tuple(axis.name for axis in plan.axes)
        self.repeated = repeated(plan)
        # Whether the configurations are a random sample: of those that draw alike the cells are
        # paired.
        self.sampled = plan.unsampled > 0 and not plan.common

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The cells."""
        raise NotImplementedError

    @property
    def ids(self) -> set[str]:
        """The cells that have a result, by id."""
        return {outcome.cell for outcome in self.outcomes}

    @cached_property
    def units(self) -> Mapping[str, str]:
        """Full name -> unit of everything that was measured."""
        raise NotImplementedError

    @cached_property
    def moving(self) -> Nonstationary:
        """The tests of the flows of each configuration, over the cells that count."""
        raise NotImplementedError

    @cached_property
    def times(self) -> Times:
        """When the rates of each flow were measured, over the cells that count."""
        raise NotImplementedError

    @cached_property
    def flows(self) -> Collection[Collection[str]]:
        """The flows of each finished cell; those of cells with the same flows once."""
        raise NotImplementedError

    def crowds(self, shown: Collection[str], above: int = MOST_FLOWS) -> dict[str, str]:
        """Return the name of all flows of a statement, by flow, of those that are shown as one; the
        arguments are those of `crowds.crowds`.
        """
        return crowds(self.flows, frozenset(shown), above)

    def has_own_times(self, metric: str) -> bool:
        """Return whether a metric is a rate over the flow's own time, or is made of such rates.

        metric: full name.
        """
        if (own := self._formulas.get(metric)) is not None:
            return any(self.has_own_times(part.metric) for part in own.operands)
        kind = _value(metric)
        return kind is not None and kind.of_own_time

    def unequal_times(
        self, metric: str, configuration: str, flows: Collection[str]
    ) -> Mapping[str, Time]:
        """Return over which time the value of each flow is; empty where all are over the same.

        flows: also names of all with an index, whose sum a value of a group is. metric: full name;
        there is nothing for one that is no rate over the flow's own time. For a metric of the
        file's own there are the times of the rates that it adds up.
        """
        if (own := self._formulas.get(metric)) is not None:
            return self.times_of_sum(own.expression, configuration, flows)
        found = self._times(metric, configuration, flows)
        return found if different(found) else {}

    def times_of_sum(
        self, expression: Expression, configuration: str, flows: Collection[str] = ()
    ) -> Mapping[str, Time]:
        """Return over which times the rates are that an expression adds up; empty where all are
        over the same, or it adds up none.

        flows: that it has values of, where it is of each flow. Of statistics, those of other
        configurations count as nothing.
        """
        for leaves in sums(expression):
            found: dict[str, Time] = {}
            for leaf in leaves:
                found |= self._times_of(leaf, configuration, flows, alone=len(leaves) == 1)
            if different(found):
                return found
        return {}

    def times_of_sums(self, expression: Expression) -> Mapping[str, Mapping[str, Time]]:
        """Return the same of an expression of statistics, by configuration."""
        rows = {leaf.cells: None for leaf in nodes(expression) if isinstance(leaf, Statistic)}
        known = [self._rows[row] for row in rows if row in self._rows]
        found = {of: self.times_of_sum(expression, of) for of in known}
        return {of: own for of, own in found.items() if own}

    def _times_of(
        self, leaf: Leaf, configuration: str, flows: Collection[str], *, alone: bool
    ) -> Mapping[str, Time]:
        """Return over which times the rates are that a part of an expression is, or adds up.

        alone: whether it is no part of a sum.
        """
        if isinstance(leaf, CellValue):
            of = leaf.flows or (() if alone else flows)
        elif leaf.cells == tuple(self._bindings[configuration].values()):
            of = (leaf.flow,) if leaf.flow else ()
        else:
            return {}
        if (own := self._formulas.get(leaf.metric)) is None:
            return self._times(leaf.metric, configuration, of)
        if alone:
            return self.times_of_sum(own.expression, configuration, of)
        parts = (self._times_of(part, configuration, of, alone=False) for part in own.operands)
        return {flow: time for times in parts for flow, time in times.items()}

    def _times(self, metric: str, configuration: str, flows: Collection[str]) -> Mapping[str, Time]:
        """Return over which time the value of each flow is; arguments as of `unequal_times`."""
        if not self.has_own_times(metric) or configuration not in self.times:
            return {}
        begin_s, until_s = -math.inf, math.inf
        if (window := self.plan.requests.window_of(metric)) is not None:
            given_s, until_s = window.of(self._bindings[configuration])
            begin_s = begin_s if given_s is None else given_s
        return {
            flow: (max(begin, begin_s), min(end, until_s))
            for flow, (begin, end) in self.times[configuration].items()
            if not names_of(flow).isdisjoint(flows)
        }

    @cached_property
    def _rows(self) -> Mapping[tuple[str, ...], str]:
        return {tuple(names.values()): of for of, names in self._bindings.items()}

    @cached_property
    def _formulas(self) -> Mapping[str, Formula]:
        return {formula.name: formula for formula in self.plan.formulas}

    @cached_property
    def _bindings(self) -> Mapping[str, Mapping[str, str]]:
        return {o.configuration: dict(o.bindings) for o in self.outcomes}

    @abstractmethod
    def values(self, metric: str | None = None) -> list[Value]:
        """Return the values of all finished cells, invalid ones included, in the order of the
        cells.

        metric: full name; None: of all metrics.
        """
        ...

    def named(self, metric: str) -> tuple[str, str]:
        """Return the full name and the unit of a metric; one of several values stands for its
        first.

        Raises UnknownName if there is none, or the run has not measured it.
        """
        try:
            value = self._formulas.get(metric) or value_named(metric)
        except KeyError:
            if metric in self.units:  # of a package that is not installed here
                return metric, self.units[metric]
            raise UnknownName("metric", metric, self.units) from None
        if self.units and value.name not in self.units:
            again = "add it to `measure` and run the file again: cells are analysed, not run; "
            raise UnknownName("metric of this run", metric, self.units, again)
        return value.name, value.unit

    def cells(self, metrics: Iterable[str]) -> list[CellValues]:
        """Return every cell with its values of some metrics, by their full names."""
        found: dict[str, list[Value]] = {}
        for value in (value for metric in metrics for value in self.values(metric)):
            found.setdefault(value.outcome.cell, []).append(value)
        return [CellValues(o, tuple(found.get(o.cell, ()))) for o in self.outcomes]


class StoredMeasurements(Measurements):
    """The measurements of a run's cells, by its tables."""

    def __init__(self, opened: RunTables, plan: Plan) -> None:
        super().__init__(plan)
        self._tables = opened

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Every cell of the tables, in their order, which is the plan's."""
        columns = "".join(f", {quoted(name)}" for name in axis_columns(self.axes).values())
        found = []
        for row in self._tables.rows(f"SELECT {_CELL}{columns} FROM cells"):
            bindings = tuple(zip(self.axes, map(str, row[_FIELDS:]), strict=True))
            fields: Any = (*row[:_FIELDS], bindings)  # in the order of Outcome's
            found.append(Outcome(*fields))
        return tuple(found)

    @cached_property
    def moving(self) -> Nonstationary:
        """The tests of the flows of each configuration, over the cells that count."""
        configurations = {o.cell: o.configuration for o in self.outcomes if o.counts}
        rows = self._tables.rows("SELECT cell, flow, stationarity_p, declared_change FROM flows")
        return nonstationary((configurations[c], *test) for c, *test in rows if c in configurations)

    @cached_property
    def times(self) -> Times:
        """When the rates of each flow were measured, over the cells that count."""
        configurations = {o.cell: o.configuration for o in self.outcomes if o.counts}
        rows = self._tables.rows("SELECT cell, flow, rate_from_s, rate_until_s FROM flows")
        return times((configurations[c], *of) for c, *of in rows if c in configurations)

    @cached_property
    def flows(self) -> Collection[Collection[str]]:
        """The flows of each finished cell; those of cells with the same flows once."""
        rows = self._tables.rows(
            "SELECT DISTINCT list(flow ORDER BY flow) FROM flows GROUP BY cell ORDER BY ALL"
        )
        return [frozenset(flows) for (flows,) in rows]

    @cached_property
    def units(self) -> Mapping[str, str]:
        """Full name -> unit of everything that was measured."""
        return dict(self._tables.rows("SELECT DISTINCT metric, unit FROM metrics ORDER BY ALL"))

    def values(self, metric: str | None = None) -> list[Value]:
        """Return the values of all finished cells, in the order of the tables."""
        where, which = ("", ()) if metric is None else (" WHERE metric = ?", (metric,))
        rows = self._tables.rows(
            "SELECT metric, flow, unit, load, cell, value, reason, protocol, censored, started"
            f" FROM metrics{where}",
            which,
        )
        finished = {o.cell: o for o in self.outcomes if o.status == "ok"}
        found = []
        measures: dict[Measure, Measure] = {}  # one for all cells: most values are of few
        for *of, cell, number, reason, protocol, censored, started in rows:
            if (outcome := finished.get(cell)) is not None:
                known = number is not None and math.isfinite(number)
                number = number if known else None
                counts = censored or 0, started or 0
                measure = Measure(*of)
                measure = measures.setdefault(measure, measure)
                found.append(Value(measure, outcome, number, reason or "", protocol, *counts))
        return found


class InterimMeasurements(Measurements):
    """The measurements of the cells of an interim analysis, by their results.

    It does not say which flows still move, nor over which times their rates are, nor which are
    shown as one.
    """

    def __init__(self, plan: Plan, cells: Iterable[CellValues]) -> None:
        super().__init__(plan)
        in_order = sorted(cells, key=lambda cell: cell.outcome.repetition)
        self._outcomes = tuple(cell.outcome for cell in in_order)
        self._values = [v for c in in_order if c.outcome.status == "ok" for v in c.values]

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The cells by their repetition."""
        return self._outcomes

    @cached_property
    def units(self) -> Mapping[str, str]:
        """Full name -> unit of everything that was measured."""
        return {value.measure.metric: value.measure.unit for value in self._values}

    @cached_property
    def moving(self) -> Nonstationary:
        """Nothing."""
        return {}

    @cached_property
    def times(self) -> Times:
        """Nothing."""
        return {}

    @cached_property
    def flows(self) -> Collection[Collection[str]]:
        """Nothing."""
        return ()

    def values(self, metric: str | None = None) -> list[Value]:
        """Return the values of all finished cells, by repetition."""
        return [v for v in self._values if metric in (None, v.measure.metric)]


def outcome_of(cell: Cell, result: CellResult) -> Outcome:
    """Return how a cell came out, from its result."""
    return Outcome(
        cell.id,
        cell.configuration,
        cell.repetition,
        str(cell.seed),
        result.status,
        result.verdict,
        result.why,
        result.result_sha256,
        tuple(cell.bindings.items()),
    )


def of_result(cell: Cell, result: CellResult) -> CellValues:
    """Return a cell with its values, from its result."""
    outcome = outcome_of(cell, result)
    return CellValues(outcome, valued(outcome, result.metrics))


def valued(outcome: Outcome, metrics: Iterable[MetricValue]) -> tuple[Value, ...]:
    """Return the values of a cell, from its metrics."""
    each = ((v, Measure(v.metric, v.flow, v.unit, v.load)) for v in metrics)
    return tuple(
        Value(measure, outcome, v.value, v.reason, None, v.censored, v.started)
        for v, measure in each
    )


def of_results(plan: Plan, results: Iterable[tuple[Cell, CellResult]]) -> Iterator[CellValues]:
    """Yield the cells of configurations with their values, by their results.

    results: each baseline before the cells that are compared with it; cells whose baselines are not
    among them are left out, as they are not complete.
    """
    baselines = Baselines(plan.requests)
    for cell, result in results:
        if cell.baseline:
            baselines.add(cell, result)
        elif baselines.are_there(cell):
            yield of_result(cell, baselines.compared(cell, result)[0])


@dataclass(slots=True)
class Omissions:
    """The values that a sample leaves out: things that had not ended, and repetitions without a
    value.

    censored, started: of all repetitions together. endless, undefined: why a repetition has no
    number, one reason for each: it is larger than any that was observed, or not defined at all.
    values: with a number.
    """

    censored: int = 0
    started: int = 0
    values: int = 0
    endless: list[str] = field(default_factory=list)
    undefined: list[str] = field(default_factory=list)

    def add(self, value: Value) -> None:
        """Count the value of a cell that counts."""
        if value.number is not None:
            self.values += 1
            self.censored += value.censored
            self.started += value.started
        elif value.censored:
            self.endless.append(value.reason)
        else:
            self.undefined.append(value.reason)

    def text(self, metric: str) -> str:
        """Say what is left out; empty if nothing is, or all. metric: full name."""
        total = self.values + len(self.endless) + len(self.undefined)
        parts = [self.unfinished(metric)] if self.censored else []
        for found, what in (
            (self.endless, "larger than any value"),
            (self.undefined, "not defined"),
        ):
            if found and len(self.undefined) < total:
                why = "; ".join(merged(sorted({reason for reason in found if reason})))
                which = f"{len(found)} of {total} {'repetition' if total == 1 else 'repetitions'}"
                parts.append(f"{what} in {which}{f': {why}' if why else ''}")
        return "; ".join(parts)

    def unfinished(self, metric: str) -> str:
        """Say what had not ended in the repetitions with a number; empty if all had.

        metric: full name.
        """
        if not self.censored:
            return ""
        return f"{self.censored} of {self.started} {_censoring(metric)}"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why repetitions have no number, each once, whatever numbers are in it."""
        found = {reason for reason in (*self.endless, *self.undefined) if reason}
        return tuple(merged(sorted(found)))


def _censoring(metric: str) -> str:
    """Return what had not ended, and how it counts, as text."""
    known = _value(metric)
    return (known.censoring if known is not None else "") or "had not ended"


def _value(metric: str) -> MetricsValue | None:
    """Return a value by its full name; None for one of a file's own, or of a plug-in that is not
    installed here.
    """
    try:
        return value_named(metric)
    except KeyError:
        return None


def measured(folder: Path, plan: Plan) -> Measurements:
    """Return what the cells of a plan measured. folder: of the tables."""
    return StoredMeasurements(RunTables(folder), plan)
