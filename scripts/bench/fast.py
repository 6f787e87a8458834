"""The uml engine: CPU seconds of cells, of their analysis, of page loads in Chromium; memory; a
run's other costs.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from fairc.dsl.model.requests import Requests
from fairc.runtime.analysis.cells import analyse
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import archive, bounds
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.store.tables import write_series

from .cells import CELL
from .common import ALL_CORES, Figure, MemoryWatch, cpu_s, median, only_cell, whole_cell

QUIC = """fexp 1
experiment bench {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow tcp  { cca = cubic  workload = file(10MB) }
  flow quic { over = quic  cca = cubic  workload = file(10MB) }
  measure = [fairness, goodput]
}
"""
# Ten times examples/conex.fexp, without its policer.
MANY = """fexp 1
experiment bench {
  topology = access(rate: 100Mbit/s, rtt: 100ms, queue: red(limit: 100ms, min: 10%, max: 100%, pmax: 100%, ecn: on))
  users heavy { count = 10 }
  users light { count = 90 }
  flow heavy { users = heavy  count = 36  cca = cubic  start = uniform(0ms, 300ms)  workload = bulk(window: 64KiB) }
  flow light { users = light  count = 1   cca = cubic  start = uniform(0ms, 300ms)  workload = bulk(window: 64KiB) }
  duration = 100s
  measure = [goodput]
}
"""
PAGE_LOADS = 4
PAGE = """fexp 1
experiment bench {{
  topology = geo(pep: split)
  flow web {{ cca = bbr  workload = load({page}, client: chromium, http: {http}, loads: 3, idle: 5s) }}
  measure = [plt]
}}
"""
RUN = """fexp 1
experiment one {
  topology = bottleneck(rate: 1Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow cubic { cca = cubic  workload = bulk }
  flow bbr   { cca = bbr    workload = bulk }
  duration = 80s
  measure = [fairness, goodput]
}
"""


def guests_memory() -> int:
    """Return the proportional memory (PSS) of all of a guest's processes, bytes."""
    total = 0
    for pid in set(bounds.family(os.getpid())) - {os.getpid()}:
        try:
            rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
            total += int(re.findall(r"^Pss: +(\d+) kB", rollup, re.MULTILINE)[0]) << 10
        except (OSError, IndexError):
            continue  # it has ended in the meantime
    return total


LARGE_FIGURE = "uml: 502 nodes (500 servers of which 8 send 20 Mbit/s in all), 2 s, CPU s"
LARGE = """fexp 1
experiment large {
  topology {
    node client
    node server[i] for i in 1..500
    router switch
    link server[i] -- switch for i in 1..500 { rate = 1Gbit/s }
    link switch -- client { rate = 20Mbit/s  delay = 10ms }
  }
  flow f[i] for i in 1..8 { from = server[i * 10]  cca = cubic  workload = bulk }
  duration = 2s
  measure = [goodput]
}
"""


def fast(engine: UmlEngine) -> Iterator[Figure]:
    """Measure the engine, except the scenarios of `scenarios.py`."""
    empty = only_cell(CELL.format(rate="1Mbit/s", workload="file(1kB)", rest=""))
    cpu_s(engine, empty)  # fills the page cache
    value = median(lambda: cpu_s(engine, empty), 7)
    yield Figure("uml: fixed cost of a cell, CPU s", f"{value:.2f} s", "0.3 s")
    yield Figure(
        "uml: analysis of 80 s of two flows at 1 Mbit/s and its storing, CPU s",
        f"{analysis_s(engine):.2f} s",
        "0.1 s",
    )
    yield Figure(
        "`fairc run` of that cell on all cores, less the cell alone, wall",
        f"{median(lambda: rest_s(engine), 5):.2f} s",
        "2.5 s",
    )
    yield from captures(engine)
    yield Figure("uml: memory of 20 s at 10 Mbit/s (PSS)", f"{memory_mb(engine):.0f} MB", "40 MB")
    quic = only_cell(QUIC)
    runs = [whole_cell(engine, quic) for _ in range(3)]
    ratio = statistics.median(virtual / wall for virtual, wall, _ in runs)
    yield Figure(
        "uml: 10 MB over TCP and 10 MB over QUIC at 1 Mbit/s, virtual s per s",
        f"{ratio:.0f}",
        "100",
    )
    value = cpu_s(engine, only_cell(MANY))
    yield Figure("uml: 450 flows over 100 Mbit/s, 100 s, CPU s", f"{value:.0f} s", "90 s")
    value = cpu_s(engine, only_cell(LARGE))
    yield Figure(LARGE_FIGURE, f"{value:.0f} s", "")
    yield from page_loads(engine)


def analysis_s(engine: UmlEngine) -> float:
    """Return the CPU time of analysing and storing a cell, s: the median of five, after one to warm
    up.
    """
    cell = only_cell(RUN)
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        raw = engine.run(cell, Path(folder))
        assert not raw.error, raw.error
        for number in range(6):
            started = time.process_time()
            write_series(Path(folder), analyse(cell, raw.artefacts, Requests()).series)
            archive.pack(raw.artefacts, Path(folder, f"{number}.tar.zst"))
            spent.append(time.process_time() - started)
    return statistics.median(spent[1:])


def rest_s(engine: UmlEngine) -> float:
    """Return the wall time of a run of one cell, as a user runs it, less that of the cell
    alone, s.
    """
    fairc = Path(sys.executable).with_name("fairc")
    with tempfile.TemporaryDirectory() as folder:
        spec, run = Path(folder, "one.fexp"), Path(folder, "run")
        spec.write_text(RUN)
        started = time.monotonic()
        subprocess.run(
            [fairc, "run", spec, "-q", "-o", run],
            check=True,
            capture_output=True,
            preexec_fn=lambda: os.sched_setaffinity(0, ALL_CORES),
        )
        wall_s = time.monotonic() - started
        alone = Path(folder, "alone")
        alone.mkdir()
        return wall_s - engine.run(only_cell(RUN), alone).wall_s


def captures(engine: UmlEngine) -> Iterator[Figure]:
    """Measure what capturing costs."""

    def spent(rest: str) -> float:
        cell = only_cell(CELL.format(rate="100Mbit/s", workload="bulk", rest=rest))
        return median(lambda: cpu_s(engine, cell), 3)

    with_them = spent("duration = 20s")
    without = spent("duration = 20s  captures = none")
    yield Figure(
        f"uml: three captures of 20 s at 100 Mbit/s, CPU s (of {with_them:.2f} s)",
        f"{with_them - without:.2f} s",
    )


def memory_mb(engine: UmlEngine) -> float:
    """Return the largest proportional memory (PSS) of all of a cell's processes, MB."""
    cell = only_cell(CELL.format(rate="10Mbit/s", workload="bulk", rest="duration = 20s"))
    watch = MemoryWatch(guests_memory)
    watch.start()
    for _ in range(3):
        cpu_s(engine, cell)
    watch.over.set()
    return watch.largest / 1e6


def page_loads(engine: UmlEngine) -> Iterator[Figure]:
    """Measure loads in Chromium, including the browser's start; nothing if its image is missing."""
    for what, page, target in (("11 kB", "page(7kB, 2kB, 2kB)", 2), ("5.3 MB", "page(5.3MB)", 4)):
        for http in ("h2", "h3"):
            cell = only_cell(PAGE.format(page=page, http=http))
            try:
                # The first repetition also has a load over loopback.
                value = cpu_s(engine, cell) / PAGE_LOADS
            except EngineUnavailable as lacking:
                print(f"no figures of page loads: {lacking}", file=sys.stderr)
                return
            yield Figure(
                f"uml: a load of {what} in Chromium, {http}, CPU s", f"{value:.1f} s", f"{target} s"
            )
