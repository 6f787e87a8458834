"""Network namespaces: a test's own, whose loopback has the MTU of Ethernet; and who is in one."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

IP = shutil.which("ip") or "/usr/sbin/ip"


@contextmanager
def namespace(name: str) -> Iterator[tuple[str, ...]]:
    """Make a namespace; yield the prefix of a command that runs in it.

    Skips the test without root.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root, for a network namespace")
    subprocess.run([IP, "netns", "add", name], check=True)
    try:
        inside = (IP, "netns", "exec", name)
        subprocess.run([*inside, IP, "link", "set", "lo", "mtu", "1500", "up"], check=True)
        yield inside
    finally:
        subprocess.run([IP, "netns", "delete", name], check=True)


def hold(pid: int) -> int:
    """Return an open file of the namespace that a process is in. Raises OSError.

    While it is open the kernel gives the namespace's number to no other one; it is the lowest that
    is free, so another test may have it at once.
    """
    return os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)


def inside(held: Iterable[int]) -> set[int]:
    """Return the processes that are in any of these namespaces, which `hold` has opened."""
    numbers = {os.fstat(descriptor).st_ino for descriptor in held}
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has just ended
            if (process / "ns/net").stat().st_ino in numbers:
                found.add(int(process.name))
    return found
