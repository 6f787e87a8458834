"""Where ranges of repetitions end: at the first look that finds every value precise enough, or at the last one.

Configurations that are compared end together: all of them, or those with equal values of the names behind `per`.
What is decided follows from the plan and the values alone, so an interrupted run, a resumed one and one from the
cells of a cluster end at the same repetition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from fairc.compiler.plan import Cell, Goal, Plan
from fairc.compiler.plan.looks import looks
from fairc.runtime.store.results import CellResult

from .repeated import repeated
from .sequential import imprecision

Why = Literal["reached", "used up", "unfinished"]
Key = tuple[str, str | None, int | None]
"""Full name of a value, its flow, its page load."""


@dataclass(frozen=True, slots=True)
class Done:
    """A cell that has a result; values: in SI base units, None where one is not defined; empty if it does not count."""

    configuration: str
    repetition: int
    values: Mapping[Key, float | None]


@dataclass(frozen=True, slots=True)
class Missed:
    """A value that is not precise enough.

    imprecision: the larger half of its interval, relative if its goal is; None without an interval.
    """

    goal: Goal
    configuration: str
    flow: str | None
    load: int | None
    imprecision: float | None


@dataclass(frozen=True, slots=True)
class Ending:
    """Where the repetitions of configurations that are compared ended, and why.

    values: of the names behind `per`. look: the number of repetitions at the end; of an unfinished range the
    look whose cells are not all there. missed: what was not precise enough there.
    """

    values: tuple[str, ...]
    configurations: tuple[str, ...]
    look: int
    why: Why
    missed: tuple[Missed, ...] = ()


def done(cell: Cell, result: CellResult) -> Done:
    """Return a cell with its values."""
    counts = result.status == "ok" and result.verdict != "invalid"
    values: Mapping[Key, float | None] = (
        {(v.metric, v.flow, v.load): v.value for v in result.metrics} if counts else {}
    )
    return Done(cell.configuration, cell.repetition, values)


class Endings:
    """Decides where the ranges of a plan end; for a plan with `precision`.

    bindings: configuration -> its swept values; all configurations of the plan.
    """

    def __init__(self, plan: Plan, bindings: Mapping[str, Mapping[str, str]]) -> None:
        assert plan.precision is not None
        self._goals = tuple((_full(goal.metric), goal) for goal in plan.precision.goals)
        self._repeated = repeated(plan)
        self.looks = looks(plan.precision.least, plan.repeat)
        groups: dict[tuple[str, ...], list[str]] = {}
        for configuration, values in bindings.items():
            key = tuple(values[name] for name in plan.precision.per)
            groups.setdefault(key, []).append(configuration)
        self.groups: Mapping[tuple[str, ...], Sequence[str]] = groups

    def of(self, cells: Iterable[Done]) -> list[Ending]:
        """Return where each group ended; cells: in any order, each once."""
        found: dict[str, list[Done]] = {}
        for cell in cells:
            found.setdefault(cell.configuration, []).append(cell)
        return [self._ending(values, found) for values in self.groups]

    def _ending(self, values: tuple[str, ...], found: Mapping[str, list[Done]]) -> Ending:
        members = tuple(self.groups[values])
        missed: tuple[Missed, ...] = ()
        for look in self.looks:
            there = {
                name: [c for c in found.get(name, ()) if c.repetition <= look] for name in members
            }
            if any(len(cells) < look for cells in there.values()):
                return Ending(values, members, look, "unfinished", missed)
            missed = self.missed([cell for cells in there.values() for cell in cells])
            if not missed:
                return Ending(values, members, look, "reached")
        return Ending(values, members, self.looks[-1], "used up", missed)

    def missed(self, cells: Iterable[Done]) -> tuple[Missed, ...]:
        """Return the values of some cells that are not precise enough yet."""
        of: dict[str, list[Done]] = {}
        for cell in sorted(cells, key=lambda cell: cell.repetition):
            of.setdefault(cell.configuration, []).append(cell)
        return tuple(
            missed
            for configuration, found in of.items()
            for name, goal in self._goals
            for missed in self._of_goal(configuration, found, name, goal)
        )

    def _of_goal(
        self, configuration: str, cells: Sequence[Done], name: str, goal: Goal
    ) -> Iterable[Missed]:
        keys = dict.fromkeys(key for cell in cells for key in cell.values if key[0] == name)
        if not keys:
            yield Missed(goal, configuration, None, None, None)
        for key in keys:
            values = [v for cell in cells if (v := cell.values.get(key)) is not None]
            found = self._repeated.median(values)
            half = imprecision(found)
            if half is not None and goal.relative and half > 0:
                middle = found.value or 0.0
                half = half / middle if middle > 0 else None
            if half is None or half > goal.within:
                yield Missed(goal, configuration, key[1], key[2], half)


def _full(name: str) -> str:
    """Return the full name of a value; a metric's that is not installed here is never reached."""
    from fairc.runtime.metrics.registry import value_named

    try:
        return value_named(name).name
    except KeyError:
        return name
