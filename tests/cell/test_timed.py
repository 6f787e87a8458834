"""A program that is started at a time is started at that time, or not at all."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

NS = 10**9


def timed(folder: Path, begin_ns: int) -> subprocess.CompletedProcess[str]:
    """Run `date +%s%N` at a time after now."""
    command = ["date", "+%s%N"]
    test = {"name": "f.client", "command": command, "begin_ns": begin_ns, "stop_ns": None}
    words = ["--epoch-ns", str(time.time_ns()), json.dumps(test)]
    code = "import sys; from fairc.cell.timed import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_it_starts_when_it_is_due(tmp_path: Path) -> None:
    due_ns = time.time_ns() + 3 * NS
    assert timed(tmp_path, 3 * NS).returncode == 0
    assert int((tmp_path / "f.client.json").read_text()) >= due_ns


@pytest.mark.parametrize("begin_ns", [-NS, 0])
def test_it_does_not_start_late(tmp_path: Path, begin_ns: int) -> None:
    ended = timed(tmp_path, begin_ns)
    assert ended.returncode == 1 and "this machine is too slow" in ended.stderr
    assert not (tmp_path / "f.client.json").exists()
