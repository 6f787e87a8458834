"""Cells and their baselines: the values that compare both, from the results of each.

A baseline is a cell like any other, stored under its key. It is no row of the run's tables, but
what others are compared with: the table `baselines` has its values beside each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fairc.compiler.plan import Cell, Harm
from fairc.dsl.model.names import called, label_of
from fairc.runtime.measurement.results import CellResult, MetricValue
from fairc.runtime.metrics.harm import compare
from fairc.runtime.metrics.registry import full_name, value_named

from . import verdicts

NOT_RUN = "its baseline has not been run"


def places(cells: Iterable[Cell]) -> frozenset[tuple[str, int]]:
    """Return the configurations and repetitions of the baselines that cells are compared with."""
    return frozenset(
        (configuration, cell.repetition)
        for cell in cells
        for configuration in cell.baselines.values()
    )


def with_baselines(
    cells: Callable[[], Iterable[Cell]], wanted: Callable[[Cell], bool]
) -> Iterator[Cell]:
    """Yield the cells of configurations that are wanted, and their baselines, in order.

    cells: returns those of a plan, and is called twice.
    """
    needed = places(cell for cell in cells() if not cell.baseline and wanted(cell))
    for cell in cells():
        place = cell.configuration, cell.repetition
        if place in needed if cell.baseline else wanted(cell):
            yield cell


@dataclass(frozen=True, slots=True)
class Alone:
    """A value that a flow of a cell has in its baseline.

    flows: what the flows that are alone there are called together. baseline: the id of the cell;
    None: it has not been run. verdict: `valid`, `flagged`, `invalid` or `failed`; None likewise.
    """

    flows: str
    flow: str | None
    load: int | None
    metric: str
    value: float | None
    unit: str
    reason: str
    baseline: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class _Result:
    """What counts of a baseline: why it has no values, if so; values by metric, flow and load."""

    cell: str
    verdict: str
    reason: str
    values: Mapping[tuple[str, str | None, int | None], MetricValue]


class Baselines:
    """The baselines of a plan, as far as their results have been added.

    harms: what compares cells with them.
    """

    def __init__(self, harms: Sequence[Harm]) -> None:
        self._harms = harms
        self._found: dict[tuple[str, int], _Result] = {}

    def add(self, cell: Cell, result: CellResult) -> None:
        """Take the result of a baseline."""
        word = verdicts.word(result)
        why = "; ".join(result.reasons or filter(None, [result.error]))
        reason = "" if verdicts.counts(result) else f"its baseline is {word}: {why or 'no reason'}"
        self._found[cell.configuration, cell.repetition] = _Result(
            cell.id, word, reason, {(v.metric, v.flow, v.load): v for v in result.metrics}
        )

    def are_there(self, cell: Cell) -> bool:
        """Whether the results of all baselines of a cell have been added."""
        return places([cell]) <= self._found.keys()

    def compared(self, cell: Cell, result: CellResult) -> tuple[CellResult, tuple[Alone, ...]]:
        """Return the result of a cell with the values that compare it, and what it has alone."""
        if not self._harms or result.status != "ok":
            return result, ()
        values: list[MetricValue] = []
        alone: dict[tuple[str, str | None, int | None], Alone] = {}
        for harm in self._harms:
            for beside, name in _compared(harm, cell, result):
                value = value_named(harm.name)
                configuration = cell.baselines.get(name)
                if configuration is None:  # there are no others
                    known = beside.size is not None
                    why = beside.reason or "no value"
                    none = value.of(0.0 if known else None, beside.flow, why, beside.load)
                    values.append(none)
                    continue
                of = self._found.get((configuration, cell.repetition))
                place = beside.metric, beside.flow, beside.load
                solo = of.values.get(place) if of is not None and not of.reason else None
                reason = of.reason if of is not None else NOT_RUN
                values.append(compare(value, beside, solo, reason))
                alone[place] = Alone(
                    flows=name,
                    flow=beside.flow,
                    load=beside.load,
                    metric=beside.metric,
                    value=solo.value if solo else None,
                    unit=beside.unit,
                    reason=reason or (solo.reason if solo else "no value"),
                    baseline=of.cell if of else None,
                    verdict=of.verdict if of else None,
                )
        metrics = (*result.metrics, *values)
        return result.model_copy(update={"metrics": metrics}), tuple(alone.values())


def _compared(harm: Harm, cell: Cell, result: CellResult) -> Iterator[tuple[MetricValue, str]]:
    """Yield each value of a cell that is compared, with the name of the flows that are alone."""
    names = harm.flows or tuple(dict.fromkeys(flow.declared or flow.name for flow in cell.flows))
    metric = full_name(harm.metric)
    for name in names:
        members = {label_of(flow) for flow in cell.flows if name in called(flow)}
        for value in result.metrics:
            if value.metric == metric and value.flow in members:
                yield value, name
