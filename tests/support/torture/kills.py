"""Signals at any moment of a run, to fairc or to what it has started; then the same command
again.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fairc.runtime.host.faults import EngineUnavailable

from . import engines, inspection, network, tree
from .sandbox import Ended, Running, Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice

SIGNALS = ("KILL", "TERM", "INT", "HUP", "STOP")
# What a process is ended by that does nothing about it; 130 is fairc's own word for Ctrl-C.
ENDS = {"KILL": (-9,), "TERM": (-15, 130, 143), "INT": (130, -2), "HUP": (-1, 129, 130), "STOP": ()}
LIMIT_S = 240.0
PAUSED_S = 0.3


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a run. begun, over: whether it has, by what is in the run folder."""

    name: str
    begun: Callable[[Path], bool]
    over: Callable[[Path], bool]


def _always(run: Path) -> bool:
    return True


def _never(run: Path) -> bool:
    return False


def _cells(run: Path) -> bool:
    return (run / "lock.json").exists()


def _tables(run: Path) -> bool:
    plan = run / "cells.jsonl"
    return plan.exists() and len([*run.glob("cells/*/result.json")]) == len(
        plan.read_text().splitlines()
    )


def _report(run: Path) -> bool:
    return (run / "tables" / "samples.parquet").exists()


PHASES = (
    Phase("start", _always, _cells),
    Phase("cells", _cells, _tables),
    Phase("tables", _tables, _report),
    Phase("report", _report, _never),
)


@dataclass(frozen=True, slots=True)
class Reference:
    """An undisturbed run: the hashes of its cells, and how long each phase took, s."""

    hashes: dict[str, str]
    lasted: dict[str, float]


@dataclass(frozen=True, slots=True)
class Case:
    """What is killed: an engine with a spec, and the environment of the run."""

    engine: str
    spec: str
    env: dict[str, str]

    @property
    def command(self) -> tuple[str, ...]:
        """The command, which is always the same."""
        return ("run", f"{self.spec}.fexp", "-o", "out", "--jobs", "2")

    def start(self, sandbox: Sandbox) -> Running:
        """Start the run."""
        return sandbox.start(*self.command, env=self.env)


CASES = {
    "fake": Case("fake", "tiny", {"FAIRC_FAKE": "pause:0.2"}),
    "uml": Case("uml", "tiny", {}),
    "vm": Case("vm", "tiny", {}),
    "mininet": Case("mininet", "pair", {}),
    "docker": Case("docker", "pair", {}),
}


@cache
def reference(engine: str) -> Reference:
    """Run a case undisturbed, once for each process."""
    preload()
    case = CASES[engine]
    with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
        sandbox = Sandbox(Path(folder), case.engine)
        network.write(case.spec, sandbox.work)
        began: dict[str, float] = {}
        run = sandbox.work / "out"
        running, start = case.start(sandbox), time.monotonic()
        while not running.poll():
            for phase in PHASES:
                if phase.name not in began and phase.begun(run):
                    began[phase.name] = time.monotonic() - start
            time.sleep(0.005)
        ended = running.wait()
        assert ended.status in (0, 1), f"the undisturbed run: {ended.status} {ended.err}"
        times = [*(began[phase.name] for phase in PHASES), time.monotonic() - start]
        lasted = {p.name: times[i + 1] - times[i] for i, p in enumerate(PHASES)}
        return Reference(inspection.hashes(run), lasted)


def kill(engine: str, seed: int, number: int, folder: Path) -> Outcome:
    """Send a signal at a random moment of a random phase; run again; compare."""
    case, known = CASES[engine], reference(engine)
    rng = dice(seed, number, f"kills.{engine}")
    sandbox = Sandbox(folder, case.engine)
    network.write(case.spec, sandbox.work)
    run = sandbox.work / "out"
    phase = PHASES[number % len(PHASES)]
    name = rng.choice(SIGNALS)
    to_child = rng.random() < (0.5 if phase.name == "cells" and engine != "fake" else 0.0)
    running = case.start(sandbox)
    while not running.poll() and not phase.begun(run):
        time.sleep(0.002)
    time.sleep(rng.uniform(0, known.lasted[phase.name]))
    whom = "fairc"
    if to_child:
        whom = _child(running.pid, rng.random(), name)
    else:
        _signal(running.pid, name)
    if not whom:
        return Outcome(f"{phase.name} {name}: no child")
    wait = running.wait(LIMIT_S)
    if name == "INT" and not run.exists() and _python_starts(wait.err):
        return Outcome(f"{phase.name} INT: Python was still starting")
    ending = f"{phase.name} {name} to {whom}"
    problem = _after(wait, name, whom, sandbox, run)
    if not problem:
        problem = _resumed(case, sandbox, run, known, report=number % 8 >= 6)
    return Outcome(ending, problem and f"{ending}: {problem}")


# What is imported before Ctrl-C can be heard: it is Python that answers until then.
EARLY = ("fairc/__init__.py", "fairc/__main__.py", "fairc/cli/__init__.py", "cli/interruption.py")


def _python_starts(err: str) -> bool:
    """Whether Ctrl-C came before fairc could hear of it."""
    files = re.findall(r'File "([^"]*/fairc/[^"]*)"', err)
    return "KeyboardInterrupt" in err and all(each.endswith(EARLY) for each in files)


def _signal(pid: int, name: str) -> None:
    """Send a signal; after SIGSTOP, a while later, SIGCONT."""
    try:
        os.kill(pid, getattr(signal, f"SIG{name}"))
        if name == "STOP":
            time.sleep(PAUSED_S)
            os.kill(pid, signal.SIGCONT)
    except ProcessLookupError:
        return


def _child(root: int, at: float, name: str) -> str:
    """Send a signal to one of the processes that fairc has started; return what it is."""
    found = tree.descendants(root)
    if not found:
        return ""
    pid = [*found][int(at * len(found))]
    whom = found[pid]
    _signal(pid, name)
    return "a watcher" if whom.startswith("python") else whom


def _after(ended: Ended, name: str, whom: str, sandbox: Sandbox, run: Path) -> str:
    """Return what is wrong right after the signal."""
    mine = ENDS[name] if whom == "fairc" else ()
    problem = ended.problem(0, 1, 3, *mine)
    if not problem and 130 in mine and ended.status == 130 and "interrupted" not in ended.err:
        problem = "interrupted without a word"
    if not problem and (found := tree.left()):
        problem = f"processes are left: {', '.join(sorted(set(found.values())))}"
    if not problem and sandbox.engine == "docker":
        problem = engines.left()
    return problem or inspection.half_written(run)


def _resumed(case: Case, sandbox: Sandbox, run: Path, known: Reference, report: bool) -> str:
    """Run again, with or without the report; return what is wrong with what is there then."""
    kept = {path.name: path.stat().st_ino for path in run.glob("cells/*") if _well(path)}
    patch = None if report else no_report
    ended = sandbox.fork(*case.command, env={"FAIRC_FAKE": ""}, patch=patch).wait(LIMIT_S)
    if problem := ended.problem(0, 1):
        return f"run again: {problem}"
    found = inspection.hashes(run)
    if case.engine in ("fake", "uml", "vm") and found != known.hashes:
        return f"run again: other results: {len(found)} cells, {len(known.hashes)} wanted"
    if found.keys() != known.hashes.keys():
        return "run again: cells are missing"
    if any((run / "cells" / name).stat().st_ino != inode for name, inode in kept.items()):
        return "run again: a finished cell was run again"
    if left := [*(run / ".partial").glob("*")]:
        return f"run again: {left[0].name} is left in .partial"
    # A killed report leaves a part of a figure, which the next report replaces.
    if report and (left := list(run.rglob("*.part"))):
        return f"run again: {left[0].name} is left"
    if problem := inspection.half_written(run) or sandbox.leftovers():
        return f"run again: {problem}"
    there = (run / "report.html").exists() or not report
    return "" if there else "run again: no report"


def _well(cell: Path) -> bool:
    return '"status": "ok"' in (cell / "result.json").read_text()


@cache
def lacks(engine: str) -> str:
    """Return what this machine lacks for an engine; found out once."""
    if engine == "fake":
        return ""
    from fairc.runtime import engines

    made = engines.make(engine, lambda _: None)
    try:
        made.prepare()
    except EngineUnavailable as lacking:
        return "; ".join(lacking.missing)
    finally:
        made.close()
    if engine == "mininet" and shutil.which("ip") is None:
        return "ip"
    return ""


def _strategy(engine: str, weight: float, short: int, wanted: int) -> Strategy:
    def attempt(seed: int, number: int, folder: Path) -> Outcome:
        return kill(engine, seed, number, folder)

    whom = (
        "fairc"
        if engine == "fake"
        else "fairc, and in half of the tries in `cells` to a process of it"
    )
    return Strategy(
        f"kills.{engine}",
        f"sends SIGKILL, SIGTERM, SIGINT, SIGHUP or SIGSTOP (and then SIGCONT) to {whom}, at"
        f" any moment of one of the phases"
        " start, cells, tables, report; then the same command again: no process left, nothing"
        " half-written, no"
        " finished cell run again, no temporary file left, the hashes of an undisturbed run",
        attempt,
        lacking=lambda: lacks(engine),
        weight=weight,
        short=short,
        wanted=wanted,
    )


STRATEGIES = (
    _strategy("fake", 2, 4, 1000),
    _strategy("uml", 2, 0, 1000),
    _strategy("vm", 0.5, 0, 200),
    _strategy("mininet", 1, 0, 500),
    _strategy("docker", 0.5, 0, 200),
)
