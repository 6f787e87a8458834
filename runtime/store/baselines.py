"""Cells and their baselines: the values that compare both, from the results of each.

A baseline is a cell like any other, stored under its key. It is no row of the run's tables, but
what others are compared with: the table `baselines` has its values beside each of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from fairc.compiler.plan import Cell, Requests
from fairc.dsl.model.metric_names import metric_of
from fairc.runtime.analysis import formulas
from fairc.runtime.measurement.results import CellResult, MetricValue, replaced
from fairc.runtime.metrics.base import Sides, Solo
from fairc.runtime.metrics.registry import METRICS, full_name, value_named

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
    """The values of a baseline that count, by metric, flow and load, or why it has none."""

    cell: str
    verdict: str
    reason: str
    values: Mapping[tuple[str, str | None, int | None], MetricValue]


class Baselines:
    """The baselines of a plan, as far as their results have been added.

    requests: what is computed of its cells.
    """

    def __init__(self, requests: Requests) -> None:
        self._requests = requests
        self._found: dict[tuple[str, int], _Result] = {}

    def add(self, cell: Cell, result: CellResult) -> None:
        """Take the result of a baseline."""
        word = verdicts.word(result)
        why = "; ".join(result.why) or "no reason"
        reason = "" if verdicts.counts(result) else f"its baseline is {word}: {why}"
        self._found[cell.configuration, cell.repetition] = _Result(
            cell.id, word, reason, {(v.metric, v.flow, v.load): v for v in result.metrics}
        )

    def are_there(self, cell: Cell) -> bool:
        """Whether the results of all baselines of a cell have been added."""
        return places([cell]) <= self._found.keys()

    def compared(self, cell: Cell, result: CellResult) -> tuple[CellResult, tuple[Alone, ...]]:
        """Return the result of a cell with the values that follow from its baselines as well, and
        what it has there.
        """
        comparisons = self._requests.comparisons
        if not comparisons or result.status != "ok":
            return result, ()
        values: list[MetricValue] = []
        alone: dict[tuple[str, str, str | None, int | None], Alone] = {}
        for comparison in comparisons:
            value, metric = value_named(comparison.name), full_name(comparison.metric)
            compare = METRICS[metric_of(comparison.name)].compare
            assert compare is not None, comparison.name
            sides = Sides(
                value=value,
                flows=comparison.flows,
                cell=cell,
                own=[one for one in result.metrics if one.metric == value.name],
                beside=[one for one in result.metrics if one.metric == metric],
                alone=partial(self._alone, cell, metric, alone),
            )
            values += compare(sides)
        known = replaced(result.metrics, values)
        metrics = formulas.renewed(cell, self._requests.formulas, known)
        return result.model_copy(update={"metrics": metrics}), tuple(alone.values())

    def _alone(
        self,
        cell: Cell,
        metric: str,
        seen: dict[tuple[str, str, str | None, int | None], Alone],
        name: str,
        flow: str | None,
        load: int | None,
    ) -> Solo | None:
        """Return what a flow has of a metric in a baseline of a cell; notes what is seen.

        name: what its flows are called together.
        """
        configuration = cell.baselines.get(name)
        if configuration is None:
            return None
        of = self._found.get((configuration, cell.repetition))
        value = of.values.get((metric, flow, load)) if of is not None and not of.reason else None
        why = of.reason if of is not None else NOT_RUN
        reason = why or (value.reason if value is not None else "") or "no value"
        if value is not None and value.size is not None:
            reason = ""
        seen[name, metric, flow, load] = Alone(
            flows=name,
            flow=flow,
            load=load,
            metric=metric,
            value=value.value if value is not None else None,
            unit=value_named(metric).unit,
            reason=reason,
            baseline=of.cell if of is not None else None,
            verdict=of.verdict if of is not None else None,
        )
        return Solo(value, reason)
