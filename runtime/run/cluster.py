"""Single cells of a compiled plan, run by processes that share nothing but the plan's folder.

    DIR/results/<key>/      a finished cell, as in a run directory, and made.json: what made it
    DIR/results/.writing/   unfinished results

A cell is run in its own run directory, on this machine's disk, copied into `.writing` and
renamed into place: it is complete or absent, also over NFS, without a lock.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from fairc.compiler.files import content, sync
from fairc.compiler.plan import Cell, Plan, cell_json
from fairc.compiler.record import RESULTS
from fairc.runtime.engines.base import Engine
from fairc.runtime.host import supervisor
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store import cell_folder, provenance
from fairc.runtime.store.cell_folder import ORIGIN, RESULT
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
from .progress import NoProgress
from .sweep import Sweep

MEASURE = "measure"
"""In `made.json`: the metrics that the plan named when the cell was run."""

WRITING = ".writing"


def cell_at(folder: Path, plan: Plan, index: int) -> Cell:
    """Return a cell of a compiled plan by its number, from 0. Raises StoreError."""
    if not 0 <= index < plan.cells:
        raise StoreError(
            f"{folder} has {plan.cells} cells, 0 to {plan.cells - 1}: there is no cell {index}"
        )
    try:
        with (folder / CELLS).open("rb") as lines:
            line = next(islice(lines, index, None), None)
    except OSError as error:
        raise StoreError(f"{folder / CELLS} cannot be read: {error.strerror}") from None
    if line is None:
        raise StoreError(
            f"{folder / CELLS}:{index + 1} is missing: the plan is incomplete; compile it again"
        )
    cell = read_cell(folder, plan, line, index + 1)
    require_genuine(folder, cell, index + 1)
    return cell


def stored(folder: Path, key: str) -> CellResult | None:
    """Return a cell's stored result in a plan's folder; None when there is none, or it is
    damaged.
    """
    try:
        return CellResult.model_validate_json(content(folder / RESULTS / key / RESULT))
    except (OSError, ValidationError):
        return None


def run(
    folder: Path, plan: Plan, cell: Cell, engine: Engine, fresh: bool = False
) -> tuple[CellResult, bool]:
    """Run a cell of a compiled plan on a prepared engine, and keep its result in the plan's folder.

    fresh: run it even if its result exists. Returns the result, and whether it was run.
    Raises KeyboardInterrupt, leaving nothing behind; EngineUnavailable; OSError.
    """
    key = key_of(cell, engine.name, engine.identity_for(cell), engine.emitted(cell))
    there = None if fresh else stored(folder, key)
    if there is not None and there.status == "ok":
        return there, False
    with tempfile.TemporaryDirectory(prefix=supervisor.temporary_prefix("cell")) as scratch:
        with Store(Path(scratch, "run")) as store:
            store.adopt(store.stage(lambda staged: _write(staged, plan, cell)))
            Sweep(store, engine, NoProgress(), jobs=1).run()
            result = store.result(key)
        assert result is not None, "the sweep has stored it"
        named = [*history.declared(plan), *map(history.as_claimed, plan.claims)]
        document = {**lock.provenance(engine), MEASURE: named}
        text = json.dumps(document, indent=2, sort_keys=True) + "\n"
        (store.folder(key) / ORIGIN).write_text(text, encoding="utf-8")
        _publish(store.folder(key), folder / RESULTS, key, fresh)
    return result, True


def _write(staged: Path, plan: Plan, cell: Cell) -> None:
    """Write a plan of one cell."""
    (staged / CELLS).write_text(cell_json(cell) + "\n", encoding="utf-8")
    alone = plan.model_copy(update={"cells": 1})
    (staged / PLAN).write_text(alone.model_dump_json(indent=2) + "\n", encoding="utf-8")


def _publish(source: Path, results: Path, key: str, fresh: bool) -> None:
    """Copy a finished cell into a shared folder under its key, atomically for other processes.

    If another process has put a complete one there meanwhile, that one stays: it is of the same
    cell and the same machine.
    """
    unique = f"{key}.{uuid.uuid4().hex}"
    copy, old = results / WRITING / unique, results / WRITING / f"{unique}.old"
    for folder in (results, copy.parent):
        if folder.is_symlink():
            raise StoreError(f"{folder} is a link, and nothing is written through one: remove it")
    copy.parent.mkdir(parents=True, exist_ok=True)
    try:
        shutil.copytree(source, copy)
        for path in (*copy.iterdir(), copy):
            sync(path)
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
