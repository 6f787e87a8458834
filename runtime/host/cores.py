"""The cores of this machine, each for one guest and one report of this user at a time.

A guest in virtual time computes all the while, so two on a core take twice as long, and many at
once fill the memory, as many reports do. The processes of a user share the cores by locks on files
in the cache: a class that starts sixty runs on one server has as many guests at work as the server
has cores, and as many reports, which do not wait for guests.
"""

from __future__ import annotations

import errno
import fcntl
import os
import platform
import queue
import re
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path

from fairc.dsl.core.cache import cache_directory

PATIENCE_S, MOST_PATIENCE_S, OF_WAIT = 0.02, 0.5, 20
"""The interval at which a guest that waits looks for a free core: a twentieth of the time that it
has waited, within these bounds. Sixty that wait take a twentieth of a core, not two fifths. Those
of the process whose turn it is look at the shortest one.
"""
GIVES_WAY_S = 5 * PATIENCE_S
"""How long a core is left to the process whose turn it is."""
SILENCE_S = 2.0
"""Seconds that a guest or a report waits before the user is told."""
WAITING = "waiting: other runs of yours have taken the cores of this machine"
FLOCK = "hhqqi4x"
"""`struct flock` of a 64-bit Linux: type, whence, start, length, pid."""


class _Turn:
    """The lock of the process that gets the next free core.

    Without it a run with many cells would take each core again that it has just left, and others
    would wait until it ends.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._file: int | None = None
        self._changes = threading.Lock()
        self._waiting = 0  # guests of this process whose turn it is

    def take(self) -> bool:
        """Return whether it is this process's turn, for a guest that waits."""
        with self._changes:
            taken = self._waiting > 0 or _locked(self._opened())
            self._waiting += taken
        return taken

    def leave(self) -> None:
        """End it for a guest that waits no longer."""
        with self._changes:
            self._waiting -= 1
            if not self._waiting:
                _unlock(self._opened())

    def is_of_another(self) -> bool:
        """Whether it is the turn of another process."""
        with self._changes:
            return _holder(self._opened()) is not None

    def _opened(self) -> int | None:
        if self._file is None:
            self._file = _opened(self._name)
        return self._file


class _Cores:
    """The cores of this process's guests, or of its reports.

    of: begins the names of the locks.
    """

    def __init__(self, of: str) -> None:
        self._of = of
        self._told = threading.Lock()  # taken by whoever tells the user, once
        self._files: dict[int, int | None] = {}
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        for core in sorted(os.sched_getaffinity(0)):
            self._free.put(core)
        self._turn = _Turn(f"{of}next")

    @contextmanager
    def one(
        self, closed: threading.Event, waiting: Callable[[], None] = lambda: None
    ) -> Iterator[int | None]:
        core = self._taken(closed, waiting)
        try:
            yield core
        finally:
            if core is not None:
                _unlock(self._files[core])
                self._free.put(core)

    def _taken(self, closed: threading.Event, waiting: Callable[[], None]) -> int | None:
        """Take a core as soon as one is free; None if nobody wants it any longer."""
        began, core, turn = time.monotonic(), self._free.get(), False
        if self._turn.is_of_another():
            closed.wait(GIVES_WAY_S)
        try:
            while not self._is_mine(core):
                self._free.put(core)
                turn = turn or self._turn.take()
                waited_s = time.monotonic() - began
                if waited_s >= SILENCE_S and self._told.acquire(blocking=False):
                    waiting()
                patience_s = 0.0 if turn else min(waited_s / OF_WAIT, MOST_PATIENCE_S)
                if closed.wait(max(PATIENCE_S, patience_s)):
                    return None
                core = self._free.get()
        finally:
            if turn:
                self._turn.leave()
        return core

    def _is_mine(self, core: int) -> bool:
        """Take a core from other processes; whether it may be used."""
        if core not in self._files:
            self._files[core] = _opened(f"{self._of}{core}")
        file = self._files[core]
        return _locked(file) or _holder_rests(file)


def _opened(name: str) -> int | None:
    """Open the file of a lock, for good: closing any descriptor of it would end the lock."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", platform.node())  # machines may share a cache
    path = cache_directory() / "cores" / f"{host}-{name}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def _locked(file: int | None) -> bool:
    """Lock a file against other processes; False if one of them has the lock. A file system without
    locks leaves each process to itself.
    """
    if file is None:
        return True
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:  # POSIX allows both for a lock that another process holds
        return error.errno not in (errno.EACCES, errno.EAGAIN)
    return True


def _unlock(file: int | None) -> None:
    if file is not None:
        fcntl.lockf(file, fcntl.LOCK_UN)


def _holder(file: int | None) -> int | None:
    """Return the number of another process that holds a lock; 0: it is of another container."""
    if file is None:
        return None
    wanted = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with suppress(OSError):
        kind, *_, pid = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, wanted))
        return None if kind == fcntl.F_UNLCK else int(pid)
    return None


def _holder_rests(file: int | None) -> bool:
    """Whether the process that holds a lock is stopped, as by Ctrl-Z: nobody waits for that."""
    with suppress(OSError, IndexError):  # it ended meanwhile, or is of another container
        state = Path(f"/proc/{_holder(file)}/stat").read_text().rpartition(")")[2].split()[0]
        return state in "Tt"
    return False


@cache
def _cores(of: str = "") -> _Cores:
    return _Cores(of)


def one(
    closed: threading.Event, waiting: Callable[[], None] = lambda: None
) -> AbstractContextManager[int | None]:
    """Take a core, by its number; wait until one is free, or until nobody wants it: then None.

    waiting: called once, when other processes have had them all for longer than SILENCE_S.

    Threads may wait at once. A lock ends with its process, however that ends. A file system without
    locks, or a cache that cannot be written, leaves each process to itself.
    """
    return _cores().one(closed, waiting)


def for_report(waiting: Callable[[], None]) -> AbstractContextManager[int | None]:
    """Take the right to build a report; wait while as many are built as there are cores.

    waiting: called once, if it takes longer than SILENCE_S.
    """
    return _cores("report-").one(threading.Event(), waiting)
