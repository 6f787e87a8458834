"""The real build of the kernel, killed while its root file system is mounted, extracted, or
compiled in.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

from fairc.runtime.uml import kernel, source

from . import tree
from .caches import ENDS, SIGNALS
from .sandbox import Running, Sandbox, preload
from .strategy import Outcome, Strategy, dice

NICE = 15
LIMIT_S = 4 * 3600.0
# What the log of the build holds once it is there, and whether something of it lies below TMPDIR
# then.
STAGES = (
    "I: running apt-get update",
    "I: extracting archives",
    "I: running --customize-hook",
    "unpacking",
    "  CC ",
)


def build(seed: int, number: int, folder: Path) -> Outcome:
    """Kill a build at a stage; begin it again, and interrupt that: nothing of either stays."""
    preload()
    rng, sandbox = dice(seed, number, "kills.kernel"), Sandbox(folder)
    sandbox.cache = folder / "cache"
    name, stage = rng.choice(SIGNALS), STAGES[number % len(STAGES)]
    ending = f"{stage.strip()} {name}"
    for signalled, at in ((name, stage), ("INT", STAGES[0])):
        command = ("image", "build", "--kernel-source", _tarball())
        running = sandbox.start(*command, wrap=("nice", "-n", str(NICE)))
        if not _reached(running, sandbox, at):
            ended = running.wait(0.0)
            return Outcome(ending, f"{ending}: the build did not come so far: {ended.last}")
        between = sorted(p.name for p in sandbox.tmp.iterdir())
        running.send(getattr(signal, f"SIG{signalled}"))
        ended = running.wait()
        problem = ended.problem(*ENDS[signalled]) or _left(sandbox, signalled)
        if not problem and len([n for n in between if "-root-" in n]) != 1:
            problem = f"the second build began beside what the first had left: {between}"
        if problem:
            return Outcome(ending, f"{ending}, then {signalled} at {at.strip()}: {problem}")
    return Outcome(ending)


def _reached(running: Running, sandbox: Sandbox, stage: str) -> bool:
    """Wait until the log of a build that goes on says that a stage has been reached."""
    log, end = sandbox.cache / "fairc/kernels/build.log", time.monotonic() + LIMIT_S
    before = log.stat().st_mtime_ns if log.exists() else 0
    while time.monotonic() < end and not running.poll():
        if log.exists() and log.stat().st_mtime_ns != before and stage in log.read_text():
            return True
        time.sleep(0.05)
    return False


def _left(sandbox: Sandbox, name: str) -> str:
    """Return what a killed build has left; what SIGKILL leaves on the disk is the next build's to
    remove.
    """
    if found := tree.left(60.0):
        return f"processes are left: {', '.join(sorted(set(found.values())))}"
    if str(sandbox.folder) in Path("/proc/mounts").read_text():
        return "a mount is left"
    if name == "INT":
        places = (sandbox.tmp, sandbox.cache / "fairc/kernels")
        found_files = [p.name for place in places for p in place.iterdir() if p.name != "build.log"]
        return f"{found_files[0]} is left" if found_files else ""
    return ""


def _tarball() -> Path:
    """Return the source of the kernel that is built already."""
    return kernel.folder() / source.TARBALL


def lacking() -> str:
    """Return what this machine lacks."""
    if os.geteuid() or shutil.which("mmdebstrap") is None:
        return "root, or mmdebstrap"
    return "" if _tarball().is_file() else "a kernel that has been built, and its source"


STRATEGIES = (
    Strategy(
        "kills.kernel",
        "sends SIGKILL, SIGTERM, SIGINT or SIGHUP to `image build` while the real build of"
        " the kernel extracts its root file"
        " system, runs in it, unpacks the source or compiles, then repeats it and sends"
        " Ctrl-C: no process and no mount left, and no"
        " file once the next build has begun",
        build,
        lacking=lacking,
        weight=0.05,
        wanted=20,
    ),
)
