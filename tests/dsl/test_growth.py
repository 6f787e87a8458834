"""What is done grows as a file does: twice the flows, lists or claims are at most twice the
calls.
"""

from __future__ import annotations

import cProfile
from collections.abc import Callable
from contextlib import suppress

import pytest
from large_files import LARGE
from representatives import few

from fairc import compiler
from fairc.cli.check import compiled
from fairc.compiler.estimate import Estimate
from fairc.dsl import CompileError, Source, checker, load
from fairc.dsl.core import registry
from fairc.dsl.text.layout import layout

COUNT = 40
"""A file with this many is compared with files of twice and four times as many."""

MOST = 1.05
"""How much more the second doubling may add than twice what the first one adds; one call for each
pair adds more.
"""


FEW = frozenset(
    {
        *("flows of a dumbbell", "flows around a bottleneck", "routers in a chain", "proxies"),
        *("excludes", "excludes of repetitions", "a grid"),
    }
)
"""What a limit keeps small where more than the calls of a line is inherent: every node has a route
to every host, and every `exclude` is decided for every value; of a grid, some configurations are
compiled.
"""


WRONG = {
    "brackets that open": frozenset({"unexpected-end", "syntax"}),
    "braces that open": frozenset({"unexpected-end", "syntax"}),
    "colons": frozenset({"syntax"}),
    "conflicts": frozenset({"conflicting-parameters"}),
    "digits": frozenset({"number-too-large"}),
    "ends that are not there": frozenset({"unknown-node"}),
    "flows of one name": frozenset({"duplicate-flow"}),
    "nothing but experiments": frozenset({"missing-key", "no-flow"}),
    "semicolons": frozenset({"syntax"}),
    "starts after the end": frozenset({"late-start"}),
    "syntax errors": frozenset({"syntax"}),
    "unknown CCAs": frozenset({"unknown-cca"}),
    "unknown flows": frozenset({"unknown-flow"}),
    "unknown keys": frozenset({"unknown-key"}),
    "unknown names": frozenset({"unknown-name"}),
    "users that are not there": frozenset({"unknown-users"}),
    "values of unknown names": frozenset({"unknown-name"}),
}


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


CASES = [
    (name, action)
    for name in LARGE
    for action in (check, plan, fmt)
    if action is fmt or name not in FEW
]


ALIKE = frozenset(
    {
        *("a range", "aligned tables", "dependent lists", "one long line", "tuples of an axis"),
        *("claims of a sweep", "files of users behind a token bucket"),
    }
)
"""Costly plans of which `make test` has one alike: of values of an axis, claims, flows of users."""

ENOUGH = [
    case
    for case in CASES
    if (case[1] is (check if case[0] in WRONG else plan) and case[0] not in ALIKE)
    or (case[1] is fmt and (case[0] in FEW or case in CASES[::4]))
]
"""A plan takes what a check does, where there is one, and layout all alike."""


@pytest.mark.parametrize(("name", "action"), few(CASES, *ENOUGH))
def test_calls_grow_as_the_file_does(
    name: str, action: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name_of_limit in ((registry, "COMPARED"), (checker, "MOST_FOUND")):
        monkeypatch.setattr(module, name_of_limit, COUNT // 4)  # what large files reach
    with suppress(CompileError):
        action(LARGE[name](2))  # what is loaded once
    one, two, four = (calls(action, LARGE[name](COUNT * factor)) for factor in (1, 2, 4))
    assert four - two <= MOST * 2 * (two - one) + 1000, f"{one}, {two}, {four} calls"


@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_is_legal_or_said_to_be_wrong(name: str) -> None:
    """The files of this test are what their names say: none is refused for a mistake of the test's
    own.
    """
    found = load(Source("large.fexp", LARGE[name](COUNT)))[1].errors
    assert {diagnostic.code for diagnostic in found} <= WRONG.get(name, frozenset())
