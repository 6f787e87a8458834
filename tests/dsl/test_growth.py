"""What is done grows as a file does: twice the flows, lists or claims are at most twice the calls."""

from __future__ import annotations

import cProfile
from collections.abc import Callable

import pytest
from large_files import LARGE

from fairc import compiler
from fairc.cli.check import compiled
from fairc.compiler.estimate import Estimate
from fairc.dsl import CompileError, Source, load
from fairc.dsl.text.layout import layout

COUNT = 40
"""A file with this many is compared with files of twice and four times as many."""

MOST = 1.05
"""How much more the second doubling may add than twice what the first one adds; one call for each pair adds more."""


def check(text: str) -> None:
    compiled(*load(Source("large.fexp", text)))


def plan(text: str) -> None:
    experiment, _ = load(Source("large.fexp", text))
    if experiment is not None:
        compilation = compiler.compile(experiment)
        estimate = Estimate(2)
        for cell, repetitions in compilation.representatives(500):
            estimate.add(cell, repetitions)


def fmt(text: str) -> None:
    layout(Source("large.fexp", text))


def calls(action: Callable[[str], None], text: str) -> int:
    profile = cProfile.Profile()
    profile.enable()
    try:
        action(text)
    except CompileError:
        pass
    finally:
        profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


@pytest.mark.parametrize("action", [check, plan, fmt])
@pytest.mark.parametrize("name", LARGE)
def test_calls_grow_as_the_file_does(name: str, action: Callable[[str], None]) -> None:
    action(LARGE[name](2))  # what is loaded once
    one, two, four = (calls(action, LARGE[name](COUNT * factor)) for factor in (1, 2, 4))
    assert four - two <= MOST * 2 * (two - one) + 1000, f"{one}, {two}, {four} calls"
