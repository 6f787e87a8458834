"""The object of `examples/own-cca.fexp`, built where it is not: its tests need clang."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from waiting import completed

FOLDER = Path(__file__).parents[2] / "examples" / "bpf"


def gentle() -> Path:
    """Return `examples/bpf/gentle.bpf.o`, up to date. Skips the test where it cannot be built."""
    with (FOLDER / "Makefile").open() as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        done = completed(["make", "-s", "-C", str(FOLDER)])
    if done.returncode and " is missing: " in done.stderr:
        pytest.skip(done.stderr.splitlines()[0])
    assert done.returncode == 0, done.stderr
    return FOLDER / "gentle.bpf.o"
