"""Cells of tests run once: their artefacts stay in `.cache/tests`, for other tests and later runs.

An archive is named by the key of the cell's result: the cell, the machine, the programs. A change
of any of them runs the cell again. A test of what an engine itself does has it run the cell instead.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from fairc.compiler import Cell
from fairc.runtime.engines.base import Engine, RawResult
from fairc.runtime.host import archive
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.store.folder import key_of

CACHE = Path(__file__).parents[2] / ".cache" / "tests"


def artefacts(engine: Engine, cell: Cell, workdir: Path) -> Path:
    """Return the folder of a cell's artefacts, which is the test's own.

    engine: has been prepared. workdir: an empty folder. Several processes may keep the same cell at
    once: all write the same archive.
    """
    key = key_of(cell, engine.name, engine.identity_for(cell), engine.emitted(cell))
    kept = CACHE / f"{key}.tar.zst"
    if kept.exists():
        archive.unpack(kept, workdir)
        return workdir
    result = _run(engine, cell, workdir)
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=".") as scratch:
        made = Path(scratch, "made")
        archive.pack(result.artefacts, made)
        made.replace(kept)
    return result.artefacts


def _run(engine: Engine, cell: Cell, workdir: Path) -> RawResult:
    """Run a cell, which must not fail."""
    result = engine.run(cell, workdir)
    assert result.error == "", f"{result.error}\n{result.console}"
    return result


def run_alone(engine: Engine, cell: Cell, workdir: Path) -> RawResult:
    """Run a cell, whatever is kept of it, on an engine of its own; it must not fail."""
    engine.prepare()
    try:
        return _run(engine, cell, workdir)
    finally:
        engine.close()


def measured(engine: Engine, cell: Cell, workdir: Path) -> Measurement:
    """Return what a cell's artefacts show; the parameters are those of `artefacts`."""
    return load(cell, artefacts(engine, cell, workdir))
