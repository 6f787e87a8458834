"""The processes of a try: this process is the reaper of all that descends from it, so nothing
hides.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
GONE_S = 10.0


def adopt_orphans() -> None:
    """Become the parent of descendants whose parent has ended (prctl(2))."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def die_with_parent() -> None:
    """Have this process killed when its parent ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def descendants(root: int | None = None, but: Collection[int] = ()) -> dict[int, str]:
    """Return the processes that descend from one (this one) and are no zombies: id -> command;
    without some of them, and what descends from those.
    """
    found: dict[int, tuple[int, str, str]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                before, _, after = (entry / "stat").read_text(errors="replace").rpartition(") ")
            except OSError:
                continue
            state, parent = after.split()[:2]
            found[int(entry.name)] = (int(parent), state, before.partition("(")[2])
    members = {os.getpid() if root is None else root}
    for pid in but:
        found.pop(pid, None)
    while more := {pid for pid, (parent, *_) in found.items() if parent in members} - members:
        members |= more
    members.discard(os.getpid() if root is None else root)
    return {pid: found[pid][2] for pid in sorted(members) if found[pid][1] not in "ZX"}


def reap() -> None:
    """Collect children that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def left(seconds: float = GONE_S, but: Collection[int] = ()) -> dict[int, str]:
    """Wait until nothing but these processes descends from this one; return what else still does
    after this many seconds.
    """
    end = time.monotonic() + seconds
    while found := descendants(but=but):
        if time.monotonic() > end:
            return found
        reap()
        time.sleep(0.02)
    return {}


def end_all() -> None:
    """Kill whatever descends from this process."""
    for _ in range(20):
        found = descendants()
        for pid in found:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        reap()
        if not found:
            return
        time.sleep(0.02)
