"""Cells in real time on a machine that has other work."""

from __future__ import annotations

import itertools
from pathlib import Path

from fairc.cell.model import Cell
from fairc.compiler.plan import Requests
from fairc.runtime.analysis.cells import Analysis, analyse
from fairc.runtime.engines.base import Engine, RawResult

TRIES = 4


def undisturbed(
    engine: Engine, cell: Cell, requests: Requests, folder: Path, tries: int = TRIES
) -> tuple[RawResult, Analysis]:
    """Run a cell until the host leaves it alone; return its first run that is not invalid, else the
    last one.

    In real time other work on this machine can delay a cell, which is then rightly invalid.
    """
    for number in itertools.count(1):
        work = folder / f"try-{number}"
        work.mkdir()
        raw = engine.run(cell, work)
        assert raw.error == "", raw.console
        analysis = analyse(cell, raw.artefacts, requests)
        if analysis.verdict != "invalid" or number == tries:
            return raw, analysis
    raise AssertionError
