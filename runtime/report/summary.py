"""The numbers of the report: the groups of each configuration as the page shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from fairc.runtime.formatting import SHARE, Scale, decimals_for, scale_for
from fairc.runtime.metrics.registry import VALUES, full_name, presentation
from fairc.runtime.repetitions.crowds import MOST_FLOWS
from fairc.runtime.repetitions.reading import Measure, Outcome, Value
from fairc.runtime.repetitions.samples import FLOW, LOAD, Group, each_sample, grouped

from .run import Configuration, Run

MAX_SHOWN = 4
"""Configurations whose time series are shown, without a choice."""

EVERYWHERE = tuple(name for name, value in VALUES.items() if value.shown.column)
"""The values that every run has of its flows."""

Groups = dict[tuple[Measure, str], Group]
"""Measure as shown, configuration -> its group."""


class Results:
    """Every number of a run, by measure and configuration.

    values: of its finished cells, in the order of the cells; None: those that are stored, and those
    of `EVERYWHERE`.
    """

    def __init__(self, run: Run, values: Sequence[Value] | None = None) -> None:
        self.run, self._given = run, values

    @cached_property
    def _each(self) -> dict[str, list[Value]]:
        """Metric -> its values, in the unit of the page."""
        given, found = self._given, dict[str, list[Value]]()
        for value in self.run.measured.values() if given is None else given:
            found.setdefault(value.measure.metric, []).append(value)
        for metric in EVERYWHERE if given is None else ():
            if metric not in found:
                found[metric] = [*self._of_flows(metric)]
        for metric, own in found.items():
            if presentation(metric).is_percent:
                found[metric] = [v._replace(measure=v.measure._replace(unit=SHARE)) for v in own]
        return found

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
    def _places(self) -> Mapping[str, int]:
        return {flow: i for i, flow in enumerate(self.run.together(self.run.flows))}

    def _place(self, m: Measure) -> tuple[object, ...]:
        """Return what measures are ordered by: the rank of the metric, flows in the order of the
        experiment; all that are shown as one have its place.
        """
        name = self.run.crowds.get(m.flow or "", m.flow)
        flow = -1 if name is None else self._places.get(name, len(self._places))
        load = (m.load is None, m.load or 0)
        return (presentation(m.metric).rank, m.metric, flow, name or "", load, m.unit)

    @cached_property
    def measures(self) -> tuple[Measure, ...]:
        """Every measure in order, with one for the flows that are shown as one."""
        every = dict.fromkeys(measure for measure, _ in self._groups)
        return tuple(sorted(every, key=self._place))

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
            medians = [v for m, c in of if (v := self.group(m, c).median.value) is not None]
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
        found = dict.fromkeys(value.measure for value in self._each.get(metric, ()))
        return tuple(sorted(found, key=self._place))

    def values(self, metric: str) -> list[Value]:
        """Return the values of a metric in the order of `each`; invalid cells included."""
        places = {measure: i for i, measure in enumerate(self.each(metric))}
        return sorted(self._each.get(metric, ()), key=lambda value: places[value.measure])

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

    def groups(self, metric: str, above: int = MOST_FLOWS) -> Groups:
        """Return the groups of a metric. above: of more flows of a statement in a cell than this,
        one for all of them.
        """
        measured = self.run.measured
        values = self._each[metric]
        crowds = measured.crowds({value.measure.flow or "" for value in values}, above)
        each = each_sample(measured.outcomes, values)
        found = grouped(measured, metric, each, (*measured.axes, FLOW, LOAD), crowds)
        first = ((group.members[0], group) for group in found)
        return {(value.measure, value.outcome.configuration): group for value, group in first}

    @cached_property
    def _groups(self) -> Groups:
        every = (self.groups(metric) for metric in self._each)
        return {place: group for groups in every for place, group in groups.items()}

    def group(self, measure: Measure, configuration: Configuration) -> Group:
        """Return the values of a measure in a configuration."""
        found = self._groups.get((measure, configuration.id))
        return found or Group(self.run.measured, measure.metric, {}, ())

    def number(self, measure: Measure, outcome: Outcome) -> float | None:
        """Return the number that a cell has of a measure; None where it is not defined."""
        found = self._groups.get((measure, outcome.configuration))
        return found.numbers.get(outcome.cell) if found else None

    def representative(self, configuration: Configuration) -> tuple[Outcome, str] | None:
        """Return the repetition that a single time series shows, and why it was chosen.

        It is the one whose first value out of `typical` is nearest to the median; the earlier
        repetition wins a tie. None where no cell counts.
        """
        counted = configuration.counted
        for measure in self.typical:
            group = self.group(measure, configuration)
            if (middle := group.median.value) is None:
                continue
            points = [o for o in counted if o.cell in group.numbers]
            chosen = min(points, key=lambda o: (abs(group.numbers[o.cell] - middle), o.repetition))
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
        medians = [(results.group(measure, c).median.value, i) for i, c in enumerate(usable)]
        ranked = sorted((m, i) for m, i in medians if m is not None)
        if len(ranked) >= 3:
            picked = sorted({ranked[0][1], ranked[len(ranked) // 2][1], ranked[-1][1]})
            why = (
                f"those of {len(usable)} with the smallest, the middle and the largest"
                f" median of {measure.label}"
            )
            return tuple(usable[i] for i in picked), why
    return usable[:3], f"the first 3 of {len(usable)}"
