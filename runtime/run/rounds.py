"""Run a range of repetitions in rounds, until every value is precise enough or every claim is
decided.

A round is a sweep of the cells up to the next interim analysis ("look"), of the configurations that
have not stopped. Each round ends with an interim analysis (runtime/ranges/ending.py). Earlier
rounds are stored, so an interrupted run continues where it was, and stops where it would have
stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from fairc.compiler.plan import Cell
from fairc.runtime.engines.base import Engine
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.ranges.ending import StoppingRule
from fairc.runtime.repetitions.reading import CellValues, of_results
from fairc.runtime.store.baselines import with_baselines
from fairc.runtime.store.folder import Store
from fairc.runtime.store.verdicts import Counts

from .progress import Progress
from .sweep import Sweep


def run(
    store: Store,
    engine: Engine,
    progress: Progress,
    jobs: int,
    wanted: Callable[[Cell], bool],
    fresh: bool = False,
    keep_raw: bool = True,
    say: Callable[[str], None] = lambda _: None,
) -> Counts:
    """Run the missing cells of the store's plan; arguments as for `Sweep`. Raises
    KeyboardInterrupt.

    say: receives the result of each look. The wanted configurations decide where a range of
    repetitions ends.
    """
    plan = store.plan
    if plan.baselines:
        wanted = _with_baselines(store, wanted)
    if plan.precision is None:
        return Sweep(store, engine, progress, jobs, wanted, fresh, keep_raw=keep_raw).run()
    bindings = {c.configuration: c.bindings for c in store.cells() if wanted(c) and not c.baseline}
    rule = StoppingRule(plan, bindings)
    going = {name: values for values, names in rule.groups.items() for name in names}
    found: dict[tuple[str, ...], list[CellValues]] = {values: [] for values in rule.groups}
    counts, before = Counts(), 0
    emitted: dict[str, str] | None = None
    for look in rule.interim:
        round_of = partial(_due, wanted, frozenset(going), range(before + 1, look + 1))
        due = _with_baselines(store, round_of) if plan.baselines else round_of
        sweep = Sweep(store, engine, progress, jobs, due, fresh, emitted, keep_raw)
        counts.include(sweep.run())
        emitted = sweep.emitted
        for values in of_results(plan, _results(store, sweep, due)):
            found[going[values.outcome.configuration]].append(values)
        left = {values: rule.examine(found[values]) for values in dict.fromkeys(going.values())}
        going = {name: values for name, values in going.items() if not left[values].is_reached}
        imprecise = [len(rule.groups[values]) for values, still in left.items() if still.imprecise]
        parts = (
            [values_text(len(bindings) - sum(imprecise), len(bindings))]
            if plan.precision.goals
            else []
        )
        if rule.claims:
            undecided = sum(len(still.undecided) for still in left.values())
            parts.append(claims_text(undecided, rule.claims))
        say(f"after {look} repetitions: {', '.join(parts)}")
        if not going:
            break
        before = look
    return counts


def _with_baselines(store: Store, wanted: Callable[[Cell], bool]) -> Callable[[Cell], bool]:
    """Return whether a cell of a plan is wanted, or is a baseline of one that is."""
    every = frozenset(cell.id for cell in with_baselines(store.cells, wanted))
    return lambda cell: cell.id in every


def _results(
    store: Store, sweep: Sweep, due: Callable[[Cell], bool]
) -> Iterator[tuple[Cell, CellResult]]:
    """Yield the cells that a sweep has just run, with their results."""
    for cell in filter(due, store.cells()):
        result = store.result(sweep.key(cell))
        assert result is not None, "the sweep has stored it"
        yield cell, result


def _due(
    wanted: Callable[[Cell], bool], going: frozenset[str], repetitions: range, cell: Cell
) -> bool:
    """Whether a cell belongs to a round, by its repetition and its configuration."""
    return cell.repetition in repetitions and cell.configuration in going and wanted(cell)


def values_text(ended: int, of: int) -> str:
    """Describe the result of a look for values.

    >>> values_text(0, 1), values_text(2, 3)
    ('not precise enough', '2 of 3 configurations are precise enough')
    """
    if of == 1:
        return "precise enough" if ended else "not precise enough"
    return f"{ended or 'none'} of {of} configurations are precise enough"


def claims_text(undecided: int, of: int) -> str:
    """Describe the result of a look for claims.

    >>> claims_text(0, 1), claims_text(1, 3), claims_text(3, 3)
    ('the claim is decided', '1 of 3 claims is undecided', '3 of 3 claims are undecided')
    """
    if of == 1:
        return f"the claim is {'undecided' if undecided else 'decided'}"
    if not undecided:
        return f"all {of} claims are decided"
    return f"{undecided} of {of} claims {'is' if undecided == 1 else 'are'} undecided"
