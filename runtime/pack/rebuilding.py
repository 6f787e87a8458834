"""The run in a pack, built anew from the spec, the lock and the results of cells.

Plan, tables, figures, report and texts follow from these. Who packs builds them, and so does who verifies: whatever else
a pack holds can be compared with that, and need not be believed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fairc import compiler
from fairc.runtime.run import phase
from fairc.runtime.run.analyst import link_or_copy
from fairc.runtime.run.wanted import every
from fairc.runtime.store import hashes, tables
from fairc.runtime.store.copying import copy_plan
from fairc.runtime.store.folder import EMITTED, LOCK, PLAN, RAW, RESULT, SERIES, Store

OF_CELL = (RESULT, SERIES, hashes.FILES)
FORMS = {"svg", "pdf", "csv", "tex"}


def as_packed(source: Path, place: Path, raw: bool) -> Store:
    """Build the pack of a run directory in an empty folder. raw: with raw artefacts.

    Raises StoreError, TableError, ReportError, OSError.
    """
    return _built(source, place, lambda to: copy_plan(source, to), raw)


def as_compiled(source: Path, place: Path, compilation: compiler.Compilation) -> Store:
    """Build the same from an unpacked pack, with the plan as its spec compiles here; raises as `as_packed`."""
    return _built(
        source, place, lambda to: compiler.emit(compilation, to, ("json",)), raw=True, own=True
    )


def _built(
    source: Path, place: Path, plan: Callable[[Path], None], raw: bool, own: bool = False
) -> Store:
    """own: write the plan of the phase check as it follows from the plan here, instead of copying it."""
    from fairc.runtime import report

    store = _copied(source, place, plan, raw)
    inner = source / phase.FOLDER
    if (inner / PLAN).is_file():

        def write(folder: Path) -> None:
            if own:
                phase.write_plan(store, phase.used(store, every), folder)
            else:
                copy_plan(inner, folder)

        _tabulate(_copied(inner, place / phase.FOLDER, write, raw))
    _tabulate(store)
    with hashes.rewriting(place):
        report.build(place, forms(source))
    return store


def forms(source: Path) -> list[str]:
    """Return the formats of report that a folder holds; always the page."""
    found = {path.suffix[1:] for path in (source / "figures").glob("*")} & FORMS
    return ["html", *(["md"] if (source / "report.md").is_file() else []), *sorted(found)]


def _copied(source: Path, place: Path, plan: Callable[[Path], None], raw: bool) -> Store:
    """Return a store with a plan, and with the lock and the cells of another folder."""
    store = Store(place)
    with store:
        store.adopt(store.stage(plan))
    for name in (LOCK, EMITTED):
        if (source / name).is_file():
            link_or_copy(source / name, place / name)
    for _, places in store.places():
        for folder in places.values():
            _copy_cell(source / "cells" / folder.name, folder, raw)
    return store


def _copy_cell(source: Path, place: Path, raw: bool) -> None:
    found = [source / name for name in ((*OF_CELL, RAW) if raw else OF_CELL)]
    for path in (*found, *source.glob("*.har")):
        if path.is_file() and not path.is_symlink():
            place.mkdir(exist_ok=True)
            link_or_copy(path, place / path.name)


def _tabulate(store: Store) -> None:
    with hashes.rewriting(store.path):
        tables.write_of(store, store.path / "tables", store.plan)
