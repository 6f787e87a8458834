"""The common part of all benchmarks: figures, timing, compiled cells, a cell's whole run."""

from __future__ import annotations

import os
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from fairc import dsl
from fairc.compiler import Cell, compile
from fairc.dsl.model.requests import Requests
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.engines.base import Engine
from fairc.runtime.host import archive
from fairc.runtime.store.tables import write_series
from fairc.runtime.uml import confinement

ROOT = Path(__file__).parents[2]
ALL_CORES = frozenset(os.sched_getaffinity(0))
"""The cores of this process before it confines itself to one."""


@dataclass(frozen=True)
class Figure:
    """A line of the table: what was measured, its value as text, and its target."""

    what: str
    value: str
    target: str = ""


class MemoryWatch(threading.Thread):
    """Records the largest amount of memory in use, bytes, by calling `now` every 50 ms."""

    def __init__(self, now: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self._now = now
        self.largest = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Sample until `over` is set."""
        while not self.over.wait(0.05):
            self.largest = max(self.largest, self._now())


def only_cell(text: str) -> Cell:
    """Compile an experiment that has one cell."""
    experiment, found = dsl.load(dsl.Source("bench.fexp", text))
    assert experiment is not None, dsl.render_full(found)
    (cell,) = compile(experiment).cells()
    return cell


def whole_cell(engine: Engine, cell: Cell) -> tuple[float, float, str]:
    """Run, analyse and pack a cell; return virtual and wall seconds and the verdict."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        raw = engine.run(cell, Path(folder))
        assert not raw.error, raw.error
        analysis = analyse(cell, raw.artefacts, Requests())
        write_series(Path(folder), analysis.series)
        archive.pack(raw.artefacts, Path(folder, "raw.tar.zst"))
    return raw.virtual_s, time.monotonic() - started, str(analysis.verdict)


def cpu_s(engine: Engine, cell: Cell) -> float:
    """Run a cell and return the CPU time of all its processes, s."""
    # The CPU time of a guest in a PID namespace of its own would not reach us: measured without
    # one.
    missing, confinement.missing = confinement.missing, lambda: "measured"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        with tempfile.TemporaryDirectory() as folder:
            result = engine.run(cell, Path(folder))
    finally:
        confinement.missing = missing
    assert not result.error, result.console
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median(measure: Callable[[], float], runs: int) -> float:
    """Return the median of some runs."""
    return statistics.median(measure() for _ in range(runs))


def timed(action: Callable[[], object]) -> float:
    """Return the wall seconds of an action."""
    started = time.monotonic()
    action()
    return time.monotonic() - started
