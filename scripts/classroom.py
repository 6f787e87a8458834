"""Start a lab many times at once, as a class does on one server, and compare with one run alone.

    .venv/bin/python scripts/classroom.py examples/labs/aqm.fexp -n 60

Prints how many runs failed, when the last one ended against `n` times the time alone divided by the
cores, and the CPU time of all against `n` times that of one alone. Wall times mean something on a
machine that does nothing else; CPU times on a busy one, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ended:
    """A run: its exit status, seconds from its start to its end, CPU seconds, peak memory in MB."""

    status: int
    wall_s: float
    cpu_s: float
    peak_mb: float


def start(lab: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start `fairc run` of a copy of a lab in a folder of its own."""
    folder.mkdir()
    shutil.copy(lab, folder)
    return subprocess.Popen(
        [sys.executable, "-m", "fairc", "run", lab.name, "-o", "run", "--quiet"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=(folder / "out").open("wb"),
        stderr=subprocess.STDOUT,
    )


def together(lab: Path, number: int, place: Path, name: str) -> list[Ended]:
    """Run a lab `number` times at once; return how each ended."""
    began = time.monotonic()
    running = {start(lab, place / f"{name}{k}").pid for k in range(number)}
    ended = []
    while running:
        pid, status, used = os.wait4(-1, 0)
        if pid in running:
            running.remove(pid)
            cpu_s = used.ru_utime + used.ru_stime
            code = os.waitstatus_to_exitcode(status)
            ended.append(Ended(code, time.monotonic() - began, cpu_s, used.ru_maxrss / 1024))
    return ended


def main() -> int:
    """Measure, and print."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("lab", type=Path)
    asked.add_argument("-n", "--number", type=int, default=60)
    given = asked.parse_args()
    lab, number, cores = given.lab.resolve(), given.number, len(os.sched_getaffinity(0))
    place = Path(tempfile.mkdtemp(prefix="class-"))
    together(lab, 1, place, "warm")  # fills caches
    (alone,) = together(lab, 1, place, "alone")
    every = together(lab, number, place, "run")
    failed = [each for each in every if each.status != alone.status]
    last_s, bound_s = max(each.wall_s for each in every), number * alone.wall_s / cores
    cpu_s = sum(each.cpu_s for each in every)
    print(f"alone: {alone.wall_s:.1f} s, {alone.cpu_s:.1f} CPU s, exit status {alone.status}")
    print(f"{number} at once on {cores} cores: {len(failed)} ended otherwise")
    print(f"last one after {last_s:.1f} s: {last_s / bound_s:.2f} times {number} x alone / cores")
    print(f"CPU: {cpu_s:.1f} s, {cpu_s / (number * alone.cpu_s):.2f} times {number} x alone")
    print(f"largest peak of a process: {max(each.peak_mb for each in every):.0f} MB")
    print(f"kept in {place}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
