"""The compiler and the command line: cells per second, time to `--help`."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fairc import dsl
from fairc.compiler import compile
from fairc.compiler.emission import emit

from .cells import CELL
from .common import ROOT, Figure, median, timed


def tools() -> Iterator[Figure]:
    """Measure what runs before any cell does."""
    yield start_up()
    yield compilation()


def compilation() -> Figure:
    """Measure 10,000 cells from text to plan and scripts on disk.

    Nothing is deleted until the last run: ext4 is slow to create files where many have just been
    deleted.
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
        assert (folder / "cells.jsonl").read_bytes().count(b"\n") == 10_000
        assert len(list((folder / "cells").glob("*.py"))) == 100  # one a configuration

    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        runs = [timed(partial(once, Path(folder, str(number)))) for number in range(3)]
    return Figure(
        "10,000 cells of 100 configurations: plan, JSON and Mininet scripts",
        f"{statistics.median(runs):.1f} s",
        "at most 3 s",
    )


def start_up() -> Figure:
    """Measure `fairc --help`."""
    command = [str(Path(sys.executable).with_name("fairc")), "--help"]
    wall = median(
        lambda: timed(lambda: subprocess.run(command, capture_output=True, check=True)), 11
    )
    return Figure("`fairc --help`", f"{wall:.2f} s", "at most 0.2 s")
