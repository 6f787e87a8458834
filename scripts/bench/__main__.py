"""Measure what fairc costs on this machine, and write docs/trust/benchmarks.md (`make bench`).

Every figure is a median of whole runs on one core, next to its target. Only a quiet machine gives
figures to publish: a busy neighbour on the same core makes a CPU second worth less.
"""

from __future__ import annotations

import os
import platform
import re
import sys
import textwrap
from itertools import chain
from pathlib import Path

from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.vm import qemu

from .cells import cells
from .common import ROOT
from .containers import containers
from .fast import fast
from .quic import quic
from .scenarios import HEADER, INTRODUCTION, scenarios
from .tools import tools
from .workers import workers

PAGE = ROOT / "docs/trust/benchmarks.md"
# What follows was taken by hand and stays.
BY_HAND = "\n## A hundred thousand cells\n"
COLUMNS = 100


def machine() -> str:
    """Describe the machine in a sentence."""
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", info, re.MULTILINE)
    return (
        f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, "
        f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB, "
        f"Linux {platform.release()}, QEMU {qemu.version()}, Python {platform.python_version()}"
    )


def wrapped(text: str) -> list[str]:
    """Return the lines of a paragraph."""
    return textwrap.wrap(text, COLUMNS, break_on_hyphens=False)


def main() -> None:
    """Measure everything, print each figure as it comes, and write the page."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    engine = VmEngine(lambda text: print(text, file=sys.stderr))
    engine.prepare()
    quick = UmlEngine(lambda text: print(text, file=sys.stderr))
    quick.prepare()
    lines = [
        "# Benchmarks",
        "",
        *wrapped(
            "What a cell costs, and where the time and the memory go. `make bench` wrote the first"
            " two sections in one run on an otherwise idle machine; each cell ran on one core, with"
            " captures."
        ),
        "",
        *wrapped(f"Machine: {machine()}."),
        "",
        "## The same scenarios on every engine",
        "",
        *wrapped(INTRODUCTION),
        "",
        *HEADER,
    ]
    for row in scenarios(quick, engine):
        print(row, flush=True)
        lines.append(row)
    lines += ["", "## Single figures", "", "| what | measured | target |", "|---|---|---|"]
    for figure in chain(tools(), fast(quick), workers(), cells(engine), quic(engine), containers()):
        print(f"{figure.what}: {figure.value}  {figure.target}", flush=True)
        lines.append(f"| {figure.what} | {figure.value} | {figure.target} |")
    quick.close()
    engine.close()
    _, heading, rest = PAGE.read_text().partition(BY_HAND)
    PAGE.write_text("\n".join(lines) + "\n" + heading + rest)


if __name__ == "__main__":
    main()
