"""The outcome of a run directory: claims decided, cells counted."""

from __future__ import annotations

from fairc.compiler.plan import Cell
from fairc.runtime.claims import Decision, decide
from fairc.runtime.claims.forms import Validity, validity
from fairc.runtime.ranges.cells import finished, missing, needed
from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.store import baselines
from fairc.runtime.store.folder import Store

from .history import claims_before


def decide_claims(measured: Measurements, store: Store) -> Decision:
    """Decide the claims of a plan; measured: of the run's tables. Raises TableError, StoreError."""
    plan = measured.plan
    absent = incomplete(measured, store) if plan.claims else ()
    return decide(measured, absent, claims_before(plan, store.lock))


def incomplete(measured: Measurements, store: Store) -> list[Cell]:
    """Return the cells of configurations that lack a result, their own or a baseline's. Raises
    StoreError.
    """
    lacking = without_result(measured, store)
    places = {(cell.configuration, cell.repetition) for cell in lacking if cell.baseline}
    if not places:
        return lacking
    ids = {cell.id for cell in lacking}
    return [
        cell
        for cell in needed(store)
        if not cell.baseline and (cell.id in ids or not baselines.places([cell]).isdisjoint(places))
    ]


def without_result(measured: Measurements, store: Store) -> list[Cell]:
    """Return the needed cells that have no result, baselines included. Raises StoreError."""
    there = measured.ids
    if measured.plan.baselines:
        there |= {cell.id for cell, _ in finished(store) if cell.baseline}
    return missing(store, there)


def count_cells(measured: Measurements, store: Store) -> Validity:
    """Count the cells of a run by verdict. Raises TableError, StoreError."""
    return validity(measured, len(without_result(measured, store)))
