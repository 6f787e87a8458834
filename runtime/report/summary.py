"""The numbers of the report: each metric per configuration and flow, summarised over repetitions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from fairc.runtime.statistics.repeated import FIXED, Repeated

from .formatting import Scale
from .run import Configuration, Outcome, Run

GOODPUT = "goodput"
F = "fairness.F"
PLT, TTR = "plt", "ttr"


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of each cell: its metric, its flow (or None), its SI base unit.

    load: number of the page load that it is of, or None: loads of a cell are not independent, so each
    is summarised by itself.
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


@dataclass(frozen=True, slots=True)
class Summary:
    """Values of one measure over the repetitions of one configuration.

    values: in order of repetition. low, high: the 95 % interval of the median (runtime/statistics/repeated.py),
    None where there is none.
    """

    values: tuple[float, ...]
    median: float | None
    low: float | None
    high: float | None

    @property
    def n(self) -> int:
        """The number of values."""
        return len(self.values)

    @property
    def constant(self) -> bool:
        """Whether there are at least two values and all are equal."""
        return self.n > 1 and min(self.values) == max(self.values)


def summarise(values: tuple[float, ...], repeats: Repeated = FIXED) -> Summary:
    """Return median and interval of the values, in order of repetition; repeats: how often a run repeats."""
    used = tuple(repeats.counted(values))
    estimate = repeats.median(used)
    return Summary(used, estimate.value, estimate.low, estimate.high)


class Results:
    """Every number of a run, by measure and configuration.

    formats: metric -> scale and decimals that the page prints it with, as far as they are known.
    """

    def __init__(self, run: Run) -> None:
        self.run = run
        self.formats: dict[str, tuple[Scale, int]] = {}
        self._summaries: dict[tuple[Measure, str], Summary] = {}

    @cached_property
    def _values(self) -> dict[Measure, dict[str, dict[str, float | None]]]:
        """Measure -> configuration -> cell -> value; every finished cell, also invalid ones."""
        rows = self.run.rows(
            "SELECT metric, flow, unit, load, cell, value FROM metrics"
            " ORDER BY metric, flow, unit, load, cell"
        )
        if not any(row[0] == GOODPUT for row in rows):
            goodput = self.run.rows(  # a flow that loads pages has pauses, and no rate over them
                "SELECT flow, cell, goodput_bps FROM flows WHERE transport <> 'web'"
                " ORDER BY cell, flow"
            )
            rows += [(GOODPUT, flow, "bit/s", None, cell, value) for flow, cell, value in goodput]
        found: dict[Measure, dict[str, dict[str, float | None]]] = {}
        for metric, flow, unit, load, cell, value in rows:
            outcome = self.run.outcomes.get(cell)
            if outcome is None:
                continue
            usable = value if value is not None and math.isfinite(value) else None
            cells = found.setdefault(Measure(metric, flow, unit, load), {})
            cells.setdefault(outcome.configuration, {})[cell] = usable
        return found

    @cached_property
    def _reasons(self) -> dict[tuple[str, str | None, int | None, str], str]:
        """(metric, flow, load, cell) -> why the value is not defined."""
        rows = self.run.rows(
            "SELECT metric, flow, load, cell, reason FROM metrics WHERE value IS NULL"
        )
        return {(m, flow, load, cell): reason or "" for m, flow, load, cell, reason in rows}

    def undefined(self, measure: Measure, configuration: Configuration) -> tuple[str, ...]:
        """Return why the cells that count without a value have none, one reason for each."""
        named = (measure.metric, measure.flow, measure.load)
        keys = ((*named, o.cell) for o in configuration.counted)
        return tuple(self._reasons[key] for key in keys if key in self._reasons)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every measure: goodput and fairness first, flows in the order of the experiment."""
        places = {flow: i for i, flow in enumerate(self.run.flows)}
        first = (GOODPUT, F, PLT, TTR)

        def place(m: Measure) -> tuple[object, ...]:
            rank = first.index(m.metric) if m.metric in first else len(first)
            fairness = not m.metric.startswith("fairness.")
            flow = -1 if m.flow is None else places.get(m.flow, len(places))
            return (rank, fairness, m.metric, flow, m.flow or "", m.load or 0, m.unit)

        return tuple(sorted(self._values, key=place))

    @cached_property
    def asked(self) -> tuple[Measure, ...]:
        """The measures of the metrics that the experiment names; each by its first value."""
        from fairc.runtime.metrics.registry import value_named

        places: dict[str, int] = {}
        for name in (name for request in self.run.plan.measure for name in request.shown):
            try:
                places.setdefault(value_named(name).name, len(places))
            except KeyError:  # of a plug-in that is not installed here
                continue
        found = [m for m in self.measures if m.metric in places]
        return tuple(sorted(found, key=lambda m: places[m.metric]))

    def select(self, metric: str) -> tuple[Measure, ...]:
        """Return the measures of a metric, one per flow or one for the cell."""
        return tuple(m for m in self.measures if m.metric == metric)

    def points(
        self, measure: Measure, configuration: Configuration
    ) -> tuple[tuple[Outcome, float], ...]:
        """Return the value of every finished cell that has one, invalid cells included."""
        values = self._values.get(measure, {}).get(configuration.id, {})
        pairs = ((outcome, values.get(outcome.cell)) for outcome in configuration.outcomes)
        return tuple((o, v) for o, v in pairs if v is not None and o.status == "ok")

    def cells(self, measure: Measure, configuration: str) -> Mapping[str, float | None]:
        """Return the value of each cell of a configuration, by its id; None where it is not defined."""
        return self._values.get(measure, {}).get(configuration, {})

    def summary(self, measure: Measure, configuration: Configuration) -> Summary:
        """Summarise the cells that count; those without a value are left out of n."""
        key = (measure, configuration.id)
        if key not in self._summaries:
            points = self.points(measure, configuration)
            values = tuple(v for o, v in points if o.counts)
            self._summaries[key] = summarise(values, self.run.repeated)
        return self._summaries[key]

    def representative(self, configuration: Configuration) -> tuple[Outcome, str] | None:
        """Return the repetition that a single time series shows, and why it was chosen.

        It is the one whose F (else the first flow's goodput, else the PLT of its last load) is nearest
        to the median; the earlier repetition wins a tie. None where no cell counts.
        """
        counted = configuration.counted
        for measure in (*self.select(F), *self.select(GOODPUT), *self.select(PLT)[::-1]):
            summary = self.summary(measure, configuration)
            if summary.median is None:
                continue
            middle = summary.median
            points = [p for p in self.points(measure, configuration) if p[0].counts]
            chosen = min(points, key=lambda p: (abs(p[1] - middle), p[0].repetition))[0]
            if len(points) == 1:
                return chosen, "the only one that counts"
            return chosen, f"the one whose {measure.label} is nearest to the median"
        return (counted[0], "the first that counts") if counted else None
