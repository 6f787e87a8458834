"""Sensitivity to the warm-up: metrics recomputed from raw artefacts with another warm-up; nothing
is run.

The warm-up is chosen by hand, so a result must not depend on it. The same metrics are computed from
the same artefacts with half and with twice the warm-up (see Law, Simulation Modeling and Analysis,
9.5, on the choice of the truncation point). A cell that ends before twice the warm-up has no value
there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fairc.compiler.plan import Cell
from fairc.runtime.analysis.values import values
from fairc.runtime.host.supervisor import temporary_prefix
from fairc.runtime.measurement import ArtefactError, load
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.ranges.cells import finished
from fairc.runtime.store.folder import Store, StoreError
from fairc.runtime.store.verdicts import counts

HALF, TWICE = "half", "twice"
FACTORS: Mapping[str, float] = {HALF: 0.5, TWICE: 2.0}


class CellMetrics(NamedTuple):
    """The metrics of a cell with another warm-up; factor: a name of `FACTORS`."""

    cell: Cell
    factor: str
    values: tuple[MetricValue, ...]


def revalued(path: Path) -> Iterator[CellMetrics]:
    """Yield the metrics of every finished cell that counts, with each other warm-up, in order.

    path: the run directory. Raises StoreError where there is no warm-up, or artefacts are missing
    or damaged.
    """
    store = Store(path)
    cells = [
        (cell, folder)
        for cell, folder in finished(store)
        if not cell.baseline
        and (result := store.result(folder.name)) is not None
        and counts(result)
    ]
    if cells and not any(cell.warmup_ns for cell, _ in cells):
        raise StoreError(f"{path} has no `warmup`, so there is nothing to change in it")
    for cell, folder in cells:
        if not store.has_raw(folder.name):
            raise StoreError(
                f"the raw artefacts of cell {cell.id} are gone, as with `fairc run --drop-raw`: its"
                " metrics cannot be computed with another warm-up"
            )
        with tempfile.TemporaryDirectory(prefix=temporary_prefix("warmup")) as scratch:
            try:
                store.unpack(folder.name, Path(scratch))
                for factor in FACTORS:
                    yield CellMetrics(cell, factor, _values(store, cell, Path(scratch), factor))
            except (OSError, ValueError, ArtefactError) as error:
                raise StoreError(
                    f"the raw artefacts of cell {cell.id} cannot be read: {error};"
                    f" `fairc verify {path}` says what is damaged"
                ) from None


def _values(store: Store, cell: Cell, raw: Path, factor: str) -> tuple[MetricValue, ...]:
    """Return the metrics that the plan requests; none if the cell ends before the warm-up does."""
    other = replace(cell, warmup_ns=round(cell.warmup_ns * FACTORS[factor]))
    measurement = load(other, raw)
    if measurement.warmup_s >= measurement.ended_s:
        return ()
    return values(measurement, store.plan.requests)
