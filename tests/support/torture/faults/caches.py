"""Caches of our own: their files damaged, and what fills them killed (`image load`, the snapshot of
`vm`).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import tempfile
import time
from functools import cache
from pathlib import Path

from forgery import damage

from fairc.dsl.core.cache import cache_directory
from fairc.runtime.uml import kernel
from fairc.runtime.vm import image, recipe
from torture import inspection, network
from torture.fault import Try, fault, require, stage
from torture.sandbox import Sandbox, no_report, preload, require_no_process

from . import archives
from .kills import CASES, ENDS, LIMIT_S, lacks, reference

SIGNALS = ("KILL", "TERM", "INT", "HUP")
DAMAGED = ("manifest.json", "kernel")
LOAD_S = 1.0


def linked(sandbox: Sandbox) -> Path:
    """Give a sandbox a cache whose images and kernel are links to the real ones; no snapshot.

    Return it.
    """
    real, own = cache_directory(), sandbox.folder / "cache" / "fairc"
    of_kernel, of_image = kernel.require().program.parent, image.require(recipe.UML).root.parent
    for source in (of_kernel, of_image):
        target = own / source.relative_to(real)
        target.mkdir(parents=True)
        for path in inspection.files(source):
            (target / path.relative_to(source)).parent.mkdir(exist_ok=True)
            (target / path.relative_to(source)).symlink_to(path)
    sandbox.cache = own.parent
    return own


@fault("damage.uml", lacking=lambda: lacks("uml"), weight=0.5)
def damaged(one: Try) -> str:
    """Damage a file of the kernel or image of uml in a separate cache, then a run: detected (exit
    status 3) or harmless (the same hashes).
    """
    preload()
    known, case = reference("uml"), CASES["uml"]
    sandbox = Sandbox(one.folder, "uml")
    own = linked(sandbox)
    links = [p for p in sorted(own.rglob("*")) if p.is_symlink() and p.name in DAMAGED]
    path = one.rng.choice(links)
    whole = path.resolve()
    path.unlink()
    shutil.copy(whole, path)
    one.what = damage(one.rng, path)
    network.write(case.spec, sandbox.work)
    ended = sandbox.call(*case.command, patch=no_report).require(0, 1, 3)
    sandbox.require_nothing_left()
    if ended.status == 3:
        return "noticed"
    with stage("not noticed"):
        sandbox.require_results(known.hashes)
    return "harmless"


@cache
def kernel_file() -> bytes:
    """Return the file of a kernel of 30 MB that can be loaded: it takes a moment to unpack."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        return archives.whole(rng, Path(folder), 30 << 20)


@fault("kills.load", weight=0.5, short=3, wanted=500)
def load(one: Try) -> str:
    """Send SIGKILL, SIGTERM, SIGINT or SIGHUP at any moment of `image load`, then repeat it: the
    kernel is complete, nothing else is in the cache.
    """
    preload()
    sandbox, name = Sandbox(one.folder), one.rng.choice(SIGNALS)
    sandbox.cache = one.folder / "cache"
    (sandbox.work / "file").write_bytes(kernel_file())
    command = ("image", "load", "file", "--trust")
    running = sandbox.fork(*command)
    time.sleep(one.rng.uniform(0.0, LOAD_S))
    running.send(getattr(signal, f"SIG{name}"))
    one.ending = name
    ended = running.wait().require(0, *ENDS[name])
    with stage("again"):
        sandbox.call(*command).require(0)
        own = sandbox.cache / "fairc"
        left = [p.name for p in own.glob("*") if p.name not in ("kernels", "images")]
        require(not left, f"{left[:1]} is left in the cache")
        sizes = [p.stat().st_size for p in own.glob("kernels/*/kernel")]
        require(sizes == [30 << 20], f"kernels of {sizes} bytes")
    return f"{name}: {'too late' if ended.status == 0 else 'killed'}"


@fault("kills.snapshot", lacking=lambda: lacks("vm"), weight=0.3, wanted=100)
def snapshot(one: Try) -> str:
    """The same while a run takes the snapshot of vm, in a separate cache; then the same command
    again: no process left, the hashes of an undisturbed run.
    """
    preload()
    known, case = reference("vm"), CASES["vm"]
    sandbox, name = Sandbox(one.folder, "vm"), one.rng.choice(SIGNALS)
    own = linked(sandbox)
    network.write(case.spec, sandbox.work)
    running = case.start(sandbox)
    end = time.monotonic() + LIMIT_S
    while not [*own.glob("snapshots/*")] and not running.poll() and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(20 * one.rng.random() ** 2)
    running.send(getattr(signal, f"SIG{name}"))
    one.ending = name
    running.wait(LIMIT_S).require(0, 1, *ENDS[name])
    require_no_process()
    with stage("run again"):
        # It boots up to eight machines until two come to the same state: minutes, on a busy host.
        sandbox.fork(*case.command, patch=no_report).wait(10 * LIMIT_S).require(0)
        sandbox.require_nothing_left()
        sandbox.require_results(known.hashes)
    return name


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


@fault("kills.build", lacking=lambda: lacks("uml"), weight=0.3, short=2, wanted=200)
def build(one: Try) -> str:
    """Send SIGKILL, SIGTERM, SIGINT or SIGHUP while `image build` waits for the program that builds
    the kernel or the image (a substitute for mmdebstrap), then repeat it and send Ctrl-C: no
    process left, the program could clean up, the cache is empty.
    """
    preload()
    folder, sandbox = one.folder, Sandbox(one.folder)
    name, what = one.rng.choice(SIGNALS), ("kernel", "image")[one.number % 2]
    shutil.rmtree(linked(sandbox) / f"{what}s")  # with the other of the two
    sandbox.cache = folder / "cache"
    programs = folder / "programs"
    programs.mkdir()
    (programs / "mmdebstrap").write_text(BUILDER)
    (programs / "mmdebstrap").chmod(0o755)
    begun = folder / "begun"
    env = {"PATH": f"{programs}:{os.environ['PATH']}", "BEGUN": str(begun)}
    one.ending = f"{what} {name}"
    for signalled in (name, "INT"):
        one.what = f"{what} {name}, then {signalled}"
        begun.unlink(missing_ok=True)
        running = sandbox.fork("image", "build", env=env)
        end = time.monotonic() + LIMIT_S
        while not begun.exists() and not running.poll() and time.monotonic() < end:
            time.sleep(0.01)
        time.sleep(one.rng.uniform(0.0, 0.3))
        running.send(getattr(signal, f"SIG{signalled}"))
        ended = running.wait().require(*ENDS[signalled])
        require(begun.exists(), f"no build was begun: {ended.last}")
        require_no_process()
        left = [*sandbox.tmp.glob("*/mmdebstrap*")]
        require(not left, f"{left[:1]} is left: it was killed before it had cleaned up")
        require(str(folder) not in Path("/proc/mounts").read_text(), "a mount is left")
    sandbox.require_nothing_left()
    built = [
        p for place in ("kernels", "images") for p in (folder / "cache/fairc" / place).glob("*")
    ]
    part = [p for p in built if p.is_dir() and not (p / "manifest.json").is_file()]
    require(not part, f"{part[:1]} is left in the cache")
    return one.ending
