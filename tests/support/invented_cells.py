"""Cells of the fake engine are invented once in a process: most tests of commands run the same ones."""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path
from threading import Lock

from fairc.compiler.plan import Cell, cell_json
from fairc.runtime.engines.base import RawResult
from fairc_fake.engine import FakeEngine

_run = FakeEngine.run


class InventedCells:
    """Runs cells of the fake engine, and keeps what they leave behind for the next time.

    folder: where it is kept. A cell in which something goes wrong, or which takes time, is run by
    the engine itself.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = Lock()
        self._known: dict[str, RawResult] = {}

    def run(self, engine: FakeEngine, cell: Cell, workdir: Path) -> RawResult:
        """Return what `FakeEngine.run` returns."""
        if engine._faults.get(cell.repetition) or engine._pause_s or engine._closed.is_set():
            return _run(engine, cell, workdir)
        began_s = time.monotonic()
        text = cell_json(cell)
        if (known := self._known.get(text)) is None:
            made = _run(engine, cell, workdir)
            with self._lock:
                if text not in self._known:
                    place = self._folder / str(len(self._known))
                    shutil.copytree(made.artefacts, place)
                    self._known[text] = replace(made, artefacts=place)
            return made
        artefacts = Path(shutil.copytree(known.artefacts, workdir / "artefacts"))
        return replace(known, artefacts=artefacts, wall_s=time.monotonic() - began_s)
