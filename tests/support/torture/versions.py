"""Two versions of fairc on one run folder: an earlier commit of this repository, and this one; in
turns, or at once.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

from . import inspection, network
from .campaign import ROOT
from .kills import CASES, reference
from .sandbox import Sandbox, preload
from .strategy import Outcome, Strategy, dice

BACK = (1, 10, 40, 100, 200)  # commits


@cache
def earlier(back: int) -> Path | None:
    """Return a folder with the files of an earlier commit; None where there are not as many."""
    git = ["git", "-C", str(ROOT)]
    found = subprocess.run(
        [*git, "rev-list", "--first-parent", f"--skip={back}", "-1", "HEAD"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not found:
        return None
    folder = Path(tempfile.mkdtemp(prefix="torture-"))
    archive = subprocess.run([*git, "archive", found], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    return folder


def turns(seed: int, number: int, folder: Path) -> Outcome:
    """Let the earlier version run first, or while this one does; then this one: its own results,
    whole.
    """
    preload()
    rng, sandbox = dice(seed, number, "versions.folder"), Sandbox(folder)
    back = BACK[number % len(BACK)]
    old = earlier(back)
    if old is None:
        return Outcome(f"{back} commits back: there are not as many")
    known, case = reference("fake"), CASES["fake"]
    network.write(case.spec, sandbox.work)
    run = sandbox.work / "out"
    how = rng.choice(["whole", "killed", "at once"])
    env = {"PYTHONPATH": str(old), **case.env}
    theirs = sandbox.start_other((), (sys.executable, "-m", "fairc", *case.command), env=env)
    if how == "killed":
        end = rng.uniform(0.3, 1.0) * sum(known.lasted.values())
        theirs.wait(end)
    elif how == "whole":
        theirs.wait()
    said = sandbox.said
    sandbox.said = folder / "said2"
    sandbox.said.mkdir()
    ended = sandbox.call(*case.command)
    problem = ended.problem(0, *((2,) if how == "at once" else ()))
    if ended.status == 2 and "written by another fairc" not in ended.err:
        problem = problem or f"status 2: {ended.last}"
    sandbox.said = said
    theirs.wait()
    if how == "at once" and not problem:
        problem = sandbox.call(*case.command).problem(0)
    if not problem and inspection.hashes(run) != known.hashes:
        problem = "other results"
    problem = problem or inspection.half_written(run) or sandbox.leftovers()
    ending = f"{back} commits back, {how}"
    return Outcome(ending, problem and f"{ending}: {problem}")


def lacking() -> str:
    """Return what is missing for it."""
    return "" if (ROOT / ".git").exists() else "a git checkout"


STRATEGIES = (
    Strategy(
        "versions.folder",
        f"runs a spec with an earlier commit ({', '.join(map(str, BACK))} back) to its end,"
        f" until it is killed, or concurrently with this version,"
        " in one run folder (fake); then this version: refused while the other runs,"
        " afterwards the complete results that it would have alone",
        turns,
        lacking=lacking,
        weight=0.5,
        short=0,
        wanted=200,
    ),
)
