"""Caches of our own: their files damaged, and what fills them killed (`image load`, the snapshot of
`vm`).
"""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from functools import cache
from pathlib import Path

from fairc.runtime.uml import kernel
from fairc.runtime.vm import image, recipe

from . import archives, inspection, network, tree
from .damage import damage
from .kills import CASES, LIMIT_S, lacks, reference
from .sandbox import Sandbox, no_report, preload
from .strategy import Outcome, Strategy, dice

SIGNALS = ("KILL", "TERM", "INT", "HUP")
ENDS = {"KILL": (-9,), "TERM": (-15,), "INT": (130, -2), "HUP": (-1,)}
DAMAGED = {"uml": ("manifest.json", "kernel"), "vm": ("manifest.json", "vmlinuz", "busybox")}
LOAD_S = 1.0


def linked(sandbox: Sandbox) -> Path:
    """Give a sandbox a cache whose images and kernel are links to the real ones; no snapshot.

    Return it.
    """
    real, own = recipe.cache_directory(), sandbox.folder / "cache" / "fairc"
    of_kernel, of_image = kernel.require().program.parent, image.require(recipe.UML).root.parent
    for source in (of_kernel, of_image):
        target = own / source.relative_to(real)
        target.mkdir(parents=True)
        for path in inspection.files(source):
            (target / path.relative_to(source)).parent.mkdir(exist_ok=True)
            (target / path.relative_to(source)).symlink_to(path)
    sandbox.cache = own.parent
    return own


def damaged(engine: str, seed: int, number: int, folder: Path) -> Outcome:
    """Damage a file of a cache that an engine needs; it is noticed, or harmless."""
    preload()
    known, case = reference(engine), CASES[engine]
    rng, sandbox = dice(seed, number, f"damage.{engine}"), Sandbox(folder, engine)
    own = linked(sandbox)
    links = [p for p in sorted(own.rglob("*")) if p.is_symlink() and p.name in DAMAGED[engine]]
    path = rng.choice(links)
    whole = path.resolve()
    path.unlink()
    shutil.copy(whole, path)
    what = damage(rng, path)
    network.write(case.spec, sandbox.work)
    ended = sandbox.call(*case.command, patch=no_report)
    problem = ended.problem(0, 1, 3) or sandbox.leftovers()
    ending = "noticed"
    if not problem and ended.status in (0, 1):
        ending = "harmless"
        if inspection.hashes(sandbox.work / "out") != known.hashes:
            problem = f"not noticed, and other results or failed cells: {ended.out.strip()[-100:]}"
    return Outcome("problem" if problem else ending, problem and f"{problem} ({what})")


@cache
def kernel_file() -> bytes:
    """Return the file of a kernel of 30 MB that can be loaded: it takes a moment to unpack."""

    rng = dice(0, 0, "caches.load")
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        return archives.whole(rng, Path(folder), 30 << 20)


def load(seed: int, number: int, folder: Path) -> Outcome:
    """Kill `image load`; load again: the kernel is there, whole, and nothing else."""
    preload()
    rng, sandbox = dice(seed, number, "caches.load"), Sandbox(folder)
    sandbox.cache = folder / "cache"
    (sandbox.work / "file").write_bytes(kernel_file())
    command, name = ("image", "load", "file", "--trust"), rng.choice(SIGNALS)
    running = sandbox.fork(*command)
    time.sleep(rng.uniform(0.0, LOAD_S))
    running.send(getattr(signal, f"SIG{name}"))
    ended = running.wait()
    problem = ended.problem(0, *ENDS[name])
    if not problem and (again := sandbox.call(*command).problem(0)):
        problem = f"again: {again}"
    own = sandbox.cache / "fairc"
    left = [p.name for p in own.glob("*") if p.name not in ("kernels", "images")]
    if not problem and left:
        problem = f"again: {left[0]} is left in the cache"
    sizes = [p.stat().st_size for p in own.glob("kernels/*/kernel")]
    if not problem and sizes != [30 << 20]:
        problem = f"again: kernels of {sizes} bytes"
    ending = f"{name}: {'too late' if ended.status == 0 else 'killed'}"
    return Outcome(ending, problem and f"{ending}: {problem}")


def snapshot(seed: int, number: int, folder: Path) -> Outcome:
    """Kill a run while it takes the snapshot that it needs; run again: the hashes of an undisturbed
    run.
    """
    preload()
    known, case = reference("vm"), CASES["vm"]
    rng, sandbox = dice(seed, number, "caches.snapshot"), Sandbox(folder, "vm")
    own, name = linked(sandbox), rng.choice(SIGNALS)
    network.write(case.spec, sandbox.work)
    running = case.start(sandbox)
    end = time.monotonic() + LIMIT_S
    while not [*own.glob("snapshots/*")] and not running.poll() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(20 * rng.random() ** 2)
    running.send(getattr(signal, f"SIG{name}"))
    ended = running.wait(LIMIT_S)
    problem = ended.problem(0, 1, *ENDS[name])
    if not problem and (found := tree.left()):
        problem = f"processes are left: {', '.join(sorted(set(found.values())))}"
    if not problem:
        # It boots up to eight machines until two come to the same state: minutes, on a busy host.
        again = sandbox.fork(*case.command, patch=no_report).wait(10 * LIMIT_S)
        problem = again.problem(0) or sandbox.leftovers()
        if not problem and inspection.hashes(sandbox.work / "out") != known.hashes:
            problem = "other results"
        problem = problem and f"run again: {problem}"
    return Outcome(name, problem and f"{name}: {problem}")


# Stands for mmdebstrap, which takes minutes and hundreds of megabytes: it has children, and cleans
# up when asked to end.
BUILDER = """#!/bin/sh
place=$(mktemp -d "$TMPDIR/mmdebstrap.XXXXXX")
mkdir "$place/proc"
[ "$(id -u)" != 0 ] || mount -t proc proc "$place/proc"
trap 'umount "$place/proc"; rm -r "$place"; exit 143' TERM INT HUP
echo "I: begun" > "$BEGUN"
(trap '' HUP; sleep 600) &
sleep 600 &
wait
"""


def build(seed: int, number: int, folder: Path) -> Outcome:
    """Kill the build of a kernel or an image; begin it again, and interrupt that."""
    preload()
    rng, sandbox = dice(seed, number, "kills.build"), Sandbox(folder)
    name, what = rng.choice(SIGNALS), ("kernel", "image")[number % 2]
    if what == "image":  # with a kernel, which is built first
        shutil.rmtree(linked(sandbox) / "images")
    sandbox.cache = folder / "cache"
    programs = folder / "programs"
    programs.mkdir()
    (programs / "mmdebstrap").write_text(BUILDER)
    (programs / "mmdebstrap").chmod(0o755)
    begun = folder / "begun"
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "BEGUN": str(begun)}
    ending = f"{what} {name}"
    for signalled in (name, "INT"):
        begun.unlink(missing_ok=True)
        running = sandbox.fork("image", "build", env=env)
        end = time.monotonic() + LIMIT_S
        while not begun.exists() and not running.poll() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(rng.uniform(0.0, 0.3))
        running.send(getattr(signal, f"SIG{signalled}"))
        ended = running.wait()
        problem = ended.problem(*ENDS[signalled])
        if not problem and not begun.exists():
            problem = f"no build was begun: {ended.last}"
        if not problem and (found := tree.left()):
            problem = f"processes are left: {', '.join(sorted(set(found.values())))}"
        if not problem and (left := [*sandbox.tmp.glob("*/mmdebstrap*")]):
            problem = f"{left[0].name} is left: it was killed before it had cleaned up"
        if not problem and str(folder) in Path("/proc/mounts").read_text():
            problem = "a mount is left"
        if problem:
            return Outcome(ending, f"{ending}, then {signalled}: {problem}")
    left = [
        p for place in ("kernels", "images") for p in (folder / "cache/fairc" / place).glob("*")
    ]
    known = [p for p in left if p.is_dir() and not (p / "manifest.json").is_file()]
    problem = sandbox.leftovers() or (f"{known[0].name} is left in the cache" if known else "")
    return Outcome(ending, problem and f"{ending}: {problem}")


def _damage(engine: str) -> Strategy:
    def attempt(seed: int, number: int, folder: Path) -> Outcome:
        return damaged(engine, seed, number, folder)

    return Strategy(
        f"damage.{engine}",
        f"damages a file of the kernel or image of {engine} in a separate cache, then a run:"
        f" detected (exit status 3)"
        " or harmless (the same hashes)",
        attempt,
        lacking=lambda: lacks(engine),
        weight=0.5,
        wanted=1000,
    )


STRATEGIES = (
    _damage("uml"),
    Strategy(
        "kills.load",
        "sends SIGKILL, SIGTERM, SIGINT or SIGHUP at any moment of `image load`, then repeats"
        " it: the kernel is complete, nothing"
        " else is in the cache",
        load,
        weight=0.5,
        short=3,
        wanted=500,
    ),
    Strategy(
        "kills.build",
        "sends SIGKILL, SIGTERM, SIGINT or SIGHUP while `image build` waits for the program"
        " that builds the kernel or the image (a"
        " substitute for mmdebstrap), then repeats it and sends Ctrl-C: no process left, the"
        " program could clean up, the cache is empty",
        build,
        lacking=lambda: lacks("uml"),
        weight=0.3,
        short=2,
        wanted=200,
    ),
    Strategy(
        "kills.snapshot",
        "the same while a run takes the snapshot of vm, in a separate cache; then the same"
        " command again: no process left, the"
        " hashes of an undisturbed run",
        snapshot,
        lacking=lambda: lacks("vm"),
        weight=0.3,
        wanted=100,
    ),
)
