"""The number of repetitions that each configuration of a range took, and why it stopped: in
sentences and a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from fairc.compiler.plan import Goal, Precision
from fairc.runtime.formatting import Cell, count, counted, listed, one_line, quantity
from fairc.runtime.metrics.registry import value_named
from fairc.runtime.ranges.ending import Ending, ImpreciseValue, StoppingRule
from fairc.words.repetitions import interim_analyses

from .run import Run
from .sheet import Sheet, section_table

SHOWN = 4


@dataclass(frozen=True, slots=True)
class RangeSummary:
    """The report's text about a range of repetitions; empty for a fixed number."""

    sentences: tuple[str, ...]
    sheet: Sheet


def _sheet(rows: Iterable[tuple[Cell, ...]] = ()) -> Sheet:
    head = (
        ("configurations", False),
        ("how many", True),
        ("repetitions", True),
        ("why they ended", False),
    )
    caption = "Configurations that ended together, how many repetitions each took, and why"
    return section_table("endings", "When repetitions ended", head, rows, caption)


def ended(run: Run) -> RangeSummary:
    """Return how many repetitions each configuration took, and why it stopped."""
    ends = run.plan.precision
    if ends is None:
        return RangeSummary((), _sheet())
    found = endings(run)
    goals = listed(
        [
            *(f"{one_line(goal.metric)} is known within {_allowed(goal)}" for goal in ends.goals),
            *(["all claims are decided"] if ends.claims else []),
        ]
    )
    how = " (the larger half-width of a median's 95 % interval)" if ends.goals else ""
    taken = interim_analyses(ends.least, run.plan.repeat)
    after = listed([*map(str, taken)]) if len(taken) <= SHOWN else f"{taken[0]} to {taken[-1]}"
    until = (
        f"Repeated {ends.least} to {run.plan.repeat} times, until {goals}{how}:"
        f" {_came_to(found, ends)}."
    )
    holds = (
        f"The intervals remain valid although the values were examined after {after}"
        f" repetitions ({run.repeated.interval}); p-values assume a number of repetitions fixed"
        " in advance."
    )
    return RangeSummary((until, holds), _sheet(_row(run, ending) for ending in found))


def endings(run: Run) -> list[Ending]:
    """Return where the ranges of a run ended, by its tables."""
    rule = StoppingRule(run.plan, {name: scene.bindings for name, scene in run.scenes.items()})
    return rule.endings(run.measured.cells(rule.metrics))


def cells_waiting(run: Run) -> int:
    """Return how many cells of the plan have not run yet; of a range, those up to the next interim
    analysis.
    """
    if run.plan.precision is None:
        return max(0, run.plan.compared - len(run.outcomes))
    waiting = 0
    for ending in endings(run):
        if ending.why == "unfinished":
            there = [o for o in run.outcomes.values() if o.configuration in ending.configurations]
            waiting += ending.repetitions * len(ending.configurations)
            waiting -= sum(o.repetition <= ending.repetitions for o in there)
    return waiting


def _came_to(found: Iterable[Ending], ends: Precision) -> str:
    """Return how many configurations stopped after how many repetitions, and why, as text."""
    well = _well(ends)
    sizes: Counter[tuple[str, int]] = Counter()
    for ending in found:
        sizes[ending.why, ending.repetitions] += len(ending.configurations)
    templates = {
        "reached": f"ended after {{}}, {well}",
        "used up": f"ended after all {{}}, not {well}",
        "unfinished": "not finished: a cell of the first {} is missing",
    }
    return "; ".join(
        f"{counted(size, 'configuration')} {templates[why].format(counted(look, 'repetition'))}"
        for (why, look), size in sorted(sizes.items())
    )


def _well(ends: Precision) -> str:
    """Return the state of configurations at the end of a range, as text."""
    goals = ["precise enough"] if ends.goals else []
    return " and ".join([*goals, *(["decided"] if ends.claims else [])])


def _row(run: Run, ending: Ending) -> tuple[Cell, ...]:
    assert run.plan.precision is not None
    pairs = zip(run.plan.precision.per, ending.values, strict=True)
    what = ", ".join(f"{one_line(name)} = {one_line(value)}" for name, value in pairs)
    ends = run.plan.precision
    open_ = [_imprecise(run, value) for value in ending.result.imprecise]
    open_ += [f"undecided: “{one_line(text)}”" for text in ending.result.undecided]
    reached = [
        *(["values are precise enough"] if ends.goals else []),
        *(["claims are decided"] if ends.claims else []),
    ]
    why = {
        "reached": f"all {' and all '.join(reached)}",
        "used up": f"not {_well(ends)} after the last repetition: {listed(open_, limit=SHOWN)}",
        "unfinished": f"not all cells up to repetition {ending.repetitions} have been run",
    }[ending.why]
    before = "up to " if ending.why == "unfinished" else ""
    number_of = f"{before}{ending.repetitions}"
    return what or "all", count(len(ending.configurations)), number_of, why


def _imprecise(run: Run, value: ImpreciseValue) -> str:
    """Return the precision of a value as text: `goodput of a within 6.2 % (loss = 1%)`."""
    flow = f" of {one_line(value.flow)}" if value.flow else ""
    load = f", load {value.load}" if value.load is not None else ""
    if value.imprecision is None:
        size = "without an interval"
    else:
        goal = _size(value.goal, value.allowed)
        sizes = (_size(value.goal, value.imprecision, digits) for digits in (3, 4, 5, 6))
        size = (
            f"within {next((text for text in sizes if text != goal), f'barely more than {goal}')}"
        )
    scene = run.scenes.get(value.configuration)
    bindings = scene.bindings if scene else {}
    where = ", ".join(f"{one_line(k)} = {one_line(v)}" for k, v in bindings.items())
    return f"{one_line(value.goal.metric)}{flow}{load} {size}{f' ({where})' if where else ''}"


def _allowed(goal: Goal) -> str:
    """Write the precision of a goal, or the range of it over all configurations."""
    ends = dict.fromkeys((goal.halves[0], goal.halves[-1]))
    return " to ".join(_size(goal, half) for half in ends)


def _size(goal: Goal, size: float, digits: int = 3) -> str:
    """Write a precision as its goal is written: relative, or in the unit of the value."""
    if goal.relative:
        return quantity(100 * size, "%", digits)
    return quantity(size, _unit(goal.metric), digits)


def _unit(name: str) -> str:
    try:
        return value_named(name).unit
    except KeyError:
        return ""
