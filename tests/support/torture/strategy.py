"""A kind of fault: a function from a seed and a number to how the try ended."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a try ended, in a few words that are counted, and what is wrong about it, if anything
    is.
    """

    ending: str
    problem: str = ""


def nothing() -> str:
    """Lack nothing."""
    return ""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A kind of fault.

    name: `kind.variant`. summary: the fault, and after a colon the required behaviour, for
    docs/trust/reliability.md.
    attempt: one try, from (seed, number, an empty folder of its own); equal arguments give the same
    fault.
    lacking: what this machine lacks for it; empty: nothing. weight: its share of the time. short:
    how many tries are part of `make test`. wanted: how many are wanted on record. here: it starts
    no process and writes no file, so no folder is made for it and no process is looked for, which
    takes longer than a short try.
    """

    name: str
    summary: str
    attempt: Callable[[int, int, Path], Outcome]
    lacking: Callable[[], str] = nothing
    weight: float = 1.0
    short: int = 0
    wanted: int = 1000
    here: bool = False


def dice(seed: int, number: int, name: str) -> random.Random:
    """Return the random numbers of a try."""
    return random.Random(f"{name}/{seed}/{number}")
