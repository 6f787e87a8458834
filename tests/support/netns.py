"""A network namespace of a test's own, whose loopback has the MTU of Ethernet."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

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
