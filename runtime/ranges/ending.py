"""The end of ranges of repetitions: at the first interim analysis with every goal reached, or at
the last one.

A goal is a value that is to be precise enough, or that all claims are decided. The intervals of
claims are those of the final verdicts (runtime/claims/deciding.py): at the end of a range both use
the same values, so they agree. Configurations that are compared end together: all of them, or those
with equal values of the names behind `per`. What is decided follows from the plan and the values
alone, so an interrupted run, a resumed one and one from the cells of a cluster end at the same
repetition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairc.compiler.plan import Claim, Goal, Plan
from fairc.dsl.model.metric_names import request_label
from fairc.runtime.claims.deciding import undecided
from fairc.runtime.claims.values import Row, Values
from fairc.runtime.metrics.registry import full_name
from fairc.runtime.repetitions.reading import CellValues, InterimMeasurements, Measure
from fairc.runtime.statistics.repeated import repeated
from fairc.runtime.statistics.sequential import imprecision
from fairc.words.repetitions import interim_analyses

Why = Literal["reached", "used up", "unfinished"]


@dataclass(frozen=True, slots=True)
class ImpreciseValue:
    """A value that is not precise enough.

    imprecision: the larger half of its interval, relative if its goal is; None without an interval.
    allowed: what it may be here.
    """

    goal: Goal
    configuration: str
    flow: str | None
    load: int | None
    imprecision: float | None
    allowed: float


@dataclass(frozen=True, slots=True)
class InterimResult:
    """The result of an interim analysis, which ends a range if nothing is left.

    imprecise: values that are not precise enough. undecided: texts of undecided claims.
    """

    imprecise: tuple[ImpreciseValue, ...] = ()
    undecided: tuple[str, ...] = ()

    @property
    def is_reached(self) -> bool:
        """Whether every goal is reached."""
        return not self.imprecise and not self.undecided


@dataclass(frozen=True, slots=True)
class Ending:
    """The end of the repetitions of configurations that are compared, and its reason.

    values: of the names behind `per`.
    repetitions: their number at the end; of an unfinished range that of the interim analysis whose
    cells are not all there.
    result: of the last interim analysis.
    """

    values: tuple[str, ...]
    configurations: tuple[str, ...]
    repetitions: int
    why: Why
    result: InterimResult = InterimResult()


class StoppingRule:
    """Decides where the ranges of a plan end; for a plan with `precision`.

    bindings: configuration -> its swept values; all configurations of the plan. metrics: full names
    of the values that decide.
    """

    def __init__(self, plan: Plan, bindings: Mapping[str, Mapping[str, str]]) -> None:
        assert plan.precision is not None
        self._claims = InterimClaims(plan, bindings) if plan.precision.claims else None
        self._goals = tuple((full_name(goal.metric), goal) for goal in plan.precision.goals)
        terms = (term for claim in plan.claims for term in claim.terms) if self._claims else ()
        self.metrics: Sequence[str] = tuple(
            dict.fromkeys(
                [*(name for name, _ in self._goals), *(full_name(t.metric) for t in terms)]
            )
        )
        self._measured = (*plan.measure, *plan.implied)
        self._bindings = bindings
        self._repeated = repeated(plan)
        self.interim = interim_analyses(plan.precision.least, plan.repeat)
        groups: dict[tuple[str, ...], list[str]] = {}
        for configuration, values in bindings.items():
            key = tuple(values[name] for name in plan.precision.per)
            groups.setdefault(key, []).append(configuration)
        self.groups: Mapping[tuple[str, ...], Sequence[str]] = groups

    def endings(self, cells: Iterable[CellValues]) -> list[Ending]:
        """Return where each group ended; cells: in any order, each once."""
        found = _by_configuration(cells)
        return [self._ending(values, found) for values in self.groups]

    def _ending(self, values: tuple[str, ...], found: Mapping[str, list[CellValues]]) -> Ending:
        members = tuple(self.groups[values])
        result = InterimResult()
        for n in self.interim:
            there = {
                name: [c for c in found.get(name, ()) if c.outcome.repetition <= n]
                for name in members
            }
            if any(len(cells) < n for cells in there.values()):
                return Ending(values, members, n, "unfinished", result)
            result = self.examine([cell for cells in there.values() for cell in cells])
            if result.is_reached:
                return Ending(values, members, n, "reached")
        return Ending(values, members, self.interim[-1], "used up", result)

    def examine(self, cells: Sequence[CellValues]) -> InterimResult:
        """Examine a group by all its cells up to an interim analysis."""
        return InterimResult(self._imprecise(cells), self._undecided(cells))

    def _undecided(self, cells: Sequence[CellValues]) -> tuple[str, ...]:
        """Return the claims that are undecided, where they end the range."""
        return self._claims.undecided(cells) if self._claims else ()

    @property
    def claims(self) -> int:
        """The number of claims that end the range, of those about its configurations."""
        return len(self._claims.claims) if self._claims else 0

    def _imprecise(self, cells: Iterable[CellValues]) -> tuple[ImpreciseValue, ...]:
        """Return the values of some cells that are not precise enough yet."""
        in_order = sorted(cells, key=lambda cell: cell.outcome.repetition)
        return tuple(
            value
            for configuration, found in _by_configuration(in_order).items()
            for name, goal in self._goals
            for value in self._of_goal(configuration, found, name, goal)
        )

    def _of_goal(
        self, configuration: str, cells: Sequence[CellValues], name: str, goal: Goal
    ) -> Iterable[ImpreciseValue]:
        allowed = goal.within_of(self._bindings[configuration])
        of: dict[Measure, list[float]] = {}
        for value in (v for cell in cells if cell.outcome.counts for v in cell.values):
            if value.measure.metric == name:
                sizes = of.setdefault(value.measure, [])
                sizes += [] if value.size is None else [value.size]
        absent = self._names_flows(name) and any(cell.outcome.counts for cell in cells)
        if not of and not absent:
            yield ImpreciseValue(goal, configuration, None, None, None, allowed)
        for measure, values in of.items():
            found = self._repeated.median(values)
            half = imprecision(found)
            if half is not None and goal.relative and half > 0:
                middle = found.value or 0.0
                half = half / middle if middle > 0 else None
            if half is None or half > allowed:
                yield ImpreciseValue(goal, configuration, measure.flow, measure.load, half, allowed)

    def _names_flows(self, metric: str) -> bool:
        """Return whether a request names the flows of a metric: where these are absent, it has no
        value.
        """
        name = request_label(metric)
        return any(request.label == name and request.sessions for request in self._measured)


def _by_configuration(cells: Iterable[CellValues]) -> dict[str, list[CellValues]]:
    found: dict[str, list[CellValues]] = {}
    for cell in cells:
        found.setdefault(cell.outcome.configuration, []).append(cell)
    return found


class InterimClaims:
    """Decides the claims of a plan at each interim analysis.

    bindings: configuration -> its swept values, for all that take part. Claims are examined only in
    these; a claim about none of them, or about the mean or a share of more than them, is left out.
    """

    def __init__(self, plan: Plan, bindings: Mapping[str, Mapping[str, str]]) -> None:
        self._plan = plan
        rows = {tuple(at[axis.name] for axis in plan.axes) for at in bindings.values()}
        self.claims = tuple(_within(plan.claims, rows))

    def undecided(self, cells: Iterable[CellValues]) -> tuple[str, ...]:
        """Return the texts of the claims that are not decided.

        cells: all available ones, each once.
        """
        terms = (term for claim in self.claims for term in claim.terms)
        values = Values(InterimMeasurements(self._plan, cells), terms)
        return undecided(self._plan, values, self.claims)


def _within(claims: Iterable[Claim], rows: set[Row]) -> Iterator[Claim]:
    """Yield the claims, with only the units that are about these configurations."""
    for claim in claims:
        units = tuple(u for u in claim.units if all(term.cells in rows for term in u.terms))
        if len(units) == len(claim.units):
            yield claim
        elif units and claim.over == "each" and claim.least == 1:
            yield claim.model_copy(update={"units": units})
