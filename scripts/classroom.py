"""Start a lab many times at once, as a class does on one server, and compare with one run alone.

    .venv/bin/python scripts/classroom.py examples/labs/aqm.fexp -n 60

Prints how many runs failed, and when the last one ended against `n` times the time of one on one
core divided by the cores: a run uses several cores where it can, so its time on all of them would
be no bound. CPU times are the machine's, because those of a run leave out guests that it killed.
All of it needs a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Ended:
    """A run: its exit status, seconds from its start to its end, and peak memory in MB."""

    status: int
    wall_s: float
    peak_mb: float


def busy_s() -> float:
    """Return the CPU time that the machine has used, s; see proc_stat(5)."""
    user, nice, system, _, _, irq, softirq = map(
        int, Path("/proc/stat").read_text().splitlines()[0].split()[1:8]
    )
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


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


def together(
    lab: Path, number: int, place: Path, name: str, cores: Collection[int]
) -> tuple[list[Ended], float]:
    """Run a lab `number` times at once on some cores; return how each ended, and the CPU time of
    all, s.
    """
    os.sched_setaffinity(0, cores)
    began, before_s = time.monotonic(), busy_s()
    running = {start(lab, place / f"{name}{k}").pid for k in range(number)}
    ended = []
    while running:
        pid, status, used = os.wait4(-1, 0)
        if pid in running:
            running.remove(pid)
            code = os.waitstatus_to_exitcode(status)
            ended.append(Ended(code, time.monotonic() - began, used.ru_maxrss / 1024))
    return ended, busy_s() - before_s


def main() -> int:
    """Measure, and print."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("lab", type=Path)
    asked.add_argument("-n", "--number", type=int, default=60)
    given = asked.parse_args()
    lab, number, cores = given.lab.resolve(), given.number, os.sched_getaffinity(0)
    place = Path(tempfile.mkdtemp(prefix="class-"))
    together(lab, 1, place, "warm", cores)  # fills caches
    (student,), _ = together(lab, 1, place, "student", cores)
    (alone,), alone_cpu_s = together(lab, 1, place, "alone", {min(cores)})
    every, cpu_s = together(lab, number, place, "run", cores)
    failed = [each for each in every if each.status != alone.status]
    last_s, bound_s = max(each.wall_s for each in every), number * alone.wall_s / len(cores)
    print(f"alone: {student.wall_s:.1f} s on {len(cores)} cores, exit status {student.status};")
    print(f"       {alone.wall_s:.1f} s on one, {alone_cpu_s:.1f} CPU s")
    print(f"{number} at once on {len(cores)} cores: {len(failed)} ended otherwise")
    print(
        f"last one after {last_s:.1f} s: {last_s / bound_s:.2f} times {number} x one core / cores"
    )
    print(f"CPU: {cpu_s:.1f} s, {cpu_s / (number * alone_cpu_s):.2f} times {number} x alone")
    print(f"largest peak of a process: {max(each.peak_mb for each in every):.0f} MB")
    print(f"kept in {place}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
