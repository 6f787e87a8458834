"""An engine that invents its results, for tests of everything around engines. Measures nothing.

What it leaves behind looks like the work of a Mininet script (docs/reference/artefacts.md) and says
in system.json that it is invented. Faults are part of it: see `Fault`.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, get_args

from fairc.api import Cell, RawResult, raw_result, refuse_images

from . import fluid
from .artefacts import write

# fail: the script fails. hang: nothing happens until the engine is closed. crash: `run` raises,
# which the contract forbids. garble: an artefact is cut off. note: the script notes something, so
# that the cell is flagged.
Fault = Literal["fail", "hang", "crash", "garble", "note"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
SWITCHES = "FAIRC_FAKE"


class FakeEngine:
    """Writes invented artefacts; the same cell gives the same bytes.

    faults: repetition -> what goes wrong in the cells with this number.
    pause_s: wall time that each cell takes, s.
    """

    name = "fake"
    parallel = True

    def __init__(
        self,
        report: Callable[[str], None] = lambda _: None,
        *,
        faults: Mapping[int, Fault] | None = None,
        pause_s: float | None = None,
    ) -> None:
        asked_faults, asked_pause = switches(os.environ.get(SWITCHES, ""))
        self._faults = dict(asked_faults if faults is None else faults)
        self._pause_s = asked_pause if pause_s is None else pause_s
        self._closed = threading.Event()

    @property
    def identity(self) -> str:
        """The same forever."""
        return "invented"

    def identity_for(self, cell: Cell) -> str:
        """Return the same for every cell."""
        refuse_images(cell)
        return self.identity

    def emitted(self, cell: Cell) -> str:
        """Return nothing: it invents results from the cell itself."""
        return ""

    @property
    def versions(self) -> dict[str, str]:
        """What the lock records."""
        return {"model": "invented results, not measurements"}

    def prepare(self) -> None:
        """Do nothing: it can always run."""

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Invent what a cell leaves behind."""
        started = time.monotonic()
        artefacts = workdir / "artefacts"
        artefacts.mkdir()
        fault = self._faults.get(cell.repetition)
        if fault == "crash":
            raise RuntimeError("the fake engine was told to crash")
        error = "the fake engine was told to fail" if fault == "fail" else ""
        if self._closed.wait(None if fault == "hang" else self._pause_s):
            error = "interrupted"
        trace = fluid.simulate(cell)
        if not error:
            notes = ("the fake engine was told to leave a note",) if fault == "note" else ()
            write(cell, trace, artefacts, notes)
        if fault == "garble":
            (artefacts / "ping.json").write_text('[{"flow": "cut o')
        console = f"fake engine: cell {cell.id}\n{error}\n"
        return raw_result(error, artefacts, console, started, trace.ended_ns / 1e9)

    def close(self) -> None:
        """Let cells that hang return."""
        self._closed.set()


def switches(text: str) -> tuple[dict[int, Fault], float]:
    """Read `fail:2,hang:3,pause:0.1`: what goes wrong in which repetition; seconds per cell.

    Raises ValueError for anything else.
    """
    faults: dict[int, Fault] = {}
    pause_s = 0.0
    for item in filter(None, text.split(",")):
        word, _, value = item.partition(":")
        known: dict[str, Fault] = {fault: fault for fault in FAULTS}
        if word in known:
            faults[int(value)] = known[word]
        elif word == "pause":
            pause_s = float(value)
        else:
            raise ValueError(f"{SWITCHES} has {item!r}; known: {', '.join(FAULTS)}, pause")
    return faults, pause_s
