"""Supervised commands: they end with their parent and with their deadline, and can be found."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import completed, eventually

import fairc
from fairc.runtime.host import clean, watcher
from fairc.runtime.host.supervisor import (
    MARK,
    mark,
    namespace,
    owner_runs,
    start,
    started,
    temporary_prefix,
)

PARENT = """
import sys, threading, time
from fairc.runtime.host.supervisor import mark, start
# The thread that starts the command ends; the command must not end with it.
thread = threading.Thread(target=start, args=(["sh", "-c", "sleep 600 & sleep 600"],))
thread.start(); thread.join()
print(mark(), flush=True)
time.sleep(600)
"""


def running(mark: str) -> list[int]:
    """Return the processes with a mark that have not ended."""
    return [pid for pid in clean.marked(mark) if clean.alive(pid)]


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_the_status_is_the_commands(command: str, status: int) -> None:
    child = start(["sh", "-c", command])
    assert child.wait() == status
    assert not child.timed_out


def test_streams_pass_through() -> None:
    child = start(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.communicate(b"hello")[0] == b"hello"


def test_the_deadline_ends_the_whole_group() -> None:
    child = start(["sh", "-c", "sleep 600 & sleep 600"], deadline_s=0.2)
    child.wait()
    assert child.timed_out
    assert running(mark()) == []


def test_kill_ends_the_whole_group() -> None:
    child = start(["sh", "-c", "sleep 600 & sleep 600"])
    child.kill()
    child.wait()
    assert running(mark()) == []


def test_what_has_to_clean_up_is_asked_to_end_first(tmp_path: Path) -> None:
    program = "trap 'echo cleaned > said; exit' TERM; touch ready; sleep 600 & wait"
    for grace_s, said in ((60.0, True), (0.0, False)):
        child = start(["sh", "-c", program], cwd=tmp_path, grace_s=grace_s)
        eventually((tmp_path / "ready").exists)
        child.kill()
        child.wait()
        assert (tmp_path / "said").exists() == said
        assert running(mark()) == []
        for path in tmp_path.iterdir():
            path.unlink()


def test_what_does_not_end_in_its_grace_is_killed(tmp_path: Path) -> None:
    program = "trap '' TERM; touch ready; sleep 600 & wait; wait"
    child = start(["sh", "-c", program], cwd=tmp_path, grace_s=0.05)
    eventually((tmp_path / "ready").exists)
    child.kill()
    child.wait()
    assert running(mark()) == []


def test_it_dies_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    theirs = parent.stdout.readline().strip()
    eventually(lambda: len(running(theirs)) >= 3)  # watcher and two sleeps, at least
    parent.kill()
    parent.communicate()
    eventually(lambda: running(theirs) == [])


def test_no_such_command() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        start(["no-such-command"])


def test_orphans_are_found_and_others_are_left_alone(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    theirs = f"{gone.pid}:{started(gone.pid) or 0}:{namespace()}"
    gone.wait()
    orphan = subprocess.Popen(["sleep", "600"], env={**os.environ, "FAIRC_RUN": theirs})
    ours = subprocess.Popen(["sleep", "600"], env={**os.environ, "FAIRC_RUN": mark()})
    try:
        eventually(lambda: orphan.pid in clean.orphans())
        assert ours.pid not in clean.orphans()
        assert any(str(orphan.pid) in words for words in clean.end_orphans())
        assert orphan.wait() == -signal.SIGKILL
        assert ours.poll() is None
    finally:
        for process in (orphan, ours):
            process.kill()
            process.wait()


def test_what_runs_in_a_container_is_no_orphan(tmp_path: Path) -> None:
    """Its mark names a process by a number that is another's, or nobody's, out here."""
    theirs = f"999999999:1:{namespace() + 1}"
    process = subprocess.Popen(["sleep", "600"], env={**os.environ, "FAIRC_RUN": theirs})
    folder = tmp_path / f"fairc-vm-{theirs.replace(':', '-')}-abc"
    folder.mkdir()
    try:
        eventually(lambda: process.pid in clean.marked(theirs))
        assert process.pid not in clean.orphans()
        assert clean.remove_temporary(tmp_path) == []
    finally:
        process.kill()
        process.wait()


def test_a_mark_tells_a_container_from_its_host() -> None:
    command = "from fairc.runtime.host.supervisor import mark; print(mark())"
    container = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    inside = completed([*container, sys.executable, "-c", command], check=True).stdout
    pid, _, where = inside.strip().split(":")
    assert pid == "1" and where != mark().split(":")[2]
    assert owner_runs(inside.strip())


def test_temporary_folders_of_dead_runs_are_removed(tmp_path: Path) -> None:
    ours = tmp_path / f"{temporary_prefix('vm')}abc"
    dead = tmp_path / f"fairc-vm-999999999-1-{namespace()}-abc"
    notes = tmp_path / "fairc-notes"
    for folder in (ours, dead, notes):
        folder.mkdir()
    assert clean.remove_temporary(tmp_path) == [f"temporary folder {dead}"]
    assert ours.is_dir() and notes.is_dir()


def test_each_temporary_folder_is_found_again_by_its_name() -> None:
    """Of a killed process, whose folder nothing else removes."""
    root = Path(fairc.__file__).parent
    nameless = []
    for path in sorted([*root.glob("cli/*.py"), *root.glob("runtime/*/*.py")]):
        for call in ast.walk(ast.parse(path.read_text())):
            made = isinstance(call, ast.Call) and ast.unparse(call.func)
            if made in ("tempfile.TemporaryDirectory", "tempfile.mkdtemp"):
                assert isinstance(call, ast.Call)
                given = {word.arg: ast.unparse(word.value) for word in call.keywords}
                # One beside a file of the user's choice has its name.
                if "prefix" not in given.get("prefix", "") and "dir" not in given:
                    nameless.append(f"{path.relative_to(root)}:{call.lineno}")
    assert nameless == []


@pytest.mark.parametrize("odd", ["1:\N{SUPERSCRIPT TWO}:", f"{'9' * 5000}:1:", "1:2", ""])
def test_a_mark_that_nobody_writes_is_not_ours(odd: str) -> None:
    """Root reads the environment of everybody's processes."""
    assert owner_runs(f"{odd}{namespace()}" if odd.endswith(":") else odd)
    sleeping = subprocess.Popen(["sleep", "600"], env={MARK: f"{odd}{namespace()}"})
    try:
        assert sleeping.pid not in clean.orphans()
    finally:
        sleeping.kill()
        sleeping.wait()


def test_a_group_of_which_nobody_has_collected_the_dead_does_not_live() -> None:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    assert watcher.lives(child.pid)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the table
    os.killpg(child.pid, 0)
    assert not watcher.lives(child.pid)
    child.wait()
    assert not watcher.lives(child.pid)
