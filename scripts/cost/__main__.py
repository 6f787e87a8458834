"""`make cost`: what cells cost in this checkout; with AGAINST=DIR, in another one too, in turns.

CPU time is that of all processes of a cell, and that of its analysis. Neighbours on the same
machine change it by tens of percent: only the ratio of two checkouts within one run means
something, and no test asserts on it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parents[2]
COLUMNS = "{:<38}{:>9}{:>11}{:>9}"


def options() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser("make cost", description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--against", type=Path, help="another checkout, with `make install` done in it"
    )
    parser.add_argument("--turns", type=int, default=3, help="measurements of each checkout (3)")
    return parser.parse_args()


def measured(tree: Path, *arguments: str) -> Iterator[dict[str, Any]]:
    """Run `tree.py` with the code of a checkout; yield what it says of each scenario."""
    paths = os.pathsep.join((str(tree), str(HERE / "scripts")))
    process = subprocess.Popen(
        [sys.executable, "-m", "cost.tree", *arguments],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        sys.exit(f"{tree} could not be measured. Is all of it built? `make -C {tree} install`")


def main() -> None:
    """Measure, and print a table."""
    given = options()
    trees = [HERE, *([given.against.resolve()] if given.against else [])]
    times: dict[Path, dict[str, list[tuple[float, float]]]] = {
        tree: defaultdict(list) for tree in trees
    }
    memory: dict[Path, dict[str, int]] = {tree: {} for tree in trees}
    for turn in range(given.turns):
        for tree in trees:
            for each in measured(tree):
                print(
                    f"turn {turn + 1} of {given.turns}, {tree.name}: {each['name']}",
                    file=sys.stderr,
                )
                times[tree][each["name"]].append((each["run_s"], each["analysis_s"]))
    for tree in trees:
        memory[tree] = {each["name"]: each["pss"] for each in measured(tree, "--memory")}
    for tree in trees:
        print(f"\n{tree}")
        print(COLUMNS.format("", "CPU s", "analysis", "MB"))
        for name, spent in times[tree].items():
            run_s, analysis_s = (median(column) for column in zip(*spent, strict=True))
            megabytes = f"{memory[tree][name] / 1e6:.0f}"
            print(COLUMNS.format(name, f"{run_s:.2f}", f"{analysis_s:.2f}", megabytes))
    if len(trees) > 1:
        mine, other = trees
        print(f"\n{mine.name} / {other.name}: the median of the ratios of each turn")
        for name in times[mine]:
            found = ratios(mine, other, name, times, memory)
            print(COLUMNS.format(name, *(f"{each:.2f}" for each in found)))


def ratios(
    mine: Path,
    other: Path,
    name: str,
    times: Mapping[Path, Mapping[str, list[tuple[float, float]]]],
    memory: Mapping[Path, Mapping[str, int]],
) -> tuple[float, float, float]:
    """Return the ratios for a scenario: CPU time, that of the analysis, memory."""
    pairs = list(zip(times[mine][name], times[other][name], strict=True))
    run, analysis = (median(one[i] / two[i] for one, two in pairs) for i in (0, 1))
    return run, analysis, memory[mine][name] / memory[other][name]


if __name__ == "__main__":
    main()
