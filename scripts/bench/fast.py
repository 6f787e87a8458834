"""Cells on the uml engine: CPU seconds from the engine's start of a cell to its artefacts on disk."""

from __future__ import annotations

import os
import re
import resource
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from fairc.compiler.plan import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import bounds
from fairc.runtime.uml import confinement

from . import simulator
from .cells import CELL
from .common import Figure, only_cell, timed, whole_cell

QUIC = """fexp 1
experiment bench {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow tcp  { cca = cubic  workload = file(10MB) }
  flow quic { over = quic  cca = cubic  workload = file(10MB) }
  measure = [fairness, goodput]
}
"""
# What, Mbit/s, seconds, how often, CPU seconds to reach.
TABLE = (
    ("80 s, two flows at 1 Mbit/s", 1, 80, 5, 0.6),
    ("20 s at 10 Mbit/s", 10, 20, 5, 0.6),
    ("20 s at 100 Mbit/s", 100, 20, 3, 2.5),
    ("5 s at 1 Gbit/s", 1000, 5, 3, 5.0),
)


class MemoryWatch(threading.Thread):
    """Sees the largest sum of the proportional memory of a guest's processes, bytes."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Look every 50 ms."""
        while not self.over.wait(0.05):
            total = 0
            for pid in set(bounds.family(os.getpid())) - {os.getpid()}:
                try:
                    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
                    total += int(re.findall(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[0]) << 10
                except (OSError, IndexError):
                    continue  # it has ended meanwhile
            self.largest = max(self.largest, total)


def cpu_s(engine: UmlEngine, cell: Cell) -> float:
    """Run a cell and return the CPU time of all its processes, s."""
    # In a process namespace of its own what a guest has used is not handed to us: measured without.
    missing, confinement.missing = confinement.missing, lambda: "measured"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        result = engine.run(cell, Path(folder))
    confinement.missing = missing
    assert not result.error, result.console
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def middle(function: Callable[[], float], count: int) -> float:
    """Return the median of several calls."""
    return statistics.median(function() for _ in range(count))


def fast(engine: UmlEngine) -> Iterator[Figure]:
    """Measure cells of several rates."""
    empty = only_cell(CELL.format(rate="1Mbit/s", workload="file(1kB)", rest=""))
    cpu_s(engine, empty)  # fills the page cache
    value = middle(lambda: cpu_s(engine, empty), 7)
    yield Figure("uml: fixed cost of a cell, CPU s", f"{value:.2f} s", "0.3 s")
    whole_s = middle(lambda: timed(lambda: whole_cell(engine, empty)), 5)
    yield Figure("uml: the same with its analysis, wall", f"{whole_s:.2f} s", "")
    memory = MemoryWatch()
    for what, rate, seconds, count, target in TABLE:
        if rate == 10:
            memory.start()
        cell = only_cell(
            CELL.format(rate=f"{rate}Mbit/s", workload="bulk", rest=f"duration = {seconds}s")
        )
        value = middle(partial(cpu_s, engine, cell), count)
        other = simulator.cpu_s(rate, seconds)
        beside = (
            "" if other is None else f"; ns-3: {other:.2f} s, {other / value:.1f} times as much"
        )
        yield Figure(f"uml: {what}, CPU s", f"{value:.2f} s{beside}", f"{target:g} s")
        if rate == 10:
            memory.over.set()
            yield Figure(
                "uml: memory of that cell (PSS)", f"{memory.largest / 1e6:.0f} MB", "40 MB"
            )
    quic = only_cell(QUIC)
    runs = [whole_cell(engine, quic) for _ in range(3)]
    ratio = statistics.median(virtual / wall for virtual, wall, _ in runs)
    yield Figure(
        "uml: 10 MB over TCP and 10 MB over QUIC at 1 Mbit/s, virtual s per s",
        f"{ratio:.0f}",
        "100",
    )
