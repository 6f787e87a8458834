"""Measure what fairc costs on this machine, and write docs/benchmarks.md (`make bench`).

Every figure is a median of whole runs on one core, beside its target; speed is a ratio of virtual to
wall time. A cell goes the whole way: script, restore, run with captures, analysis, store.
"""

from __future__ import annotations

import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from fairc import dsl
from fairc.compiler import Cell, compile
from fairc.compiler.emission import emit
from fairc.runtime import archive
from fairc.runtime.analysis import analyse, write_series
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.vm import qemu, snapshot

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"

CELL = """fexp 1
experiment bench {{
  topology = bottleneck(rate: {rate}, rtt: 50ms, queue: fifo(2bdp))
  flow cubic {{ cca = cubic  workload = {workload} }}
  flow bbr   {{ cca = bbr    workload = {workload} }}
  {rest}
  measure = [fairness, goodput]
}}
"""


@dataclass(frozen=True)
class Figure:
    """A line of the table: what was measured, its value in words, and what it has to reach."""

    what: str
    value: str
    target: str = ""


def compiled(rate: str, workload: str, rest: str = "") -> Iterator[Cell]:
    """Compile an experiment of two flows on a bottleneck."""
    text = CELL.format(rate=rate, workload=workload, rest=rest)
    experiment, found = dsl.load(dsl.Source("bench.fexp", text))
    assert experiment is not None, dsl.render_full(found)
    return compile(experiment).cells()


def whole_cell(engine: VmEngine, cell: Cell) -> tuple[float, float, str]:
    """Run a cell the whole way; return virtual and wall seconds and the verdict."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        raw = engine.run(cell, Path(folder))
        assert not raw.error, raw.error
        analysis = analyse(cell, raw.artefacts, ())
        write_series(Path(folder, "series.npz"), analysis.series)
        archive.pack(raw.artefacts, Path(folder, "raw.tar.zst"))
    return raw.virtual_s, time.monotonic() - started, str(analysis.verdict)


def median(measure: Callable[[], float], runs: int) -> float:
    """Return the median of some runs."""
    return statistics.median(measure() for _ in range(runs))


def timed(action: Callable[[], object]) -> float:
    """Return the wall seconds of an action."""
    started = time.monotonic()
    action()
    return time.monotonic() - started


class MemoryWatch(threading.Thread):
    """Sees how much memory of its own the largest QEMU has, in bytes, while cells run."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.largest = 0
        self.over = threading.Event()

    def run(self) -> None:
        """Look every 50 ms."""
        while not self.over.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if (process / "comm").read_text().startswith(qemu.PROGRAM[:15]):
                        rollup = (process / "smaps_rollup").read_text()
                        # Shared files (image, exchange, QEMU itself) are not memory of its own.
                        kib = int(re.findall(r"^Anonymous: +(\d+) kB", rollup, re.MULTILINE)[0])
                        self.largest = max(self.largest, kib << 10)
                except (OSError, IndexError):
                    continue  # it has ended meanwhile


def cells(engine: VmEngine) -> Iterator[Figure]:
    """Measure cells of several rates."""
    (empty,) = compiled("1Mbit/s", "file(1kB)")
    whole_cell(engine, empty)  # fills the page cache
    fixed = median(lambda: whole_cell(engine, empty)[1], 7)
    yield Figure("fixed cost per cell (two flows of 1 kB)", f"{fixed:.2f} s", "at most 2 s")

    restores: list[float] = []
    original = snapshot.resume

    def measured(snapshot: snapshot.Snapshot, socket: Path) -> None:
        restores.append(timed(lambda: original(snapshot, socket)))

    snapshot.resume = measured
    memory = MemoryWatch()
    memory.start()
    lengths = {"1": (80, "at least 10"), "10": (20, ""), "100": (10, "")}
    for rate, (seconds, target) in lengths.items():
        (cell,) = compiled(f"{rate}Mbit/s", "bulk", f"duration = {seconds}s")
        runs = [whole_cell(engine, cell) for _ in range(3)]
        ratio = statistics.median(virtual / wall for virtual, wall, _ in runs)
        verdicts = ", ".join(sorted({verdict for *_, verdict in runs}))
        yield Figure(
            f"virtual seconds per wall second, {seconds} s of two flows at {rate} Mbit/s"
            f" ({verdicts})",
            f"{ratio:.1f}",
            target,
        )
    memory.over.set()
    snapshot.resume = original
    yield Figure(
        "start of QEMU to the first instruction after the restore",
        f"{statistics.median(restores):.2f} s",
        "at most 0.2 s",
    )
    yield Figure(
        "largest private memory of a running cell",
        f"{memory.largest / 1e6:.0f} MB",
        "at most 250 MB",
    )


def compilation() -> Figure:
    """Measure 10,000 cells from text to plan and scripts on disk.

    Nothing is deleted before the last run: ext4 takes its time to create files where many have just
    been deleted.
    """
    text = CELL.format(
        rate="rate",
        workload="file(1MB)",
        rest="repeat = 100\n  sweep { rate = (1..100) * 1Mbit/s }",
    )

    def once(folder: Path) -> None:
        experiment, found = dsl.load(dsl.Source("bench.fexp", text))
        assert experiment is not None, dsl.render_full(found)
        emit(compile(experiment), folder, ("mininet", "json"))
        assert len(list((folder / "cells").iterdir())) >= 10_000

    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        runs = [timed(partial(once, Path(folder, str(number)))) for number in range(3)]
    return Figure(
        "10,000 cells: plan, JSON and Mininet scripts",
        f"{statistics.median(runs):.1f} s",
        "at most 6 s",
    )


def start_up() -> Figure:
    """Measure `fairc --help`."""
    command = [str(Path(sys.executable).with_name("fairc")), "--help"]
    wall = median(
        lambda: timed(lambda: subprocess.run(command, capture_output=True, check=True)), 11
    )
    return Figure("`fairc --help`", f"{wall:.2f} s", "at most 0.2 s")


def machine() -> str:
    """Describe the machine in a sentence."""
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    return (
        f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, "
        f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB, "
        f"Linux {platform.release()}, QEMU {qemu.version()}, Python {platform.python_version()}"
    )


def main() -> None:
    """Measure everything, print each figure as it comes, and write the page."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    engine = VmEngine(lambda text: print(text, file=sys.stderr))
    engine.prepare()
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench`; medians of whole runs on one core, captures and analysis included.",
        "",
        f"Machine: {machine()}.",
        "",
        "| what | measured | to reach |",
        "|---|---|---|",
    ]
    for figure in (start_up(), compilation(), *cells(engine)):
        print(f"{figure.what}: {figure.value}  {figure.target}", flush=True)
        lines.append(f"| {figure.what} | {figure.value} | {figure.target} |")
    engine.close()
    PAGE.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
