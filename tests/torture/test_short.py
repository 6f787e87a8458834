"""The part of the campaign that belongs to `make test-rest`: each kind a few times, in a process that is
a campaign's worker.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from torture import tree
from torture.fault import Fault, Problem, Try
from torture.faults import FAULTS, documents, kills, privileged
from torture.sandbox import Sandbox, preload

SEED = 1
PROCESSES = 2  # of pytest, between which the many quick tries are shared


def parts() -> Iterator[tuple[Fault, range]]:
    """Yield what is tried: a kind of fault, and numbers."""
    for fault in FAULTS.values():
        shared = PROCESSES if fault.short > 1000 else 1
        for part in range(shared if fault.short else 0):
            yield fault, range(part, fault.short, shared)


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Have in this process what all tries begin with, so that their processes have it, too."""
    before = tempfile.tempdir
    tempfile.tempdir = str(tmp_path_factory.mktemp("torture"))
    preload()
    documents.finished()
    kills.reference("fake")
    yield
    tempfile.tempdir = before


def work(fault: Fault, numbers: range, folder: Path, found: Connection) -> None:
    """Try, in a process of its own: it becomes the parent of all orphans, and its children are
    looked for.
    """
    tree.adopt_orphans()
    tree.die_with_parent()
    tempfile.tempdir = str(folder)
    found.send([(n, fault.attempt(SEED, n)) for n in numbers])


@pytest.mark.usefixtures("ready")
@pytest.mark.parametrize(
    ("fault", "numbers"), [*parts()], ids=lambda each: getattr(each, "name", "part")
)
def test_a_part_of_make_torture(fault: Fault, numbers: range, tmp_path: Path) -> None:
    if lacking := fault.lacking():
        pytest.skip(f"{fault.name}: this machine lacks {lacking}")
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(fault, numbers, tmp_path, writing))
    process.start()
    writing.close()
    outcomes = reading.recv()  # raises EOFError when the process has died
    process.join()
    assert len(outcomes) == len(numbers) > 0
    assert [(n, outcome.problem) for n, outcome in outcomes if outcome.problem] == []


def test_a_check_that_fails_is_a_problem() -> None:
    def fails(_: Try) -> str:
        raise AssertionError("it is not well")

    found = Fault("kind.fails", "", fails).attempt(1, 0)
    assert found.ending == "check failed" and "it is not well" in found.problem


def _raises() -> None:
    raise RuntimeError("x")


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        (_raises, "traceback"),
        (lambda: os._exit(70), "internal error"),
        (lambda: print("\x1b[2J"), "control character"),
        (lambda: time.sleep(60), "hangs"),
        (lambda: os.kill(os.getpid(), 9), "status -9"),
    ],
)
def test_what_no_command_may_do_is_seen(
    tmp_path: Path, patch: Callable[[], None], problem: str
) -> None:
    running = Sandbox(tmp_path).fork("--version", patch=patch)
    with pytest.raises(Problem, match=problem):
        running.wait(5.0).require()


@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("true", ""),
        ("touch /etc/canary", "/etc/canary was written"),
        ("ip link add x0 type veth peer name x1", "is left"),
        ("ip link add x0 type veth peer name x1 netns 1", "of process 1 are others"),
    ],
)
def test_what_a_program_of_root_does_is_seen(tmp_path: Path, command: str, effect: str) -> None:
    if lacking := privileged.lacking():
        pytest.skip(f"this machine lacks {lacking}")
    before = privileged.parameters()
    assert privileged.start(Sandbox(tmp_path), command.split()).wait(60.0).status == 0
    with pytest.raises(Problem, match=effect) if effect else nullcontext():
        privileged.require_no_effects(tmp_path, before)


def test_what_is_left_is_seen(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    (sandbox.tmp / "fairc-x-1-1-1-x").mkdir()
    with pytest.raises(Problem, match="temporary files are left"):
        sandbox.require_nothing_left()


def test_only_processes_of_a_try_are_left(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as before:
        others = tree.descendants()  # a daemon that another test of this process started, too
        sandbox = Sandbox(tmp_path)
        sandbox.require_nothing_left()
        with subprocess.Popen(["sleep", "61"]) as own:
            found = tree.left(0.1, others)
            own.kill()
        before.kill()
    assert before.pid in others
    assert found == {own.pid: "sleep"}
