"""Guests of the engines in virtual time: cells that are run, and programs that misbehave in their
place.
"""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from fairc.compiler import Cell
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.base import Engine, RawResult

# Its status says why it ends: what it prints has no room, either.
FILL = """
import sys
with open(sys.argv[1] + "/x", "wb", buffering=0) as file:
    try:
        for _ in range(2000):
            file.write(b"x" * (1 << 20))
    except OSError as error:
        sys.exit(error.errno)
"""
# Locked, or the guest spends minutes with evicting its own program and reading it again.
EXHAUST = """
import ctypes
ctypes.CDLL(None).mlockall(1)
x = [b"x" * (1 << 20) for _ in range(4000)]
"""

# What a guest may do instead of running its cell, for how many virtual seconds, and what the failed
# cell and its console then say.
MISBEHAVIOUR = {
    "hangs": ("import time; time.sleep(1e6)", 1.0, "virtual deadline", ""),
    "raises": ("raise RuntimeError('broken in this way')", 1.0, "status 1", "broken in this way"),
    "runs out of memory": (EXHAUST, 100.0, "crashed", "Kernel panic"),
    "fills its disk": (FILL, 100.0, f"status {errno.ENOSPC}", ""),
}


def run(engine: Engine, cell: Cell, folder: Path) -> RawResult:
    """Run a cell in a folder that is made for it."""
    folder.mkdir()
    return engine.run(cell, folder)


def misbehave(
    engine: Engine,
    cell: Cell,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    misbehaviour: tuple[str, float, str, str],
) -> RawResult:
    """Run a program in place of a cell's, and see that the cell fails for the expected reason."""
    script, seconds, expected, printed = misbehaviour
    monkeypatch.setattr(guest_job, "PROGRAM", script)
    monkeypatch.setattr(guest_job, "EPOCH_S", 0.0)
    monkeypatch.setattr(guest_job, "DEADLINE_MARGIN_S", seconds)
    result = run(engine, replace(cell, deadline_ns=0), folder)
    assert expected in result.error
    assert result.sha256 == ""
    assert printed in result.console
    return result
