"""Is everything in a run directory what was written? If not, what repairs it?"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.compiler.record import FILES, recorded
from fairc.runtime.host import supervisor

from . import archive, damage, hashes
from .cell_folder import RAW, RESULT
from .folder import CELLS, LOCK, PLAN, Store, StoreError, read_cells

PHASE_CHECK = "phase-check"


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that is not what was written. file: its path below the run. repair: a command, or what to do."""

    file: str
    why: str
    repair: str


@dataclass(slots=True)
class Verified:
    """What was checked. cells: how many, whole or not; files: how many were compared; notes: as text."""

    cells: int = 0
    files: int = 0
    damaged: list[Damaged] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def verify(run: Path) -> Verified:
    """Compare every file of a run directory, and of its phase check, with its recorded hash.

    Nothing is written. Raises StoreError if it is not a run directory.
    """
    if not (run / LOCK).exists():
        raise StoreError(f"{run} is not a run directory: it has no {LOCK}")
    found = Verified()
    try:
        _read(run)
    except StoreError as error:
        text = str(error).removeprefix(str(run))  # a folder may have the name of a file
        name = next((name for name in (CELLS, LOCK, PLAN) if name in text), PLAN)
        found.damaged.append(Damaged(name, str(error), _again(run, name)))
    else:
        found.damaged += _of_run(run, found)
        found.damaged += of_cells(run, found)
    if (run / PHASE_CHECK / PLAN).exists():
        inner = verify(run / PHASE_CHECK)
        again = f"rm -r {run / PHASE_CHECK}; fairc run {run} --phase-check"
        found.damaged += [Damaged(f"{PHASE_CHECK}/{d.file}", d.why, again) for d in inner.damaged]
        found.notes += [f"{PHASE_CHECK}: {note}" for note in inner.notes]
        found.cells, found.files = found.cells + inner.cells, found.files + inner.files
    return found


def _again(run: Path, name: str) -> str:
    """Return the command that rewrites plan, cells or lock."""
    again = f"fairc run FILE -o {run}"
    if name != LOCK:
        return again
    return f"rm {run / LOCK}; {again} (when metrics were declared is lost)"


def _read(run: Path) -> None:
    """Read plan, cells and lock. Raises StoreError if one cannot be read."""
    for _ in read_cells(run):
        pass
    _ = Store(run).lock


def _of_run(run: Path, found: Verified) -> Iterator[Damaged]:
    """Yield what is damaged of plan, lock, tables, figures and report, as far as they are recorded."""
    known = recorded(run)
    if known is None:
        if (run / FILES).exists():
            yield Damaged(FILES, "it cannot be read", f"fairc report {run}")
        else:
            found.notes.append(
                "plan, lock, tables and report have no recorded hashes: the run was interrupted, or is of an"
                " earlier version; `fairc report` records them"
            )
        return
    found.files += len(known.files)
    for name, why in hashes.differing(run, known).items():
        repair = _again(run, name)
        if name.startswith(("tables/", "figures/", "report.")):
            form = name.rpartition(".")[2] if not name.startswith("tables/") else "html"
            repair = f"fairc report {run} --format {form}"
        yield Damaged(name, why, repair)


def of_cells(run: Path, found: Verified) -> Iterator[Damaged]:
    """Yield what is damaged in the cells of the plan, raw artefacts included; counts go to `found`.

    Raises StoreError where plan, cells or lock cannot be read.
    """
    store = Store(run)
    removed = unrecorded = 0
    for cell, folder in _stored(store):
        found.cells += 1
        place = folder.relative_to(run).as_posix()
        damaged = damage.of_cell(cell, folder, thorough=True)
        known = recorded(folder)
        found.files += len(known.files) if known else 2
        raw = folder / RAW
        removed += not raw.exists()
        if known is None and raw.exists() and not damaged:
            unrecorded += 1
            damaged |= _unpacked(store, folder)
        for name, why in damaged.items():
            lost = RAW in damaged or not raw.exists()
            again = f"rm -r {folder}; " if lost else ""
            yield Damaged(f"{place}/{name}", why, f"{again}fairc run {run}")
    if removed:
        found.notes.append(f"the raw artefacts of {removed} cells have been removed")
    if unrecorded:
        found.notes.append(
            f"{unrecorded} cells of an earlier version have no recorded hashes: their raw artefacts were compared"
            " with the hash in result.json"
        )


def _stored(store: Store) -> Iterator[tuple[Cell, Path]]:
    """Yield the cells of the plan that are there, including those whose result.json is missing."""
    for cell, places in store.places():
        for folder in places.values():
            if (folder / RESULT).is_file() or (folder / FILES).is_file():
                yield cell, folder
                break


def _unpacked(store: Store, folder: Path) -> dict[str, str]:
    """Compare raw artefacts whose archive has no recorded hash with the hash in the result."""
    ran = damage.ran(folder)
    if ran is None:
        return {}
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("verify")) as scratch:
        try:
            store.unpack(folder.name, Path(scratch))
        except (OSError, ValueError) as error:
            return {RAW: str(error)}
        same = archive.digest(Path(scratch)) == ran.result_sha256
    return {} if same else {RAW: "its content is not what result.json names"}
