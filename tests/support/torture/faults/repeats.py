"""One cell again and again while the machine is busy in changing ways: one hash."""

from __future__ import annotations

import os
import random
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from specs import compilation_of

from fairc.compiler import Cell
from fairc.runtime.engines.uml import UmlEngine
from torture import network
from torture.fault import Try, fault, require

from .kills import lacks


@cache
def engine() -> UmlEngine:
    """Return the engine, ready."""
    made = UmlEngine()
    made.prepare()
    return made


@cache
def cell(name: str) -> Cell:
    """Return the first cell of a spec."""
    return next(compilation_of(network.SPECS[name], f"{name}.fexp", "uml").cells())


@cache
def first(name: str) -> tuple[str, str]:
    """Return the hash of a cell's artefacts when nothing else is asked of the machine; or the
    error.
    """
    return _run(name)


def _run(name: str) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="torture-") as folder:
        raw = engine().run(cell(name), Path(folder))
        return raw.sha256, raw.error


@contextmanager
def busy(kind: str, rng: random.Random, folder: Path) -> Iterator[None]:
    """Have processes that load the machine."""
    number = rng.randint(1, 3)
    cores = os.sched_getaffinity(0)
    started = []
    if kind == "another core":
        os.sched_setaffinity(0, {rng.choice(sorted(cores))})
    for _ in range(number if kind in WORK else 0):
        pid = os.fork()
        if pid == 0:
            try:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                WORK[kind](folder)
            finally:
                os._exit(1)
        started.append(pid)
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)
        for pid in started:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _arithmetic(folder: Path) -> None:
    number = 1
    while True:
        number = number * 3 % 1000003


def _memory(folder: Path) -> None:
    while True:
        block = bytearray(64 << 20)
        block[:: 1 << 12] = b"x" * len(block[:: 1 << 12])


def _files(folder: Path) -> None:
    path = folder / f"load-{os.getpid()}"
    while True:
        path.write_bytes(bytes(8 << 20))
        path.unlink()


def _processes(folder: Path) -> None:
    while True:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


def _nice(folder: Path) -> None:
    os.nice(10)
    _arithmetic(folder)


WORK = {
    "arithmetic": _arithmetic,
    "memory": _memory,
    "files": _files,
    "processes": _processes,
    "a nice value": _nice,
}
LOADS = ("nothing", *WORK, "another core", "another path")


@fault("repeats.uml", lacking=lambda: lacks("uml"), weight=2, short=6)
def repeat(one: Try) -> str:
    """Repeat one of three short cells on uml while the machine has nothing else to do, computes,
    fills memory, writes files or forks, or with a nice value, on another core, or in another path:
    the raw artefacts are byte for byte those of the first run.
    """
    name = one.rng.choice(["tiny", "rich", "pair"])
    kind = one.ending = LOADS[one.number % len(LOADS)]
    one.what = name
    known, error = first(name)
    require(not error, f"without a load: {error}")
    before = tempfile.tempdir
    if kind == "another path":
        tempfile.tempdir = str(one.folder / ("x" * one.rng.randint(1, 60)))
        Path(tempfile.tempdir).mkdir()
    try:
        with busy(kind, one.rng, one.folder):
            found, error = _run(name)
    finally:
        tempfile.tempdir = before
    require(not error and found == known, error or "another hash")
    return kind
