"""The run in a pack, built anew from the spec, the lock and the results of cells.

Plan, tables, figures, report and texts follow from these. Who packs builds them, and so does who
verifies: whatever else a pack holds can be compared with that, and need not be believed.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from fairc import compiler
from fairc.compiler.record import FILES
from fairc.runtime.ranges.cells import finished
from fairc.runtime.report import build
from fairc.runtime.run import phase
from fairc.runtime.run.analyst import link_or_copy
from fairc.runtime.store import occupant, tables
from fairc.runtime.store.cell_folder import RAW, RESULT, ours
from fairc.runtime.store.copying import copy_plan
from fairc.runtime.store.folder import EMITTED, LOCK, PLAN, Store, runs_in

from . import zipped

DERIVED = ("tables", "figures", *occupant.REPORTS, FILES)
"""Names in a run directory that `unpack` leaves out."""
FORMS = {"svg", "pdf", "csv", "tex"}


def as_packed(source: Path, place: Path, raw: bool) -> None:
    """Build the pack of a run directory, or of the runs of several experiments, in an empty folder.

    raw: with raw artefacts. Raises StoreError, TableError, ReportError, OSError.
    """
    runs = runs_in(source)
    for name, run in runs.items():
        _as_packed(run, place / name, raw)
    if "" not in runs:
        build.build_all(place, [*runs])


def _as_packed(source: Path, place: Path, raw: bool) -> None:
    store = _copied(source, place, lambda to: copy_plan(source, to), raw)
    inner = source / phase.FOLDER
    if (inner / PLAN).is_file():
        _copied(inner, place / phase.FOLDER, lambda to: copy_plan(inner, to), raw)
    derive(store, forms(source))


def as_compiled(source: Path, place: Path, compilation: compiler.Compilation) -> Store:
    """Begin the same from an unpacked pack, with the plan as its spec compiles here; `derive`
    completes it.

    The plan of the phase check is the one that follows from it. Raises StoreError, OSError.
    """
    store = _copied(source, place, lambda to: compiler.emit(compilation, to, ("json",)), raw=True)
    inner = source / phase.FOLDER
    if (inner / PLAN).is_file():
        used = phase.used(store, lambda _: True)
        _copied(inner, place / phase.FOLDER, lambda to: phase.write_plan(store, used, to), raw=True)
    return store


def derive(store: Store, formats: list[str]) -> None:
    """Write what follows from the cells of a run: tables, report.

    Raises TableError, ReportError, StoreError.
    """
    if (store.path / phase.FOLDER).is_dir():
        _tabulate(Store(store.path / phase.FOLDER))
    _tabulate(store)
    build.build(store.path, formats)


def unpack(pack: Path, folder: Path) -> None:
    """Unpack a pack into an empty folder, to work with: what follows from its cells is left out, or
    written anew.

    Raises PackError, StoreError, TableError, OSError.
    """
    zipped.unpack(pack, folder)
    runs = runs_in(folder)
    for run in dict.fromkeys((folder, *runs.values())):
        _unpacked(run)
        _unpacked(run / phase.FOLDER)
    for run in runs.values():
        if (run / phase.FOLDER / PLAN).is_file():
            _tabulate(Store(run / phase.FOLDER))


def _unpacked(run: Path) -> None:
    """Remove what is derived in a folder of a pack, and begin the record of a run."""
    for name in DERIVED:
        shutil.rmtree(run / name, ignore_errors=True)
        (run / name).unlink(missing_ok=True)
    if (run / PLAN).is_file():
        with Store(run) as store:
            store.record().end(occupant.spec(run))


def forms(source: Path) -> list[str]:
    """Return the formats of report that a folder holds; always the page."""
    found = {path.suffix[1:] for path in (source / "figures").glob("*")} & FORMS
    return ["html", *(["md"] if (source / "report.md").is_file() else []), *sorted(found)]


def _copied(source: Path, place: Path, plan: Callable[[Path], object], raw: bool) -> Store:
    """Return a store with a plan, and with the lock and the cells of another folder."""
    store = Store(place)
    with store:
        store.adopt(store.stage(plan))
        there = [name for name in (LOCK, EMITTED) if (source / name).is_file()]
        for name in there:
            link_or_copy(source / name, place / name)
        store.record().end(there)
    for _, places in store.places():
        for folder in places.values():
            _copy_cell(source / "cells" / folder.name, folder, raw)
    return store


def of_cell(folder: Path, raw: bool) -> list[str]:
    """Return the names of the files of a stored cell that a pack has."""
    names = (RESULT, FILES, RAW) if raw else (RESULT, FILES)
    kept = (".har", ".parquet")
    return sorted(name for name in ours(folder) if name in names or name.endswith(kept))


def _copy_cell(source: Path, place: Path, raw: bool) -> None:
    for path in (source / name for name in of_cell(source, raw)):
        if path.is_file() and not path.is_symlink():
            place.mkdir(exist_ok=True)
            link_or_copy(path, place / path.name)


def _tabulate(store: Store) -> None:
    with store:
        tables.renew(store, finished(store))
