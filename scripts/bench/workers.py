"""The gain of a second worker: 1,200 cells by one worker on one core, and by two on two."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .common import ALL_CORES, Figure

# 1,200 short cells, so that the serial parts (plan, tables, report) carry weight.
CELLS = """fexp 1
experiment workers {
  sweep { rate = [1Mbit/s, 2Mbit/s, 4Mbit/s, 8Mbit/s]  depth = [0.5bdp, 1bdp, 2bdp] }
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(depth))
  flow cubic { cca = cubic  workload = file(2MB) }
  flow bbr   { cca = bbr    workload = file(2MB) }
  repeat  = 100
  measure = [fairness, goodput]
}
"""


def workers() -> Iterator[Figure]:
    """Measure whole runs, including tables and report; nothing if there is only one core."""
    if len(ALL_CORES) < 2:
        return
    # One worker is measured between two runs with two: a drift of the machine's speed affects both.
    before, one, after = (_wall_s(number) for number in (2, 1, 2))
    two = (before + after) / 2
    yield Figure(
        f"uml: 1,200 cells with two workers ({two:.0f} s) against one on one core ({one:.0f} s),"
        " analysis and report included: efficiency",
        f"{one / (2 * two):.2f}",
        "0.95",
    )


def _wall_s(jobs: int) -> float:
    """Return the wall time of a run with `jobs` workers, each on a core, s."""
    fairc = Path(sys.executable).with_name("fairc")
    cores = ",".join(map(str, sorted(ALL_CORES)[:jobs]))
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder, "workers.fexp")
        spec.write_text(CELLS)
        command = ["taskset", "-c", cores, fairc, "run", spec, "-q", "--jobs", str(jobs)]
        started = time.monotonic()
        # 1: some cells are not valid.
        done = subprocess.run(
            [*command, "-o", Path(folder, "run")],
            capture_output=True,
            check=False,
            preexec_fn=lambda: os.sched_setaffinity(0, ALL_CORES),
        )
        wall_s = time.monotonic() - started
    assert done.returncode <= 1, done.stderr
    return wall_s
