"""The part of the campaign that belongs to `make test`: each kind a few times, in a process that is a campaign's worker."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from torture import campaign, tree
from torture.every import STRATEGIES
from torture.sandbox import Sandbox, preload
from torture.strategy import Outcome, Strategy

SEED = 1
# More of the quick ones are several tests, so that both of pytest's processes have some.
PARTS = 4
SHORT = [each for each in STRATEGIES if each.short]


def tries(strategy: Strategy, part: int) -> range:
    """Return the numbers of a part of the short form."""
    return range(part, strategy.short, PARTS)


def work(name: str, part: int, folder: Path, found: Connection) -> None:
    """Try, in a process of its own: it becomes the parent of all orphans, and its children are looked for."""
    tree.adopt_orphans()
    tree.die_with_parent()
    tempfile.tempdir = str(folder)
    (strategy,) = (each for each in STRATEGIES if each.name == name)
    found.send([(n, campaign.one(strategy, SEED, n)) for n in tries(strategy, part)])


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("strategy", SHORT, ids=lambda each: each.name)
def test_a_part_of_make_torture(strategy: Strategy, part: int, tmp_path: Path) -> None:
    if not tries(strategy, part):
        return
    if lacking := strategy.lacking():
        pytest.skip(f"{strategy.name}: this machine lacks {lacking}")
    preload()
    context = multiprocessing.get_context("fork")
    reading, writing = context.Pipe(duplex=False)
    process = context.Process(target=work, args=(strategy.name, part, tmp_path, writing))
    process.start()
    writing.close()
    outcomes = reading.recv()  # raises EOFError when the process has died
    process.join()
    assert len(outcomes) == len(tries(strategy, part))
    assert [(n, outcome.problem) for n, outcome in outcomes if outcome.problem] == []


def test_names_are_unique() -> None:
    names = [each.name for each in STRATEGIES]
    assert len(names) == len(set(names))


def test_a_check_that_fails_is_a_problem() -> None:
    def fails(*_: object) -> Outcome:
        raise AssertionError("it is not well")

    found = campaign.one(Strategy("kind.fails", "", fails), 1, 0)
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
    assert problem in running.wait(5.0).problem()


def test_what_is_left_is_seen(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path)
    (sandbox.tmp / "fairc-x-1-1-1-x").mkdir()
    assert "temporary files are left" in sandbox.leftovers()
