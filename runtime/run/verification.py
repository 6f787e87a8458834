"""Verification of a run directory: it is what was written, and all that its plan declares; else,
what repairs it.

What can be computed is computed: tables from the cells, and results from raw artefacts
(runtime/run/repair.py). Pages and figures are compared with their recorded hashes.
"""

from __future__ import annotations

import filecmp
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fairc.compiler.files import content
from fairc.compiler.plan import Cell
from fairc.compiler.record import FILES, recorded
from fairc.runtime.formatting import counted
from fairc.runtime.host import supervisor
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.ranges.cells import finished, missing
from fairc.runtime.store import damage, hashes, tables
from fairc.runtime.store.cell_folder import RAW, RESULT, ours
from fairc.runtime.store.folder import CELLS, LOCK, PLAN, Store, StoreError, read_cells
from fairc.runtime.store.occupant import PHASE_CHECK, REPORTS

OF_THE_HOST = {"wall_s", "analysis"}
"""Fields of a result that differ where the cell did the same: wall time, and the version that
analysed it.
"""


@dataclass(frozen=True, slots=True)
class DamagedFile:
    """A file that is not what was written.

    file: its path below the run. repair: a command, or what to do.
    """

    file: str
    why: str
    repair: str


@dataclass(slots=True)
class Verification:
    """The outcome of a check.

    cells: how many have a result, whole or not; planned: how many the plan declares. files: how
    many were compared with their hashes. raw: how many cells have raw artefacts. derived: of how
    many the results were derived from these again.
    notes: as text.
    """

    cells: int = 0
    planned: int = 0
    files: int = 0
    raw: int = 0
    derived: int = 0
    damaged: list[DamagedFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether everything is there, and nothing damaged."""
        return not self.damaged and self.cells == self.planned


def verify(run: Path) -> Verification:
    """Check every file of a run directory, and of its phase check, except that results follow from
    raw artefacts.

    Nothing is written. Raises StoreError if it is not a run directory.
    """
    if not (run / LOCK).exists():
        raise StoreError(f"{run} is not a run directory: it has no {LOCK}")
    found = Verification()
    try:
        _read(run)
    except StoreError as error:
        text = str(error).removeprefix(str(run))  # a folder may have the name of a file
        name = next((name for name in (CELLS, LOCK, PLAN) if name in text), PLAN)
        found.damaged.append(DamagedFile(name, str(error), _again(run, name)))
    else:
        if outdated := Store(run).plan.outdated:
            found.notes.append(outdated)
        found.damaged += _of_run(run, found)
        found.damaged += of_cells(run, found)
        found.planned = found.cells
        if not found.damaged:
            _whole(run, found)
    if (run / PHASE_CHECK / PLAN).exists():
        inner = verify(run / PHASE_CHECK)
        again = f"rm -r {quoted(run / PHASE_CHECK)}; {resume(run)} --phase-check"
        found.damaged += [
            DamagedFile(f"{PHASE_CHECK}/{d.file}", d.why, again) for d in inner.damaged
        ]
        found.notes += [f"{PHASE_CHECK}: {note}" for note in inner.notes]
        found.files += inner.files
        if inner.planned > inner.cells:
            lacking = f"{inner.cells} of its {inner.planned} cells"
            found.damaged.append(DamagedFile(PHASE_CHECK, lacking, again))
    return found


def resume(run: Path) -> str:
    """Return the command that runs what is missing in a run directory."""
    return f"fairc run {quoted(run)} -o {quoted(run)}"


def quoted(path: Path) -> str:
    """Return a path as a shell takes it."""
    return shlex.quote(str(path))


def _again(run: Path, name: str) -> str:
    """Return the command that rewrites plan, cells or lock."""
    again = f"fairc run FILE -o {quoted(run)}"
    if name != LOCK:
        return again
    return f"rm {quoted(run / LOCK)}; {again} (when metrics were declared is lost)"


def _whole(run: Path, found: Verification) -> None:
    """Count what the plan declares, and compare the tables with those of the cells, none of which
    is damaged.
    """
    store = Store(run)
    there = list(finished(store))
    found.planned += len(missing(store, {cell.id for cell, _ in there}))
    if not (run / "tables").is_dir():
        return
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("verify")) as scratch:
        try:
            tables.write_of(there, Path(scratch), store.plan)
        except tables.TableError as error:
            found.damaged.append(DamagedFile("cells", str(error), resume(run)))
            return
        for path in sorted(Path(scratch).glob("*.parquet")):
            name = f"tables/{path.name}"
            if not (run / name).is_file() or not tables.same(path, run / name):
                why = "it does not follow from the cells"
                found.damaged.append(DamagedFile(name, why, f"fairc report {quoted(run)}"))


def _read(run: Path) -> None:
    """Read plan, cells and lock. Raises StoreError if one cannot be read."""
    for _ in read_cells(run):
        pass
    _ = Store(run).lock


def _of_run(run: Path, found: Verification) -> Iterator[DamagedFile]:
    """Yield what is damaged of plan, lock, tables, figures and report."""
    known = recorded(run)
    if known is None:
        there = (run / FILES).exists()
        why = "it cannot be read" if there else f"{hashes.MISSING}: nothing says what fairc wrote"
        yield DamagedFile(FILES, why, _record_again(run))
        return
    found.files += len(known.files)
    wrong = hashes.differing(run, known)
    wrong |= dict.fromkeys(hashes.unrecorded(run, known), hashes.UNRECORDED)
    for name, why in wrong.items():
        repair = _again(run, name)
        if name.startswith(("tables/", "figures/", "report.")):
            form = name.rpartition(".")[2] if not name.startswith("tables/") else "html"
            repair = f"fairc report {quoted(run)} --format {form}"
        if why == hashes.UNRECORDED and name != LOCK:
            repair = f"rm {quoted(run / name)}; {repair}"
        yield DamagedFile(name, why, repair)


def of_page(folder: Path) -> Iterator[DamagedFile]:
    """Yield what is damaged of the page of several experiments in the folder of their runs."""
    known = recorded(folder)
    wrong = {FILES: hashes.MISSING} if known is None else hashes.differing(folder, known)
    for name, why in wrong.items():
        yield DamagedFile(name, why, f"fairc report {quoted(folder)}")


def _record_again(run: Path) -> str:
    """Return the command that writes a new record; it keeps reports and figures, as nothing says
    who wrote them.
    """
    there = [quoted(run / name) for name in (*REPORTS, "figures") if (run / name).exists()]
    again, place = f"fairc report {quoted(run)}", quoted(run / "earlier")
    return f"mkdir {place}; mv {' '.join(there)} {place}; {again}" if there else again


def of_cells(run: Path, found: Verification) -> Iterator[DamagedFile]:
    """Yield what is damaged in the cells of the plan, raw artefacts included; counts go to `found`.

    Raises StoreError where plan, cells or lock cannot be read.
    """
    store = Store(run)
    for cell, folder in stored(store):
        found.cells += 1
        place = folder.relative_to(run).as_posix()
        damaged = damage.of_cell(cell, folder, thorough=True)
        known = recorded(folder)
        found.files += len(known.files) if known else 0
        raw = folder / RAW
        found.raw += raw.exists()
        for name, why in damaged.items():
            lost = RAW in damaged or not raw.exists()
            again = f"rm -r {quoted(folder)}; " if lost else ""
            yield DamagedFile(f"{place}/{name}", why, f"{again}{resume(run)}")
    if removed := found.cells - found.raw:
        found.notes.append(f"{counted(removed, 'cell')} kept no raw artefacts")


def stored(store: Store) -> Iterator[tuple[Cell, Path]]:
    """Yield the cells of the plan that are there, including those whose result.json is missing.

    Raises StoreError.
    """
    for cell, places in store.places():
        for folder in places.values():
            if (folder / RESULT).is_file() or (folder / FILES).is_file():
                yield cell, folder
                break


def differences(first: Path, second: Path) -> list[str]:
    """Return the fields and files in which two stored cells differ, wall times aside.

    Raises OSError, ValueError.
    """
    one, other = (
        CellResult.model_validate_json(content(folder / RESULT)) for folder in (first, second)
    )
    fields = (name for name in CellResult.model_fields if name not in OF_THE_HOST)
    found = [name for name in fields if getattr(one, name) != getattr(other, name)]
    kept = (".har", ".parquet")
    names = {n for folder in (first, second) for n in ours(folder) if n.endswith(kept)}
    return found + [name for name in sorted(names) if not same_file(first / name, second / name)]


def same_file(first: Path, second: Path) -> bool:
    """Return whether two files are there and hold the same."""
    if not (first.is_file() and second.is_file()):
        return False
    return (
        tables.same(first, second)
        if first.suffix == ".parquet"
        else filecmp.cmp(first, second, shallow=False)
    )
