"""A kind of fault: a function that injects one into fairc, and says in a few words how that ended.

`@fault` registers it. Its docstring is the kind's row in docs/trust/reliability.md: the fault, and
after a colon the required behaviour.
"""

from __future__ import annotations

import os
import random
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import tree


class Problem(Exception):
    """What is wrong about how fairc answered a fault."""


def require(true: object, problem: str) -> None:
    """Raise Problem unless something is true."""
    if not true:
        raise Problem(problem)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say of every problem of a block where it arose."""
    try:
        yield
    except Problem as problem:
        raise Problem(f"{name}: {problem}") from None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try ended, in words that are counted; and its problem, if it has one."""

    ending: str
    problem: str = ""


@dataclass(slots=True)
class Try:
    """One try.

    rng: its random numbers. number: its number. folder: an empty one of its own. what: what was
    done, for the message of a problem. ending: of a try with a problem.
    """

    rng: random.Random
    number: int
    folder: Path
    what: str = ""
    ending: str = "problem"


Inject = Callable[[Try], str]


def nothing() -> str:
    """Lack nothing."""
    return ""


@dataclass(frozen=True, slots=True)
class Fault:
    """A kind of fault, `kind.variant`.

    inject: one try, which returns how it ended and raises Problem; equal (seed, number) give the
    same fault. summary: its row in docs/trust/reliability.md. lacking: what this machine lacks for
    it; empty: nothing. weight: its share of the time. short: how many tries are part of `make
    test`. wanted: how many are wanted on record. here: it starts no process and writes no file, so
    that no folder is made and no process is looked for, which takes longer than a short try.
    """

    name: str
    summary: str
    inject: Inject
    lacking: Callable[[], str] = nothing
    weight: float = 1.0
    short: int = 0
    wanted: int = 1000
    here: bool = False

    def attempt(self, seed: int, number: int) -> Outcome:
        """Try once, in a folder that goes; whatever is raised is a problem."""
        if self.here:
            return self._attempt(seed, number, Path(os.devnull))
        with tempfile.TemporaryDirectory(prefix="torture-", ignore_cleanup_errors=True) as folder:
            try:
                return self._attempt(seed, number, Path(folder))
            finally:
                tree.end_all()

    def _attempt(self, seed: int, number: int, folder: Path) -> Outcome:
        one = Try(random.Random(f"{self.name}/{seed}/{number}"), number, folder)
        try:
            return Outcome(self.inject(one))
        except Problem as problem:
            return Outcome(one.ending, f"{problem} ({one.what})" if one.what else str(problem))
        except Exception:  # noqa: BLE001  a check that failed, or a bug of the fault itself
            lines = traceback.format_exc().strip().splitlines()
            return Outcome("check failed", f"{lines[-1]} ({lines[-3].strip()})")


FAULTS: dict[str, Fault] = {}


def fault(
    name: str,
    *,
    lacking: Callable[[], str] = nothing,
    weight: float = 1.0,
    short: int = 0,
    wanted: int = 1000,
    here: bool = False,
) -> Callable[[Inject], Inject]:
    """Register a kind of fault."""

    def register(inject: Inject) -> Inject:
        assert name not in FAULTS
        summary = " ".join((inject.__doc__ or "").split())
        FAULTS[name] = Fault(name, summary, inject, lacking, weight, short, wanted, here)
        return inject

    return register
