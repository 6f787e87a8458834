"""The cells of a run directory that count, and those that it lacks: all that its plan declares,
or those up to where its ranges of repetitions ended (ending.py).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.runtime.repetitions.reading import of_results
from fairc.runtime.store.baselines import with_baselines
from fairc.runtime.store.folder import Store

from .ending import Ending, StoppingRule


def endings(store: Store) -> list[Ending]:
    """Return where the ranges of a plan with `precision` ended. Raises StoreError."""
    return _endings(store, store.ran())


def finished(store: Store) -> Iterator[tuple[Cell, Path]]:
    """Yield the plan's cells that have been run, with their folders, in order, except those beyond
    the end of their range. Raises StoreError.

    Cells that an earlier plan ran beyond it do not count: the numbers are those of a run of this
    plan alone.
    """
    if store.plan.precision is None:
        yield from store.ran()
        return
    there = list(store.ran())
    last = {
        configuration: ending.repetitions
        for ending in _endings(store, there)
        for configuration in ending.configurations
        if ending.why != "unfinished"
    }
    folders = {cell.id: folder for cell, folder in there}
    for cell in with_baselines(
        lambda: (cell for cell, _ in there),
        lambda cell: cell.repetition <= last.get(cell.configuration, cell.repetition),
    ):
        yield cell, folders[cell.id]


def needed(store: Store) -> Iterator[Cell]:
    """Yield the cells that a plan declares; of a range only those up to its end, or to its next
    interim analysis.

    Raises StoreError.
    """
    if store.plan.precision is None:
        yield from store.cells()
        return
    last = {name: ending.repetitions for ending in endings(store) for name in ending.configurations}
    yield from with_baselines(store.cells, lambda cell: cell.repetition <= last[cell.configuration])


def missing(store: Store, there: Collection[str]) -> list[Cell]:
    """Return the needed cells that have no result.

    there: ids of those that have one. Raises StoreError.
    """
    plan = store.plan
    if plan.precision is None and len(there) == plan.cells:
        return []  # without reading 100,000 cells
    return [cell for cell in needed(store) if cell.id not in there]


def _endings(store: Store, ran: Iterable[tuple[Cell, Path]]) -> list[Ending]:
    bindings = {c.configuration: c.bindings for c in store.cells() if not c.baseline}
    results = ((cell, store.result(folder.name)) for cell, folder in ran)
    return StoppingRule(store.plan, bindings).endings(
        of_results(store.plan, ((cell, found) for cell, found in results if found))
    )
