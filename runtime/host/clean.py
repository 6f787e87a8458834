"""Remove leftovers of crashed runs, and only these: they carry our mark, and their owner is
gone.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from .supervisor import MARK, owner_runs

# Names that begin with `supervisor.temporary_prefix`.
TEMPORARY = re.compile(r"fairc-[a-z]+-(\d+-\d+-\d+)-\w+")
END_S = 2.0
MOST_ENVIRON_BYTES = 8 << 20
"""Linux gives a program 6 MiB of arguments and environment; it may say later that it has more."""


def marks() -> Iterator[tuple[int, str]]:
    """Yield the processes that carry a mark (which every descendant inherits), and the mark."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            with (entry / "environ").open("rb") as file:
                environment = file.read(MOST_ENVIRON_BYTES)
        except OSError:  # it has ended, or is somebody else's
            continue
        for variable in environment.split(b"\0"):
            name, _, value = variable.partition(b"=")
            if name == MARK.encode():
                yield int(entry.name), value.decode(errors="replace")


def marked(mark: str) -> Iterator[int]:
    """Yield the processes that one fairc started, by its mark."""
    return (pid for pid, found in marks() if found == mark)


def orphans() -> Iterator[int]:
    """Yield the processes started by a fairc that no longer runs."""
    return (pid for pid, mark in marks() if not owner_runs(mark))


def end_orphans() -> list[str]:
    """Kill the orphans, wait until they are gone, and return a description of each.

    Mininet's hosts and namespaces depend on these processes: the kernel removes both with them.
    """
    ended = []
    waiting = list(orphans())
    for pid in waiting:
        name = _command(pid)
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        ended.append(f"process {pid} ({name})")
    limit = time.monotonic() + END_S
    while time.monotonic() < limit and any(alive(pid) for pid in waiting):
        time.sleep(0.01)
    return ended


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "ended"


def alive(pid: int) -> bool:
    """Return whether a process runs: it exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def remove_temporary(folder: Path | None = None) -> list[str]:
    """Remove the temporary folders of fairc processes that no longer run.

    folder: where to look (default: where this machine keeps temporary files).
    """
    removed = []
    for path in sorted((folder or Path(tempfile.gettempdir())).glob("fairc-*")):
        found = TEMPORARY.fullmatch(path.name)
        if found is None or path.is_symlink() or owner_runs(found[1].replace("-", ":")):
            continue
        try:
            shutil.rmtree(path)
        except OSError:  # somebody else's
            continue
        removed.append(f"temporary folder {path}")
    return removed
