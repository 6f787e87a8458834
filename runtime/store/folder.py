"""The run directory: complete cells under their keys, even if the process that writes them is
killed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pydantic import ValidationError

from fairc.compiler.files import IrregularError, content, lines, sync
from fairc.compiler.plan import Cell, Plan, parse_cell
from fairc.compiler.record import FILES, SPEC, File, Record, Recorded, RunRecord, of_file, recorded
from fairc.runtime.formatting import counted
from fairc.runtime.host import archive, faults
from fairc.runtime.measurement.results import CellResult

from . import cell_folder, occupant, provenance
from .cell_folder import RAW, RESULT
from .occupant import PARTIAL

PLAN, CELLS, LOCK = "plan.json", "cells.jsonl", "lock.json"
EMITTED = "emitted.json"
"""For each cell, the hash of what its engine emitted: part of its key, stored so that reading
renders nothing.
"""
REPORT = "report.html"
SHOWN = 5
"""The most runs below a folder that its error message names."""


class StoreError(Exception):
    """The run directory cannot be used; the message says why and what to do."""


class OccupiedError(StoreError):
    """Another process writes the run directory."""


def key_of(cell: Cell, engine: str, identity: str, emitted: str = "") -> str:
    """Return the name of a cell's result: that of the cell, and a hash of the cell, its engine,
    what that runs on and what it emitted.
    """
    text = f"{cell.id}\n{engine}\n{identity}\n" + (f"{emitted}\n" if emitted else "")
    return f"{cell.id}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


class Store:
    """A run directory. Reading needs nothing; writing needs the lock: `with store:`.

    path: the directory; created when it is first locked. lasting: what is stored is flushed to the
    disk, because it outlives the process.
    """

    def __init__(self, path: Path, lasting: bool = True) -> None:
        self.path = path
        self._lasting = lasting
        self._lock: int | None = None

    def __enter__(self) -> Self:
        """Take the directory's lock and remove what killed runs left behind.

        Raises StoreError, OccupiedError.
        """
        if obstacle := occupant.obstacle(self.path):
            raise StoreError(obstacle)
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
            self._lock = os.open(self.path / ".lock", flags, 0o644)
        except OSError as error:
            if fault := faults.of(error):
                raise fault from error
            raise StoreError(f"{self.path} cannot be written: {error.strerror}") from None
        if not stat.S_ISREG(os.fstat(self._lock).st_mode):  # a stranger's pipe, or a device
            self.__exit__(None, None, None)
            raise StoreError(f"{self.path / '.lock'} is in the way of a run: move or remove it")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(self._lock, 20, 0).decode(errors="replace").strip()
            self.__exit__(None, None, None)
            raise OccupiedError(
                f"{self.path} is being written by another fairc (process {owner or 'unknown'});"
                " wait for it, or give this run its own directory with -o"
            ) from None
        except OSError as error:  # NFS without a lock manager
            self.__exit__(None, None, None)
            if fault := faults.of(error):
                raise fault from error
            raise StoreError(f"{self.path} cannot be locked: {error.strerror}") from None
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        try:
            self._discard(self.path / PARTIAL)
            (self.path / PARTIAL).mkdir()
            if recorded(self.path) is None:
                self._record_again()
            (self.path / "cells").mkdir(exist_ok=True)
        except BaseException as error:
            self.__exit__(None, None, None)
            if not isinstance(error, FileExistsError | IsADirectoryError):
                raise
            odd = error.filename2 or error.filename
            raise StoreError(f"{odd} is in the way of a run: move or remove it") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release the lock; the kernel does so if the process dies."""
        if self._lock is not None:
            os.close(self._lock)  # closing releases a flock
            self._lock = None

    def _record_again(self) -> None:
        """Begin a record where there is none: with what is fairc's for sure.

        Tables are not believed: they are due.
        """
        record = self.record()
        if occupant.is_run(self.path):
            record.files |= dict.fromkeys(occupant.tables(self.path))
        record.end(occupant.documents(self.path))

    def record(self) -> Record:
        """Return the record of the directory, to write in it; the lock is held."""
        return Record(self.path, self.path / PARTIAL)

    def require_place(self, experiment: str) -> None:
        """Raise StoreError or ForeignFileError where a run of an experiment would be refused for
        what is in the directory; nothing is written.
        """
        if obstacle := occupant.obstacle(self.path):
            raise StoreError(obstacle)
        self.keep_experiment(experiment)
        self._require_free(self.record())

    def _require_free(self, record: Record) -> None:
        record.require_free(
            (*occupant.DOCUMENTS, *occupant.tables(self.path, record.files), REPORT)
        )

    # The plan

    def stage(self, write: Callable[[Path], object]) -> Path:
        """Return a folder into which `write` has put plan.json and cells.jsonl, to be adopted.

        Raises StoreError when the directory holds another experiment, and ForeignFileError when the
        user has put a file where the run will write one.
        """
        folder = self.scratch("plan")
        write(folder)
        self._keep_file(folder)
        record = self.record()
        record.theirs(folder, occupant.spec(folder))
        self._require_free(record)
        return folder

    def adopt(self, staged: Path) -> None:
        """Make a staged plan the run's plan. Raises ForeignFileError."""
        record, spec = self.record(), occupant.spec(staged)
        self._sync(staged / CELLS, staged / PLAN)
        record.move(
            staged, [*spec, CELLS, PLAN], spec
        )  # the header last: without it there is no plan
        if spec:
            record.remove({n for n in record.files if n.startswith(f"{SPEC}/")} - set(spec))
        self._sync(self.path)
        self._discard(staged)

    @property
    def plan(self) -> Plan:
        """The plan's header. Raises StoreError."""
        return read_plan(self.path)

    def cells(self) -> Iterator[Cell]:
        """Yield the plan's cells in order. Raises StoreError."""
        return read_cells(self.path)

    def write_json(self, name: str, document: object) -> None:
        """Replace a small JSON file of the run directory atomically. Raises ForeignFileError."""
        text = json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
        temporary = self.path / PARTIAL / name
        temporary.write_text(text, encoding="utf-8")
        self._sync(temporary)
        self.record().move(temporary.parent, [name])

    @property
    def lock(self) -> dict[str, Any]:
        """The lock: what produced the numbers (runtime/run/lock.py). Raises StoreError."""
        try:
            return provenance.read(self.path / LOCK)
        except FileNotFoundError:
            raise StoreError(f"{self.path} is not a run directory: it has no {LOCK}") from None
        except ValueError as error:
            raise StoreError(f"{self.path / LOCK} cannot be read: {error}") from None

    @property
    def emitted(self) -> dict[str, str]:
        """Cell -> hash of what its engine emitted; empty for runs of earlier versions.

        Raises StoreError.
        """
        try:
            found = json.loads(content(self.path / EMITTED))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError) as error:
            raise StoreError(f"{self.path / EMITTED} cannot be read: {error}") from None
        if not isinstance(found, dict) or not all(isinstance(v, str) for v in found.values()):
            raise StoreError(f"{self.path / EMITTED} is not a list of hashes")
        return found

    @property
    def engine(self) -> str | None:
        """The engine whose results are here, according to the lock; None if nothing has been run
        yet.

        A lock of an earlier version may name none; then it is the plan's. Raises StoreError.
        """
        if not (self.path / LOCK).exists():
            return None
        named = self.lock.get("engine")
        name = named.get("name") if isinstance(named, dict) else None
        return name if isinstance(name, str) else self.plan.engine

    def keep_engine(self, wanted: str) -> None:
        """Raise StoreError if the results here are another engine's: a run directory keeps its
        engine.
        """
        if self.engine not in (None, wanted):
            raise StoreError(
                f"{self.path} holds results of the engine {self.engine}, and a run directory keeps"
                f" its engine; give {wanted} its own directory with -o, such as"
                f" {self.path}-{wanted}"
            )

    def keep_experiment(self, experiment: str) -> None:
        """Raise StoreError if an experiment of another name is here: its report would be
        replaced.
        """
        there = occupant.named(self.path / PLAN)
        if there is not None and there[0] != experiment:
            raise self._taken(experiment, *there)

    def _keep_file(self, staged: Path) -> None:
        """Raise StoreError if a staged plan belongs to a different experiment from the one that is
        here.

        A file may be edited, and it may be renamed: an experiment of the same name is a different
        one if it comes from a file of another name and no cell is in both plans.
        """
        there, new = occupant.named(self.path / PLAN), occupant.named(staged / PLAN)
        if there is None or new is None:
            return
        self.keep_experiment(new[0])
        if there[1] != new[1] and not occupant.share_cells(self.path / CELLS, staged / CELLS):
            raise self._taken(f"{new[0]} of {new[1]}, which has no cell in common,", *there)

    def _taken(self, new: str, experiment: str, file: str) -> StoreError:
        count = self.count_results()
        results = f"{counted(count, 'result')} of the" if count else "the"
        return StoreError(
            f"{self.path} holds {results} experiment {experiment} ({file}), whose plan and report"
            f" would be replaced; give {new} its own directory with -o"
        )

    # Cells

    def scratch(self, name: str) -> Path:
        """Return an empty folder for work in progress; it is removed at the next start."""
        folder = self.path / PARTIAL / name
        self._discard(folder)
        folder.mkdir()
        return folder

    def folder(self, key: str) -> Path:
        """Return the folder of the cell with a key, which need not exist."""
        return self.path / "cells" / key

    def result(self, key: str) -> CellResult | None:
        """Return the stored result of a cell; None if there is none or it cannot be read."""
        try:
            return CellResult.model_validate_json(content(self.folder(key) / RESULT))
        except (FileNotFoundError, NotADirectoryError, IrregularError, ValidationError):
            return None  # an older version's result is as good as none: the cell runs again

    def ran(self) -> Iterator[tuple[Cell, Path]]:
        """Yield the plan's cells that the lock's engine has run, with their folders, in order.

        Raises StoreError.
        """
        if self.lock.get("engine") is None:
            raise StoreError(
                f"{self.path / LOCK} names no engine, so its cells cannot be identified"
            )
        for cell, places in self.places():
            there = (folder for folder in places.values() if (folder / RESULT).is_file())
            if (folder := next(there, None)) is not None:
                yield cell, folder

    def places(self) -> Iterator[tuple[Cell, dict[str, Path]]]:
        """Yield the plan's cells, each with its folder for each machine of the lock's engine, by
        identity.

        There are several if cells need different machines; older locks name only one. Raises
        StoreError.
        """
        engine, emitted = self.lock.get("engine") or {}, self.emitted
        name = engine.get("name", "")
        identities = engine.get("identities", [engine.get("identity", "")])
        for cell in self.cells():
            given = emitted.get(cell.id, "")
            yield cell, {i: self.folder(key_of(cell, name, i, given)) for i in identities}

    def commit(self, key: str, folder: Path, result: CellResult) -> None:
        """Turn a scratch folder that holds the other files of a result into the cell with this key.

        An existing cell is replaced; a kill leaves the old one, none, or the new one. What the user
        keeps in its folder stays there. Raises ForeignFileError.
        """
        (folder / RESULT).write_text(result.model_dump_json(indent=1) + "\n", encoding="utf-8")
        whole = result.status == "ok"
        ran = RunRecord(
            result_sha256=result.result_sha256, virtual_s=result.virtual_s, wall_s=result.wall_s
        )
        files: dict[str, File | None] = {
            path.name: of_file(path) for path in sorted(folder.iterdir()) if path.name != FILES
        }
        Recorded(files=files, ran=ran if whole else None).write(folder, folder)
        if self._lasting:
            cell_folder.flush(folder)
        target = self.folder(key)
        if cell_folder.has_others(target):
            cell_folder.replace(target, folder, self.path / PARTIAL)
        elif target.exists():
            replaced = self.path / PARTIAL / f"{key}.replaced"
            self._discard(replaced)
            target.rename(replaced)
            folder.rename(target)
            self._discard(replaced)
        else:
            folder.rename(target)
        self._sync(target.parent)

    def unpack(self, key: str, folder: Path) -> None:
        """Unpack a cell's raw artefacts. Raises OSError, and ValueError if they are damaged."""
        archive.unpack(self.folder(key) / RAW, folder)

    def count_results(self) -> int:
        """Return the number of cells, of any plan, that are here and did not fail."""
        found = (
            self.result(path.parent.name) for path in (self.path / "cells").glob(f"*/{RESULT}")
        )
        return sum(result is not None and result.status == "ok" for result in found)

    def has_raw(self, key: str) -> bool:
        """Return whether a cell's raw artefacts are still there."""
        return (self.folder(key) / RAW).is_file()

    def remove_raw(self) -> int:
        """Remove the raw artefacts of all cells; return the number of bytes freed."""
        return sum(map(cell_folder.remove_raw, sorted((self.path / "cells").glob("*"))))

    def remove(self, key: str) -> None:
        """Remove the cell with a key, if there is one; what the user keeps in its folder stays."""
        cell_folder.remove(self.folder(key), self.path / PARTIAL)

    def _sync(self, *paths: Path) -> None:
        for path in paths if self._lasting else ():
            sync(path)

    def _discard(self, folder: Path) -> None:
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            pass
        except OSError as error:
            if fault := faults.of(error):
                raise fault from error
            raise StoreError(f"{folder} cannot be removed: {error.strerror}") from None


def read_plan(folder: Path) -> Plan:
    """Read the header of a compiled plan. Raises StoreError."""
    try:
        return Plan.model_validate_json(content(folder / PLAN))
    except FileNotFoundError:
        below = sorted(path.parent.name for path in folder.glob(f"*/{PLAN}"))
        each = f"; those of {', '.join(below[:SHOWN])} are one level below" if below else ""
        if not folder.exists() and (meant := Path("results") / folder / PLAN).is_file():
            each = f"; did you mean {meant.parent}?"
        raise StoreError(f"{folder} holds no plan: it has no {PLAN}{each}") from None
    except OSError as error:
        raise StoreError(f"{folder / PLAN} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise StoreError(
            f"{folder / PLAN} is not a plan of this version: {occupant.first(error)}"
        ) from None


def runs_in(folder: Path) -> dict[str, Path]:
    """Return the run directories of the experiments of one file, by their names and in its order;
    a folder that is a run directory, or is no folder of such a file, is the only one, without name.
    """
    if (folder / PLAN).exists():
        return {"": folder}
    found = {path.parent.name: path.parent for path in sorted(folder.glob(f"*/{PLAN}"))}
    for each in found.values():
        try:
            order = read_plan(each).experiments
        except StoreError:  # the plans of the others tell, too
            continue
        if several := {name: found[name] for name in order if name in found}:
            return several
    return {"": folder}


def read_cells(folder: Path) -> Iterator[Cell]:
    """Yield the cells of a compiled plan in order: each once, and all of them.

    Raises StoreError.
    """
    plan = read_plan(folder)
    seen: set[str] = set()
    try:
        for number, line in enumerate(lines(folder / CELLS), 1):
            cell = read_cell(folder, plan, line, number)
            if cell.id in seen:
                raise StoreError(f"{folder / CELLS}:{number}: the cell {cell.id} appears twice")
            seen.add(cell.id)
            yield cell
        if len(seen) != plan.cells:
            raise StoreError(
                f"{folder / CELLS} has {len(seen)} cells where {PLAN} counts {plan.cells}:"
                " the plan is incomplete; compile it again"
            )
    except FileNotFoundError:
        raise StoreError(f"{folder} holds no plan: it has no {CELLS}") from None
    except OSError as error:
        raise StoreError(f"{folder / CELLS} cannot be read: {error.strerror}") from None


def read_cell(folder: Path, plan: Plan, line: bytes, number: int) -> Cell:
    """Read a line of `cells.jsonl`, counted from 1, as a cell of the plan. Raises StoreError."""
    try:
        cell = parse_cell(line)
    except ValidationError as error:
        raise StoreError(
            f"{folder / CELLS}:{number} is not a cell of this version: {occupant.first(error)}"
        ) from None
    fits = cell.experiment == plan.experiment and len(cell.bindings) == len(plan.axes)
    for axis, (name, value) in zip(plan.axes, cell.bindings.items(), strict=False):
        fits = fits and name == axis.name and value in axis.values
    if not fits or not all(amount.covers(cell.bindings) for amount in plan.amounts):
        raise StoreError(f"{folder / CELLS}:{number} is not a cell of the plan in {PLAN}")
    return cell
