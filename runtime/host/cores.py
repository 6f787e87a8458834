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
has waited, within these bounds. Sixty that wait take a twentieth of a core, not two fifths, and a
core that is free stays so for 5 % of a wait at most.
"""
SILENCE_S = 2.0
"""Seconds that a guest or a report waits before the user is told."""
WAITING = "waiting: other runs of yours have taken the cores of this machine"
FLOCK = "hhqqi4x"
"""`struct flock` of a 64-bit Linux: type, whence, start, length, pid."""


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

    @contextmanager
    def one(
        self, closed: threading.Event, waiting: Callable[[], None] = lambda: None
    ) -> Iterator[int | None]:
        began, core = time.monotonic(), self._free.get()
        while not self._locked(core):
            self._free.put(core)
            waited_s = time.monotonic() - began
            if waited_s >= SILENCE_S and self._told.acquire(blocking=False):
                waiting()
            if closed.wait(min(max(PATIENCE_S, waited_s / OF_WAIT), MOST_PATIENCE_S)):
                yield None
                return
            core = self._free.get()
        try:
            yield core
        finally:
            if (file := self._files[core]) is not None:
                fcntl.lockf(file, fcntl.LOCK_UN)
            self._free.put(core)

    def _locked(self, core: int) -> bool:
        """Take a core from other processes; whether it may be used."""
        if core not in self._files:
            self._files[core] = _opened(f"{self._of}{core}")
        file = self._files[core]
        if file is None:
            return True
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # POSIX allows both for a lock that another process holds
            return error.errno not in (errno.EACCES, errno.EAGAIN) or _holder_rests(file)
        return True


def _opened(core: str) -> int | None:
    """Open the file of a core, for good: closing any descriptor of it would end the lock."""
    host = re.sub(r"[^A-Za-z0-9.-]", "_", platform.node())  # machines may share a cache
    path = cache_directory() / "cores" / f"{host}-{core}"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError:
        return None


def _holder_rests(file: int) -> bool:
    """Whether the process that holds a lock is stopped, as by Ctrl-Z: nobody waits for that."""
    wanted = struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
    with suppress(OSError, IndexError):  # it ended meanwhile, or is of another container
        pid = struct.unpack(FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, wanted))[-1]
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
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
