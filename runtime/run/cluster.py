"""Single cells of a compiled plan, run by processes that share nothing but the plan's folder.

    DIR/results/<key>/      a finished cell, as in a run directory, and made.json: what made it
    DIR/results/.writing/   unfinished results

Cells are run in a run directory of the process, on this machine's disk. Each is copied into
`.writing` and renamed into place: it is complete or absent, also over NFS, without a lock.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from fairc.compiler.files import content, lines, sync
from fairc.compiler.plan import Cell, Plan, cell_json
from fairc.compiler.record import RESULTS
from fairc.runtime.engines.base import Engine
from fairc.runtime.host import supervisor
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store import cell_folder, provenance
from fairc.runtime.store.cell_folder import ORIGIN, RESULT, flush
from fairc.runtime.store.copying import require_genuine
from fairc.runtime.store.folder import (
    CELLS,
    PLAN,
    Store,
    StoreError,
    key_of,
    read_cell,
)

from . import history, lock
from .progress import Progress
from .sweep import Sweep

MEASURE = "measure"
"""In `made.json`: the metrics that the plan named when the cell was run."""

WRITING = ".writing"


def cells_at(folder: Path, plan: Plan, indices: Collection[int]) -> Iterator[tuple[int, Cell]]:
    """Yield cells of a compiled plan with their numbers, from 0, in the order of the plan: one pass
    over its lines, however many are asked for. Raises StoreError.
    """
    wanted, last = frozenset(indices), max(indices)
    number = -1
    if min(indices) < 0 or last >= plan.cells:
        index = min(indices) if min(indices) < 0 else last
        raise StoreError(
            f"{folder} has {plan.cells} cells, 0 to {plan.cells - 1}: there is no cell {index}"
        )
    try:
        for number, line in enumerate(islice(lines(folder / CELLS), last + 1)):
            if number in wanted:
                cell = read_cell(folder, plan, line, number + 1)
                require_genuine(folder, cell, number + 1)
                yield number, cell
    except OSError as error:
        raise StoreError(f"{folder / CELLS} cannot be read: {error.strerror}") from None
    if number < last:
        raise StoreError(
            f"{folder / CELLS}:{last + 1} is missing: the plan is incomplete; compile it again"
        )


def stored(folder: Path, key: str) -> CellResult | None:
    """Return a cell's stored result in a plan's folder; None when there is none, or it is
    damaged.
    """
    try:
        return CellResult.model_validate_json(content(folder / RESULTS / key / RESULT))
    except (OSError, ValidationError):
        return None


class Told(Protocol):
    """Called for each cell as soon as its result is in the plan's folder."""

    def __call__(self, index: int, result: CellResult, ran: bool) -> None:
        """Take a result. ran: whether this command ran the cell; else its result was there."""
        ...


def run(
    folder: Path,
    plan: Plan,
    indices: Collection[int],
    engine: Engine,
    told: Told,
    fresh: bool = False,
) -> None:
    """Run cells of a compiled plan on a prepared engine, one after the other, and keep each result
    in the plan's folder as soon as it is complete.

    fresh: run them even if their results exist. Raises KeyboardInterrupt, leaving nothing of the
    cell in progress behind; EngineUnavailable; OSError; StoreError.
    """
    worker = _Worker(folder, engine, told, fresh)
    with (
        tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("cell")) as scratch,
        Store(Path(scratch, "run"), lasting=False) as store,
    ):
        store.adopt(store.stage(lambda staged: worker.write(staged, plan, indices)))
        if worker.numbers:
            named = [*history.declared(plan), *map(history.as_claimed, plan.claims)]
            # By now the engine has been asked for the machines of all cells.
            worker.origin = {**lock.provenance(engine), MEASURE: named}
            Sweep(
                store,
                engine,
                worker,
                jobs=1,
                wanted=worker.wanted,
                emitted=worker.emitted,
                overlapping=False,
            ).run()
    worker.tell_others()


class _Worker(Progress):
    """Publishes the results of a sweep over some cells of a plan, and tells of each.

    numbers: of the cells that had no result, by key. emitted: of the same, by id. origin: what
    produces them.
    """

    def __init__(self, folder: Path, engine: Engine, told: Told, fresh: bool) -> None:
        self.numbers: dict[str, int] = {}
        self.emitted: dict[str, str] = {}
        self.origin: dict[str, Any] = {}
        self._folder = folder
        self._engine = engine
        self._told = told
        self._fresh = fresh

    def write(self, staged: Path, plan: Plan, indices: Collection[int]) -> None:
        """Write a plan of the cells that have no result; tell of those that have one."""
        with (staged / CELLS).open("w", encoding="utf-8") as lines:
            for index, cell in cells_at(self._folder, plan, indices):
                emitted = self._engine.emitted(cell)
                key = self._key(cell, emitted)
                if there := self._there(key):
                    self._told(index, there, ran=False)
                    continue
                self.numbers[key] = index
                self.emitted[cell.id] = emitted
                lines.write(cell_json(cell) + "\n")
        some = plan.model_copy(update={"cells": len(self.numbers)})
        (staged / PLAN).write_text(some.model_dump_json(indent=2) + "\n", encoding="utf-8")

    def wanted(self, cell: Cell) -> bool:
        """Return whether a cell has no result yet: also asked when it is due, because another
        process may have run it meanwhile.
        """
        return self._there(self._key(cell, self.emitted[cell.id])) is None

    def done(self, result: CellResult, folder: Path) -> None:
        """Put a finished cell into the plan's folder, and tell of it."""
        text = json.dumps(self.origin, indent=2, sort_keys=True) + "\n"
        (folder / ORIGIN).write_text(text, encoding="utf-8")
        _publish(folder, self._folder / RESULTS, result.key, self._fresh)
        shutil.rmtree(folder)
        self._told(self.numbers.pop(result.key), result, ran=True)

    def tell_others(self) -> None:
        """Tell of the cells that other processes have run meanwhile."""
        for key, index in self.numbers.items():
            if there := self._there(key):
                self._told(index, there, ran=False)

    def _key(self, cell: Cell, emitted: str) -> str:
        return key_of(cell, self._engine.name, self._engine.identity_for(cell), emitted)

    def _there(self, key: str) -> CellResult | None:
        """Return a cell's result if it is there and counts."""
        there = None if self._fresh else stored(self._folder, key)
        return there if there is not None and there.status == "ok" else None


def _publish(source: Path, results: Path, key: str, fresh: bool) -> None:
    """Copy a finished cell into a shared folder under its key, atomically for other processes.

    If another process has put a complete one there meanwhile, that one stays: it is of the same
    cell and the same machine.
    """
    unique = f"{key}.{uuid.uuid4().hex}"
    copy, old = results / WRITING / unique, results / WRITING / f"{unique}.old"
    for folder in (results, copy.parent, results / key):
        if folder.is_symlink():
            raise StoreError(f"{folder} is a link, and nothing is written through one: remove it")
    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copytree(source, copy)
        flush(copy)
        if cell_folder.has_others(results / key):
            there = None if fresh else stored(results.parent, key)
            if there is None or there.status != "ok":
                cell_folder.replace(results / key, copy, copy.parent)
            return
        for last in (False, False, True):  # others may be at it, too
            there = None if fresh else stored(results.parent, key)
            if there is not None and there.status == "ok":
                break
            with suppress(FileNotFoundError):
                (results / key).rename(old)
            try:
                copy.rename(results / key)
                break
            except OSError:  # a folder with files in it is there again
                shutil.rmtree(old, ignore_errors=True)
                if last:
                    raise
        sync(results)
    finally:
        for left in (copy, old):
            shutil.rmtree(left, ignore_errors=True)


def origin(folder: Path, known: dict[bytes, dict[str, Any]] | None = None) -> dict[str, Any]:
    """Read what produced the cell in a folder (`made.json`). Raises StoreError.

    known: what has been read, by its text: that of 100,000 cells is the same few documents.
    """
    try:
        text = provenance.text(folder / ORIGIN)
        if known is not None and text in known:
            return known[text]
        document = provenance.parsed(text)
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder / ORIGIN} cannot be read: {error}") from None
    if "engine" not in document:
        raise StoreError(f"{folder / ORIGIN} cannot be read: it names no engine")
    if known is not None:
        known[text] = document
    return document


def folders(plan: Path) -> Iterator[Path]:
    """Yield the folders of results in a plan's folder, sorted."""
    results = plan / RESULTS
    if results.is_dir():
        yield from sorted(p for p in results.iterdir() if p.name != WRITING and p.is_dir())


def ranges(indices: list[int]) -> str:
    """Write ascending numbers as `sbatch --array` takes them.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2,5,7-8'
    """
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)
