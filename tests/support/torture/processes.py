"""A limit on processes: a cgroup of its own, since root has no other, and guests that are processes
of the host.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from . import inspection, network, tree
from .kills import CASES, lacks, reference
from .sandbox import Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice

PLACES = (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup"))


def few(seed: int, number: int, folder: Path) -> Outcome:
    """Run on uml with a limited number of processes, then without a limit."""
    preload()
    rng, sandbox = dice(seed, number, "resources.processes"), Sandbox(folder, "uml")
    known, case = reference("uml"), CASES["uml"]
    network.write(case.spec, sandbox.work)
    most = rng.randint(4, 120)
    with limited(most, folder.name) as group:
        enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        first = sandbox.start(*case.command, wrap=("sh", "-c", enter, "sh")).wait()
        problem = first.problem(0, 3)
        if found := tree.left():
            problem = problem or f"processes are left: {', '.join(sorted(set(found.values())))}"
    if "Traceback" in first.err and "fairc/cli" not in first.err:
        return Outcome("Python does not start")
    if not problem:
        second = sandbox.call(*case.command, patch=no_report)
        problem = second.problem(0) or sandbox.leftovers()
        if not problem and inspection.hashes(sandbox.work / "out") != known.hashes:
            problem = "without the limit: other results"
    ending = "enough" if first.status == 0 else "reported"
    return Outcome(ending, problem and f"{problem} ({most} processes)")


@contextmanager
def limited(most: int, name: str) -> Iterator[Path]:
    """Provide a cgroup with a limit of processes, and empty it when the block is left."""
    group = _place() / f"fairc-{name}"
    group.mkdir()
    try:
        (group / "pids.max").write_text(f"{most}\n")
        yield group
    finally:
        for _ in range(200):
            if not (group / "cgroup.procs").read_text():
                break
            time.sleep(0.05)
        group.rmdir()


def remove_groups() -> None:
    """Remove the cgroups of tries whose campaign was killed: those whose folder has gone."""
    for group in (found for place in PLACES for found in place.glob("fairc-torture-*")):
        if not Path(tempfile.gettempdir(), group.name.removeprefix("fairc-")).exists():
            with suppress(OSError):  # something still runs in it
                group.rmdir()


def _place() -> Path:
    """Return where cgroups that limit processes are. Raises StopIteration."""
    return next(p for p in PLACES if _limits(p))


def _limits(place: Path) -> bool:
    control = place / "cgroup.subtree_control"
    if control.is_file():
        return "pids" in control.read_text().split() and os.access(place, os.W_OK)
    return place.name == "pids" and os.access(place / "cgroup.procs", os.W_OK)


def lacking() -> str:
    """Return what this machine lacks."""
    return lacks("uml") or ("" if any(map(_limits, PLACES)) else "cgroups that limit processes")


STRATEGIES = (
    Strategy(
        "resources.processes",
        "limits a run on uml to 4 to 120 processes with a cgroup: reported (exit status 3) or"
        " enough, nothing left; then without"
        " the limit: the hashes of an undisturbed run",
        few,
        lacking=lacking,
        weight=0.5,
        wanted=200,
    ),
)
