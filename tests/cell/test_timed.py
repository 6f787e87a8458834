"""A program that is started at a time is started at that time, or not at all."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from waiting import completed

NS = 10**9
NOW = ("date", "+%s%N")


def timed(
    folder: Path, begin_ns: int, stop_ns: int | None = None, command: Sequence[str] = NOW
) -> subprocess.CompletedProcess[str]:
    """Run a command from a time after now on, until another one."""
    test = {"name": "f.client", "command": command, "begin_ns": begin_ns, "stop_ns": stop_ns}
    words = ["--epoch-ns", str(time.time_ns()), json.dumps(test)]
    code = "import sys; from fairc.cell.timed import main; main()"
    return completed([sys.executable, "-c", code, *words], cwd=folder)


def test_it_starts_when_it_is_due(tmp_path: Path) -> None:
    due_ns = time.time_ns() + 3 * NS
    assert timed(tmp_path, 3 * NS).returncode == 0
    assert int((tmp_path / "f.client.json").read_text()) >= due_ns


@pytest.mark.parametrize("begin_ns", [-NS, 0])
def test_it_does_not_start_late(tmp_path: Path, begin_ns: int) -> None:
    ended = timed(tmp_path, begin_ns)
    assert ended.returncode == 1 and "this machine is too slow" in ended.stderr
    assert not (tmp_path / "f.client.json").exists()


def test_what_fails_lets_others_go_on(tmp_path: Path) -> None:
    failing = ("sh", "-c", "echo {}; exit 1")
    assert timed(tmp_path, 2 * NS, command=failing).returncode == 0
    assert (tmp_path / "f.client.json").read_text() == "{}\n"


def test_it_is_stopped_when_it_is_due(tmp_path: Path) -> None:
    began = time.monotonic()
    assert timed(tmp_path, 2 * NS, 3 * NS, command=("sleep", "60")).returncode == 0
    assert 3 <= time.monotonic() - began < 30


def test_it_is_killed_with_what_it_started_where_it_does_not_stop(tmp_path: Path) -> None:
    """A shell that traps SIGTERM, and its child, which does too: both would go on writing."""
    deaf = "trap '' TERM; (while :; do date +%s%N >> child; sleep 0.1; done) & echo {}; wait"
    ended = timed(tmp_path, 2 * NS, 3 * NS, command=("sh", "-c", deaf))
    assert ended.returncode == 0
    remark = json.loads(ended.stdout)
    assert remark["event"] == "remark" and remark["t_ns"] >= 4 * NS
    assert remark["message"] == "it did not end within 1 s of SIGTERM, and was killed"
    assert (tmp_path / "f.client.json").read_text() == "{}\n"
    written = (tmp_path / "child").stat().st_size
    time.sleep(0.5)
    assert (tmp_path / "child").stat().st_size == written > 0


def test_it_ends_with_what_started_it_however_that_ends(tmp_path: Path) -> None:
    """A cell that fails kills its programs: what one of them has started must not go on sending."""
    command = ("sh", "-c", "exec sleep 60")
    test = {"name": "f.client", "command": command, "begin_ns": None, "stop_ns": None}
    code = "import sys; from fairc.cell.timed import main; main()"
    words = [sys.executable, "-c", code, "--epoch-ns", str(time.time_ns()), json.dumps(test)]
    companion = subprocess.Popen(words, cwd=tmp_path)
    children = Path(f"/proc/{companion.pid}/task/{companion.pid}/children")
    until = time.monotonic() + 30
    while not (started := children.read_text().split()) and time.monotonic() < until:
        time.sleep(0.05)
    (child,) = map(int, started)
    watched = os.pidfd_open(child)
    companion.kill()
    companion.wait()
    ready, _, _ = select.select([watched], [], [], 30)
    if not ready:
        signal.pidfd_send_signal(watched, signal.SIGKILL)
    os.close(watched)
    assert ready
