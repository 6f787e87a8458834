"""Cells on the vm engine: fixed cost, speed by rate, restore, memory."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator
from pathlib import Path

from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.vm import qemu, snapshot

from .common import Figure, MemoryWatch, median, only_cell, timed, whole_cell

CELL = """fexp 1
experiment bench {{
  topology = bottleneck(rate: {rate}, rtt: 50ms, queue: fifo(2bdp))
  flow cubic {{ cca = cubic  workload = {workload} }}
  flow bbr   {{ cca = bbr    workload = {workload} }}
  {rest}
  measure = [fairness, goodput]
}}
"""


def largest_qemu() -> int:
    """Return the private memory of the largest QEMU, bytes."""
    largest = 0
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text().startswith(qemu.PROGRAM[:15]):
                rollup = (process / "smaps_rollup").read_text()
                # Shared files (image, exchange, QEMU itself) are not memory of its own.
                kib = int(re.findall(r"^Anonymous: +(\d+) kB", rollup, re.MULTILINE)[0])
                largest = max(largest, kib << 10)
        except (OSError, IndexError):
            continue  # it has ended in the meantime
    return largest


def cells(engine: VmEngine) -> Iterator[Figure]:
    """Measure cells at several rates."""
    empty = only_cell(CELL.format(rate="1Mbit/s", workload="file(1kB)", rest=""))
    whole_cell(engine, empty)  # fills the page cache
    fixed = median(lambda: whole_cell(engine, empty)[1], 7)
    yield Figure("fixed cost per cell (two flows of 1 kB)", f"{fixed:.2f} s", "at most 2 s")

    restores: list[float] = []
    original = snapshot.resume

    def measured(snapshot: snapshot.Snapshot, socket: Path) -> None:
        restores.append(timed(lambda: original(snapshot, socket)))

    snapshot.resume = measured
    memory = MemoryWatch(largest_qemu)
    memory.start()
    lengths = {"1": (80, "at least 10"), "10": (20, ""), "100": (10, "")}
    for rate, (seconds, target) in lengths.items():
        rest = f"duration = {seconds}s"
        cell = only_cell(CELL.format(rate=f"{rate}Mbit/s", workload="bulk", rest=rest))
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
