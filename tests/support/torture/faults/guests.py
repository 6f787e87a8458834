"""What a guest may have left on the host when its machine has ended: its console, its exchange and
its clock, in any state. No machine runs here; `modules.left` has real ones do it.
"""

from __future__ import annotations

import json
import os
import random
import tracemalloc
from pathlib import Path

from fairc.runtime.engines import guest_job
from fairc.runtime.host import bounds
from fairc.runtime.uml import machine
from fairc.runtime.vm import exchange
from torture.fault import Try, fault, require

from .modules import SAID

SPARSE_BYTES = 1 << 30
MOST_BYTES = 64 << 20
LIMITS = bounds.limits(1.0, 1.0)
OUTSIDE, SECRET = "outside", "what only the host knows"
HOW = (
    *("emptied", "cut", "longer", "full", "says"),
    *("link out", "link to itself", "link to a device", "pipe", "folder", "gone"),
)


def _made(rng: random.Random, folder: Path) -> None:
    """Write what a machine leaves."""
    said = rng.choice(SAID)
    ending = {"ended_by": "failed", "notes": [said]}
    files = {"cell.json": json.dumps(ending).encode(), "console.txt": said.encode()}
    header = {"kind": "result", "error": said, "clock_s": 601.0}
    exchange.create(folder / machine.EXCHANGE, header, files, SPARSE_BYTES)
    (folder / "console").write_text("fairc: ready\n")


def _hurt(rng: random.Random, path: Path, how: str) -> None:
    """Leave something else in a file's place."""
    if how in ("emptied", "cut", "longer"):
        size = {"emptied": 0, "cut": rng.randrange(1 << 19), "longer": SPARSE_BYTES + 4096}[how]
        os.truncate(path, size)
        return
    if how in ("full", "says"):
        content = "\n".join(rng.choices(SAID, k=20_000 if how == "full" else 3)).encode()
        with path.open("r+b") as file:
            file.seek(0 if path.name == "console" else rng.randrange(exchange.DATA_OFFSET))
            file.write(content)
        return
    path.unlink()
    match how:
        case "link out":
            path.symlink_to(path.parents[1] / OUTSIDE)
        case "link to itself":
            path.symlink_to(path.name)
        case "link to a device":
            path.symlink_to("/dev/zero")
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()


@fault("guests.left", short=22, wanted=5_000)
def left(one: Try) -> str:
    """Empty, cut, extend to a GiB, fill or replace (by a link, a pipe, a folder, a device) the
    console or the exchange that a machine leaves, with texts in it that fairc looks for; then read
    both as an engine does: a failed cell with one line for it, within 64 MiB of memory and without
    waiting, and nothing about any other cell.
    """
    rng, folder = one.rng, one.folder / "machine"
    artefacts = one.folder / "artefacts"
    folder.mkdir()
    artefacts.mkdir()
    (one.folder / OUTSIDE).write_text(SECRET)
    _made(rng, folder)
    name, how = rng.choice(("console", machine.EXCHANGE)), HOW[one.number % len(HOW)]
    one.what = f"{name} {how}"
    _hurt(rng, folder / name, how)
    tracemalloc.start()
    try:
        error, virtual_s = guest_job.read(folder / machine.EXCHANGE, artefacts, "")
        printed = machine.said(folder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    require(error and error.isprintable(), f"the reason is {error!r}")
    require(0 <= virtual_s <= guest_job.MOST_CLOCK_S, f"it took {virtual_s} s")
    require(len(printed) <= 2 * bounds.CONSOLE_KEPT, "a console was read whole")
    require(peak < MOST_BYTES, f"{peak >> 20} MiB of memory")
    require(SECRET not in printed + error, "a file of the host was read")
    if name == "console" and how == "longer":
        watch = bounds.Watch(os.getpid(), folder / "console")
        require("printed more" in watch.overprinted(LIMITS), "it may print a GiB")
    return f"{name}: {how}"
