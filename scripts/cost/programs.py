"""What cells with programs cost beside those with fairc's own ends, as a table:

    cd scripts && python -m cost.programs --image ../examples/nginx/web.tar

Start-up is a cell with hardly any data; data cost what a cell with 12.5 MB costs beyond that. Each
system call of a program is a pair of switches between processes of this computer. Their number does
not depend on its load; seconds do, so only their ratios within one run mean something.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import tempfile
from collections import defaultdict
from pathlib import Path
from statistics import median

from fairc import dsl
from fairc.compiler import compile
from fairc.compiler.plan import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.uml import confinement, own_programs

BYTES, CALLS = 12_500_000, 100_000
SERVE = f"""#!/bin/sh
truncate -s {BYTES} /tmp/much
truncate -s 1000 /tmp/little
sed "s/listen 5001/listen $1/; s#root /work#root /tmp#" /program/nginx.conf > /tmp/nginx.conf
exec nginx -e stderr -c /tmp/nginx.conf -g "daemon off;"
"""
CALL = """#!/usr/bin/env python3
import os, sys
for _ in range(int(sys.argv[1])):
    os.getppid()
"""
CELL = """fexp 1
experiment cost {{
  topology = bottleneck(rate: {rate}Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow f {{ cca = cubic  start = 0s  workload = {workload} }}
  {end}
  measure = [goodput]
}}
"""
NGINX = """program(server: ["./serve.sh", "{{port}}"], client: ["curl", "--silent", "--fail",
      "--output", "/dev/null", "http://{{server}}:{{port}}/{file}"], files: ["nginx.conf"],
      server_image: "web.tar", client_image: "web.tar")"""
CALLER = 'program(server: ["nc", "-l", "-p", "{{port}}"], client: ["./call.py", {calls}])'
ENDS = {
    "fairc's own": ("file({bytes}B)", ""),
    "nginx and curl": (NGINX, ""),
    "iperf3": ("iperf3(time: {time}s)", "duration = {last}s"),
    f"{CALLS:,} system calls": (CALLER, ""),
}
"""What moves data: a workload, and what ends its cell, else a deadline."""
COLUMNS = "{:<22}{:<18}{:>8}{:>8}{:>10}{:>8}"
CASES = (("start-up", False, 1), ("+ at 10 Mbit/s", True, 10), ("+ at 100 Mbit/s", True, 100))


def cell_of(ends: str, much: bool, rate: int, folder: Path) -> Cell:
    """Return a cell. much: whether it moves BYTES (makes CALLS), or hardly any.

    rate: in Mbit/s. folder: of its files.
    """
    time = BYTES * 8 // (rate * 10**6) if much else 1
    workload, end = (
        text.format(
            bytes=BYTES if much else 1000,
            file="much" if much else "little",
            calls=CALLS if much else 1,
            time=time,
            last=time + 1,
        )
        for text in ENDS[ends]
    )
    spec = folder / "cost.fexp"
    spec.write_text(CELL.format(rate=rate, workload=workload, end=end or "deadline = 100s"))
    experiment, found = dsl.load(dsl.read(spec))
    assert experiment is not None, dsl.render_full(found)
    (cell,) = compile(experiment).cells()
    return cell


def cost(engine: UmlEngine, cell: Cell) -> tuple[float, ...]:
    """Run a cell; return its CPU time in user and in system mode, s, its pairs of
    switches, its page faults.
    """
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        raw = engine.run(cell, Path(folder))
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert not raw.error, raw.error
    return tuple(
        getattr(after, name) - getattr(before, name)
        for name in ("ru_utime", "ru_stime", "ru_nvcsw", "ru_minflt")
    )


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--image", type=Path, required=True, help="a tar with nginx and curl")
    parser.add_argument("--turns", type=int, default=3, help="measurements of each cell (3)")
    given = parser.parse_args()
    # As in `tree.py`: the CPU time of a guest in a PID namespace of its own would not reach us.
    confinement.missing = lambda: "measured"
    own_programs.require_allowed = lambda cell, allowed: None
    engine = UmlEngine()
    engine.prepare()
    runs = [
        (ends, *case)
        for ends, (workload, _) in ENDS.items()
        for case in CASES[: 2 if workload is CALLER else None]
    ]
    found: dict[tuple[str, str], list[tuple[float, ...]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        folder = engine.program_files = Path(scratch)
        shutil.copy(given.image, folder / "web.tar")
        shutil.copy(given.image.parent / "nginx.conf", folder)
        for name, text in (("serve.sh", SERVE), ("call.py", CALL)):
            (folder / name).write_text(text)
        for _ in range(given.turns):
            for ends, case, much, rate in runs:
                found[ends, case].append(cost(engine, cell_of(ends, much, rate, folder)))
    engine.close()
    print(COLUMNS.format("ends", "", "user s", "sys s", "pairs", "faults"))
    for (ends, case), spent in found.items():
        each = [median(column) for column in zip(*spent, strict=True)]
        if case != CASES[0][0]:
            start = [median(column) for column in zip(*found[ends, CASES[0][0]], strict=True)]
            each = [a - b for a, b in zip(each, start, strict=True)]
        user_s, system_s, *counts = each
        numbers = (f"{n:,.0f}" for n in counts)
        print(COLUMNS.format(ends, case, f"{user_s:.2f}", f"{system_s:.2f}", *numbers))


if __name__ == "__main__":
    main()
