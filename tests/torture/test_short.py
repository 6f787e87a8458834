"""The part of the campaign that belongs to `make test`: each kind a few times, in a process that is a campaign's worker."""

from __future__ import annotations

import multiprocessing

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


def work(
    name: str, part: int, found: multiprocessing.SimpleQueue[list[tuple[int, Outcome]]]
) -> None:
    """Try, in a process of its own: it becomes the parent of all orphans, and its children are looked for."""
    tree.adopt_orphans()
    tree.die_with_parent()
    (strategy,) = (each for each in STRATEGIES if each.name == name)
    found.put([(n, campaign.one(strategy, SEED, n)) for n in tries(strategy, part)])


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("strategy", SHORT, ids=lambda each: each.name)
def test_a_part_of_make_torture(strategy: Strategy, part: int) -> None:
    if not tries(strategy, part):
        return
    if lacking := strategy.lacking():
        pytest.skip(f"{strategy.name}: this machine lacks {lacking}")
    preload()
    context = multiprocessing.get_context("fork")
    found = context.SimpleQueue()
    process = context.Process(target=work, args=(strategy.name, part, found))
    process.start()
    outcomes = found.get()
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


@pytest.mark.parametrize(
    ("patch", "problem"),
    [
        ("raise RuntimeError('x')", "traceback"),
        ("import os; os._exit(70)", "internal error"),
        ("print('\\x1b[2J')", "control character"),
        ("import time; time.sleep(60)", "hangs"),
        ("import os; os.kill(os.getpid(), 9)", "status -9"),
    ],
)
def test_what_no_command_may_do_is_seen(tmp_path: object, patch: str, problem: str) -> None:
    sandbox = Sandbox(tmp_path)  # type: ignore[arg-type]
    running = sandbox.fork("--version", patch=lambda: exec(patch, {}))
    assert problem in running.wait(5.0).problem()


def test_what_is_left_is_seen(tmp_path: object) -> None:
    sandbox = Sandbox(tmp_path)  # type: ignore[arg-type]
    (sandbox.tmp / "fairc-x-1-1-1-x").mkdir()
    assert "temporary files are left" in sandbox.leftovers()
