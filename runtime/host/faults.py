"""Faults of the environment: a full disk, too little memory, a limit. They are not a result of any
cell.

A sweep that meets one stops at once, reports what is missing and ends with exit status 3: cells
that failed for lack of space would say nothing about the experiment. The same command resumes.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

RESUMES = "then the same command resumes: finished cells are kept"
ROOM = (
    "free some space there, use another place with TMPDIR or -o, or keep less with"
    " `fairc run --drop-raw`"
)
HELP = {
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EFBIG: "a higher limit of file sizes: ulimit -f unlimited",
    errno.EMFILE: "a higher limit of open files: ulimit -n 1024",
    errno.ENFILE: "fewer programs at once on this machine: all of its files are open",
    errno.ENOMEM: "more free memory, a higher limit of it (ulimit -v), or fewer cells at once:"
    " --jobs 1",
    errno.EAGAIN: "a higher limit of processes (ulimit -u), or fewer cells at once: --jobs 1",
    errno.EROFS: "a writable place: TMPDIR, or -o",
    errno.EIO: "a disk that works",
    errno.ENOLCK: "a file system with locks, which NFS may lack: -o, or XDG_CACHE_HOME",
}
# Needs of every cell in virtual time: open files of a kernel and its programs, space for
# their artefacts. A failed cell is the disk's fault if less is free.
OPEN_FILES, WANTED_OPEN_FILES = 256, 4096
ROOM_BYTES = 128 << 20
MEMORY_BESIDE_BYTES = 256 << 20


class EngineUnavailable(Exception):
    """This machine lacks something that the engine needs.

    missing: descriptions, one for each thing. remedy: the command or option that helps.
    """

    def __init__(self, missing: tuple[str, ...], remedy: str) -> None:
        self.missing = missing
        self.remedy = remedy
        super().__init__("; ".join(missing))


def to_install(*packages: str) -> str:
    """Return the command that installs Debian packages; without apt-get, what to install."""
    if shutil.which("apt-get"):
        return f"sudo apt-get install --no-install-recommends {' '.join(packages)}"
    return f"install what Debian calls {', '.join(packages)} with this system's package manager"


class NotBuilt(EngineUnavailable):
    """An image that this program builds when it is asked to.

    build: builds it; takes a function that is called with each step. cost: what that takes, in
    words.
    """

    def __init__(
        self, missing: str, remedy: str, cost: str, build: Callable[[Callable[[str], None]], object]
    ) -> None:
        self.cost, self.build = cost, build
        super().__init__((missing,), remedy)


class MachineFault(EngineUnavailable):
    """This machine lacks something that a run needs. missing: what it is. remedy: what helps."""


def _unmapped(error: BaseException) -> bool:
    """Return whether a library could not be loaded for lack of memory, by the loader's messages
    (dlopen(3)).
    """
    messages = ("failed to map segment", "cannot allocate memory", "cannot create shared object")
    return isinstance(error, ImportError) and any(each in str(error) for each in messages)


def of(error: BaseException) -> MachineFault | None:
    """Return the fault of the environment that an exception stands for; None if it is not one."""
    if isinstance(error, MachineFault):
        return error
    if isinstance(error, MemoryError) or _unmapped(error):
        return MachineFault(("there is not enough memory",), f"{HELP[errno.ENOMEM]}; {RESUMES}")
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return MachineFault(("no thread can be started",), f"{HELP[errno.EAGAIN]}; {RESUMES}")
    number = error.errno if isinstance(error, OSError) else _of_duckdb(error)
    if number not in HELP:
        return None
    about = getattr(error, "filename", None)
    message = os.strerror(number).lower()
    return MachineFault(
        (f"{about}: {message}" if about else message,), f"{HELP[number]}; {RESUMES}"
    )


def _of_duckdb(error: BaseException) -> int | None:
    """Return the errno behind a DuckDB error, from its message."""
    duckdb = sys.modules.get("duckdb")
    if duckdb is None or not isinstance(error, duckdb.Error):
        return None
    if isinstance(error, duckdb.OutOfMemoryException):
        return errno.ENOMEM
    return next((number for number in HELP if os.strerror(number) in str(error)), None)


def no_process() -> MachineFault:
    """Return the fault that no process could be started, for callers that have no exception that
    says so.
    """
    message = "no more processes could be started on this machine"
    return MachineFault((message,), f"{HELP[errno.EAGAIN]}; {RESUMES}")


def full(places: Iterable[Path]) -> MachineFault | None:
    """Return the fault of a full disk, if one is. places: where cells write, besides TMPDIR."""
    for place in (Path(tempfile.gettempdir()), *places):
        try:
            free = shutil.disk_usage(place).free
        except OSError:
            continue
        if free < ROOM_BYTES:
            message = (
                f"{place}: no space left on device for a cell: {free >> 20} MiB, and it needs"
                f" {ROOM_BYTES >> 20} MiB"
            )
            return MachineFault((message,), f"{HELP[errno.ENOSPC]}; {RESUMES}")
    return None


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """The memory that a cell needs of this computer.

    most: what most of it is for, after "most of it". remedy: what needs less.
    """

    memory_bytes: int
    most: str
    remedy: str

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.memory_bytes / 2**30:.1f} GiB of memory, most of it {self.most}"


def memory_bytes() -> int:
    """Return the memory of this computer, bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def require(largest_file_bytes: int, memory_bytes: int) -> None:
    """Check that limits and space suffice for cells in virtual time; raise the soft limit of open
    files.

    largest_file_bytes: of any file that a cell writes. memory_bytes: what one of its programs maps.
    Raises MachineFault.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = WANTED_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, WANTED_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < enough:
        resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
    lacking: list[str] = []
    remedies: list[str] = []
    if hard != resource.RLIM_INFINITY and hard < OPEN_FILES:
        lacking.append(f"only {hard} files may be open, and a cell needs {OPEN_FILES}")
        remedies.append(HELP[errno.EMFILE])
    for limit, need, what, remedy in (
        (resource.RLIMIT_FSIZE, largest_file_bytes, "a file may have", HELP[errno.EFBIG]),
        (
            resource.RLIMIT_AS,
            memory_bytes + MEMORY_BESIDE_BYTES,
            "a program may have a memory of",
            "a higher limit of memory: ulimit -v unlimited",
        ),
    ):
        allowed = resource.getrlimit(limit)[0]
        if allowed not in (resource.RLIM_INFINITY, -1) and allowed < need:
            lacking.append(f"{what} only {allowed >> 20} MiB, and a cell needs {need >> 20} MiB")
            remedies.append(remedy)
    place = tempfile.gettempdir()
    if (free := shutil.disk_usage(place).free) < ROOM_BYTES:
        lacking.append(
            f"{place} has {free >> 20} MiB of room, and a cell needs {ROOM_BYTES >> 20} MiB"
        )
        remedies.append("free some space there, or set TMPDIR to another place")
    if lacking:
        raise MachineFault(tuple(lacking), "; ".join(remedies))
