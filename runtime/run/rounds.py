"""Run a range of repetitions in rounds: up to each look, until every value is precise enough.

A round is a sweep of the cells up to the next look, of the configurations that have not ended. After it the values are
looked at (runtime/statistics/ending.py). Rounds that have been run before are there already, so a run that was
interrupted goes on where it was, and ends where it would have ended.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fairc.compiler.plan import Cell
from fairc.runtime.engines.base import Engine
from fairc.runtime.statistics.ending import Done, Endings, done
from fairc.runtime.store.folder import Store

from .progress import Progress
from .sweep import Counts, Sweep


def run(
    store: Store,
    engine: Engine,
    progress: Progress,
    jobs: int,
    wanted: Callable[[Cell], bool],
    fresh: bool = False,
    say: Callable[[str], None] = lambda _: None,
) -> Counts:
    """Run what is missing of the store's plan; arguments as of `Sweep`. Raises KeyboardInterrupt.

    say: hears of each look. Of a range of repetitions, the configurations that are wanted decide where it ends.
    """
    plan = store.plan
    if plan.precision is None:
        return Sweep(store, engine, progress, jobs, wanted, fresh).run()
    bindings = {c.configuration: c.bindings for c in store.cells() if wanted(c)}
    endings = Endings(plan, bindings)
    going = {name: values for values, names in endings.groups.items() for name in names}
    found: dict[tuple[str, ...], list[Done]] = {values: [] for values in endings.groups}
    counts, before = Counts(), 0
    emitted: dict[str, str] | None = None
    for look in endings.looks:
        due = partial(_due, wanted, frozenset(going), range(before + 1, look + 1))
        sweep = Sweep(store, engine, progress, jobs, due, fresh, emitted)
        counts.include(sweep.run())
        emitted = sweep.emitted
        for cell in filter(due, store.cells()):
            result = store.result(sweep.key(cell))
            assert result is not None, "the sweep has stored it"
            found[going[cell.configuration]].append(done(cell, result))
        reached = [values for values in dict.fromkeys(going.values())
                   if not endings.missed(found[values])]  # fmt: skip
        going = {name: values for name, values in going.items() if values not in reached}
        say(look_text(look, len(bindings) - len(going), len(bindings)))
        if not going:
            break
        before = look
    return counts


def _due(
    wanted: Callable[[Cell], bool], going: frozenset[str], repetitions: range, cell: Cell
) -> bool:
    """Whether a cell belongs to a round: of which repetitions, of which configurations."""
    return cell.repetition in repetitions and cell.configuration in going and wanted(cell)


def look_text(look: int, ended: int, of: int) -> str:
    """Say what a look found.

    >>> look_text(8, 0, 1), look_text(8, 2, 3)
    ('after 8 repetitions: not precise enough', 'after 8 repetitions: 2 of 3 configurations are precise enough')
    """
    if of == 1:
        return f"after {look} repetitions: {'precise enough' if ended else 'not precise enough'}"
    return f"after {look} repetitions: {ended or 'none'} of {of} configurations are precise enough"
