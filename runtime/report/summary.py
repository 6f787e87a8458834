"""The numbers of the report: each metric per configuration and flow, summarised over
repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fairc.runtime.formatting import SHARE, Scale, decimals_for, scale_for
from fairc.runtime.metrics.registry import VALUES, full_name, presentation
from fairc.runtime.repetitions.crowds import mean
from fairc.runtime.repetitions.reading import Measure, Omissions, Outcome, Value
from fairc.runtime.statistics import Estimate
from fairc.runtime.statistics.repeated import FIXED, Repeated

from .run import Configuration, Run

MAX_SHOWN = 4
"""Configurations whose time series are shown, without a choice."""

EVERYWHERE = tuple(name for name, value in VALUES.items() if value.shown.column)
"""The values that every run has of its flows."""


@dataclass(frozen=True, slots=True)
class Summary(Estimate):
    """The median of one measure over the repetitions of one configuration, with its 95 % interval
    (runtime/statistics/repeated.py).

    values: that it is of, in order of repetition; infinite where one is larger than any that was
    observed.
    """

    values: tuple[float, ...] = ()

    @property
    def middle(self) -> float | None:
        """The median; infinite where it is larger than any value that was observed."""
        return math.inf if self.value is None and is_endless(self.values) else self.value

    @property
    def constant(self) -> bool:
        """Whether there are at least two values and all are equal."""
        return self.n > 1 and min(self.values) == max(self.values)


def is_endless(values: Sequence[float]) -> bool:
    """Whether the median of values is infinite: at least half of them are."""
    return bool(values) and 2 * sum(value == math.inf for value in values) >= len(values)


def summarise(values: tuple[float, ...], repeats: Repeated = FIXED) -> Summary:
    """Return median and interval of the values, in order of repetition; repeats: how often a run
    repeats.
    """
    used = tuple(repeats.counted(values))
    of = repeats.median(used)
    ends = of.floor, of.ceiling
    return Summary(of.n, of.value, of.low, of.high, of.reason, of.remark, *ends, used)


def _in_unit(measure: Measure) -> Measure:
    """Return a measure in the unit of the page: some ratios are in percent."""
    is_percent = presentation(measure.metric).is_percent
    return measure._replace(unit=SHARE) if is_percent else measure


class Results:
    """Every number of a run, by measure and configuration."""

    def __init__(self, run: Run) -> None:
        self.run = run

    @cached_property
    def _each(self) -> dict[Measure, dict[str, Value]]:
        """Measure -> cell -> value; every finished cell, also invalid ones."""
        values = self.run.measured.values()
        for metric in EVERYWHERE:
            if not any(value.measure.metric == metric for value in values):
                values += self._of_flows(metric)
        found: dict[Measure, dict[str, Value]] = {}
        for value in values:
            found.setdefault(_in_unit(value.measure), {})[value.outcome.cell] = value
        return found

    def shown(self, measure: Measure) -> Measure:
        """Return what a measure of a table is shown as: in its unit on the page, and with all flows
        that are shown as one.
        """
        flow = self.run.crowds.get(measure.flow or "", measure.flow)
        return _in_unit(measure)._replace(flow=flow)

    @cached_property
    def _shown(self) -> dict[Measure, tuple[Measure, ...]]:
        """A shown measure -> the measures that it stands for: of a crowd of flows, or itself."""
        found: dict[Measure, tuple[Measure, ...]] = {}
        for m in self._each:
            shown = self.shown(m)
            found[shown] = (*found.get(shown, ()), m)
        return found

    @cached_property
    def _values(self) -> dict[Measure, dict[str, Value]]:
        """The values of all measures: of single flows, and of flows that are shown as one."""
        found = dict(self._each)
        for shown, members in self._shown.items():
            if shown not in found:
                found[shown] = self.mean(shown, members)
        return found

    def mean(self, measure: Measure, members: Sequence[Measure]) -> dict[str, Value]:
        """Return the value of a measure that stands for others, by cell: the mean of theirs.

        Flows of a cell are not independent, so it is one value; infinite if one of them is.
        """
        own: dict[str, list[Value]] = {}
        for member in members:
            for cell, value in self._each.get(member, {}).items():
                own.setdefault(cell, []).append(value)
        return {cell: mean(measure, values) for cell, values in own.items()}

    def members(self, measure: Measure) -> tuple[Measure, ...]:
        """Return the measures of single flows that one stands for."""
        return self._shown.get(measure, (measure,))

    def _of_flows(self, metric: str) -> Iterator[Value]:
        """Yield the values that flows have also where the experiment does not measure them.

        For the page alone, which needs a number of every run: it is no metric that anybody asked
        for.
        """
        column, unit = presentation(metric).column, VALUES[metric].unit
        rows = self.run.rows(  # a flow that loads pages has pauses, and no rate over them
            f"SELECT flow, cell, {column} FROM flows WHERE transport <> 'web'"
        )
        for flow, cell, number in rows:
            outcome = self.run.outcomes.get(cell)
            if outcome is not None and outcome.status == "ok":
                yield Value(Measure(metric, flow, unit), outcome, number)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every measure: by the rank of its metric, flows in the order of the experiment."""
        places = {flow: i for i, flow in enumerate(self.run.together(self.run.flows))}

        def place(m: Measure) -> tuple[object, ...]:
            flow = -1 if m.flow is None else places.get(m.flow, len(places))
            load = (m.load is None, m.load or 0)
            rank = presentation(m.metric).rank
            return (rank, m.metric, flow, m.flow or "", load, m.unit)

        return tuple(sorted(self._shown, key=place))

    @cached_property
    def requested(self) -> tuple[Measure, ...]:
        """The measures of the metrics that the experiment names in `measure`, each by its first
        value; without `measure`, those that its claims are about.
        """
        plan = self.run.plan
        names = [full_name(name) for request in plan.measure for name in request.shown]
        names = names or [term.metric for claim in plan.claims for term in claim.terms]
        places: dict[str, int] = {}
        for name in names:
            places.setdefault(name, len(places))
        found = [m for m in self.measures if m.metric in places]
        return tuple(sorted(found, key=lambda m: places[m.metric]))

    @cached_property
    def formats(self) -> dict[str, tuple[Scale, int]]:
        """Metric -> the one scale and number of decimals that the whole page prints it with."""
        found = {}
        for metric in dict.fromkeys(m.metric for m in self.measures):
            of = [(m, c) for m in self.select(metric) for c in self.run.configurations]
            medians = [v for m, c in of if (v := self.summary(m, c).value) is not None]
            units = {m.unit for m in self.select(metric)}
            scale = scale_for(units.pop() if len(units) == 1 else "", medians)
            decimals = 3 if scale.unit == "" else decimals_for(m / scale.factor for m in medians)
            found[metric] = scale, decimals
        return found

    def select(self, metric: str) -> tuple[Measure, ...]:
        """Return the measures of a metric, one per flow or one for the cell."""
        return tuple(m for m in self.measures if m.metric == metric)

    def each(self, metric: str) -> tuple[Measure, ...]:
        """Return the same with one for each of the flows that are shown as one."""
        return tuple(m for shown in self.select(metric) for m in self._shown[shown])

    def values(self, metric: str) -> list[Value]:
        """Return the values of a metric in the order of `each`; invalid cells included."""
        return [v for m in self.each(metric) for v in self._values[m].values()]

    @cached_property
    def typical(self) -> tuple[Measure, ...]:
        """The measures that choose typical configurations and repetitions, the best first; of loads
        the last.
        """
        ranks = {
            name: place
            for name, value in VALUES.items()
            if (place := value.shown.typical) is not None
        }
        found: list[Measure] = []
        for name in sorted(ranks, key=ranks.__getitem__):
            own = self.select(name)
            found += own[::-1] if any(m.load is not None for m in own) else own
        return tuple(found)

    def points(
        self, measure: Measure, configuration: Configuration
    ) -> tuple[tuple[Outcome, float], ...]:
        """Return the value of every finished cell that has one, invalid cells included."""
        values = self._values.get(measure, {})
        pairs = ((outcome, values.get(outcome.cell)) for outcome in configuration.outcomes)
        return tuple((o, v.number) for o, v in pairs if v is not None and v.number is not None)

    def sizes(
        self, measure: Measure, configuration: Configuration
    ) -> tuple[tuple[Outcome, float], ...]:
        """Return the value of every cell that counts and has one, or infinity where it is larger
        than any.
        """
        values = ((o, self.value(measure, o)) for o in configuration.counted)
        return tuple((o, v.size) for o, v in values if v is not None and v.size is not None)

    def omitted(self, measure: Measure, configuration: Configuration) -> Omissions:
        """Return what the values of the cells that count leave out."""
        found = Omissions()
        for outcome in configuration.counted:
            if (value := self.value(measure, outcome)) is not None:
                found.add(value)
        return found

    def value(self, measure: Measure, outcome: Outcome) -> Value | None:
        """Return what a cell has of a measure; None: nothing, not even a reason."""
        return self._values.get(measure, {}).get(outcome.cell)

    def number(self, measure: Measure, outcome: Outcome) -> float | None:
        """Return the number that a cell has of a measure; None where it is not defined."""
        found = self.value(measure, outcome)
        return None if found is None else found.number

    def summary(self, measure: Measure, configuration: Configuration) -> Summary:
        """Return the summary of the cells that count; those without a value are left out of n."""
        return self._summaries[measure, configuration.id]

    @cached_property
    def _summaries(self) -> dict[tuple[Measure, str], Summary]:
        return {
            (m, c.id): summarise(tuple(size for _, size in self.sizes(m, c)), self.run.repeated)
            for m in self._values
            for c in self.run.configurations
        }

    def representative(self, configuration: Configuration) -> tuple[Outcome, str] | None:
        """Return the repetition that a single time series shows, and why it was chosen.

        It is the one whose first value out of `typical` is nearest to the median; the earlier
        repetition wins a tie. None where no cell counts.
        """
        counted = configuration.counted
        for measure in self.typical:
            summary = self.summary(measure, configuration)
            if (middle := summary.value) is None:
                continue
            points = [p for p in self.points(measure, configuration) if p[0].counts]
            chosen = min(points, key=lambda p: (abs(p[1] - middle), p[0].repetition))[0]
            if len(points) == 1:
                return chosen, "the only one that counts"
            return chosen, f"the one whose {measure.label} is nearest to the median"
        return (counted[0], "the first that counts") if counted else None


def choose(run: Run, results: Results) -> tuple[tuple[Configuration, ...], str]:
    """Return the configurations to show and, if these are not all, which and why.

    More than `MAX_SHOWN`: those with the smallest, the middle and the largest median of the first
    measure out of `typical` that has three.
    """
    usable = tuple(c for c in run.configurations if c.counted)
    if len(usable) <= MAX_SHOWN:
        return usable, ""
    for measure in results.typical:
        medians = [(results.summary(measure, c).value, i) for i, c in enumerate(usable)]
        ranked = sorted((m, i) for m, i in medians if m is not None)
        if len(ranked) >= 3:
            picked = sorted({ranked[0][1], ranked[len(ranked) // 2][1], ranked[-1][1]})
            why = (
                f"those of {len(usable)} with the smallest, the middle and the largest"
                f" median of {measure.label}"
            )
            return tuple(usable[i] for i in picked), why
    return usable[:3], f"the first 3 of {len(usable)}"
