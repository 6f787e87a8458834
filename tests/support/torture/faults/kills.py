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
from functools import cache, partial
from pathlib import Path

from fairc.runtime.host.faults import EngineUnavailable
from torture import engines, inspection, network, tree
from torture.fault import Try, fault, require, stage
from torture.sandbox import Ended, Running, Sandbox, no_report, preload, require_no_process

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
        over = False
        while not over:
            over = (
                running.poll()
            )  # first: a busy machine may have run whole phases since the last look
            for phase in PHASES:
                if phase.name not in began and phase.begun(run):
                    began[phase.name] = time.monotonic() - start
            time.sleep(0.005)
        ended = running.wait()
        assert ended.status in (0, 1), f"the undisturbed run: {ended.status} {ended.err}"
        times = [*(began[phase.name] for phase in PHASES), time.monotonic() - start]
        lasted = {p.name: times[i + 1] - times[i] for i, p in enumerate(PHASES)}
        return Reference(inspection.hashes(run), lasted)


def kill(engine: str, one: Try) -> str:
    """Send a signal at a random moment of a random phase; run again; compare."""
    case, known = CASES[engine], reference(engine)
    rng, sandbox = one.rng, Sandbox(one.folder, case.engine)
    network.write(case.spec, sandbox.work)
    run = sandbox.work / "out"
    phase = PHASES[one.number % len(PHASES)]
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
        return f"{phase.name} {name}: no child"
    ended = running.wait(LIMIT_S)
    if name == "INT" and not run.exists() and _python_starts(ended.err):
        return f"{phase.name} INT: Python was still starting"
    one.what = one.ending = f"{phase.name} {name} to {whom}"
    _require_ended(ended, name, whom, sandbox, run)
    with stage("run again"):
        _require_resumed(case, sandbox, run, known, report=one.number % 8 >= 6)
    return one.ending


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


def _require_ended(ended: Ended, name: str, whom: str, sandbox: Sandbox, run: Path) -> None:
    """Raise Problem for what is wrong right after the signal."""
    mine = ENDS[name] if whom == "fairc" else ()
    ended.require(0, 1, 3, *mine)
    if 130 in mine and ended.status == 130:
        require("interrupted" in ended.err, "interrupted without a word")
    require_no_process()
    if sandbox.engine == "docker":
        engines.require_nothing_left()
    inspection.require_whole(run)


def _require_resumed(
    case: Case, sandbox: Sandbox, run: Path, known: Reference, report: bool
) -> None:
    """Run again, with or without the report; raise Problem for what is wrong then."""
    kept = {path.name: path.stat().st_ino for path in run.glob("cells/*") if _well(path)}
    patch = None if report else no_report
    sandbox.fork(*case.command, env={"FAIRC_FAKE": ""}, patch=patch).wait(LIMIT_S).require(0, 1)
    found = inspection.hashes(run)
    if case.engine in ("fake", "uml", "vm"):
        require(found == known.hashes, f"other results: {len(found)} cells")
    require(found.keys() == known.hashes.keys(), "cells are missing")
    again = [name for name in kept if (run / "cells" / name).stat().st_ino != kept[name]]
    require(not again, "a finished cell was run again")
    left = [*(run / ".partial").glob("*")]
    # A killed report leaves a part of a figure, which the next report replaces.
    left += run.rglob("*.part") if report else ()
    require(not left, f"{left[:1]} is left")
    inspection.require_whole(run)
    sandbox.require_nothing_left()
    require(not report or (run / "report.html").exists(), "no report")


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


for _engine, _weight, _short, _wanted in (
    ("fake", 2, 4, 1000),
    ("uml", 2, 0, 1000),
    ("vm", 0.5, 0, 200),
    ("mininet", 1, 0, 500),
    ("docker", 0.5, 0, 200),
):

    @fault(
        f"kills.{_engine}",
        lacking=partial(lacks, _engine),
        weight=_weight,
        short=_short,
        wanted=_wanted,
    )
    def attempt(one: Try, engine: str = _engine) -> str:
        """Send SIGKILL, SIGTERM, SIGINT, SIGHUP or SIGSTOP (and then SIGCONT) to fairc, or in half
        of the tries in `cells` to a process of it, at any moment of one of the phases start, cells,
        tables, report; then the same command again: no process left, nothing half-written, no
        finished cell run again, no temporary file left, the hashes of an undisturbed run.
        """
        return kill(engine, one)
