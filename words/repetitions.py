"""`repeat`: a number of repetitions, or a range with interim analyses.

An interim analysis decides whether the values are precise enough. A range that begins and ends at
one of `INTERIM_RANKS` has them there and nowhere else, and its intervals use ranks designed for
group-sequential testing; any other range has more of them and uses a confidence sequence, which is
valid at all times (runtime/statistics/sequential.py has both).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairc.dsl.core.kinds import Quantities, refuse
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import ListValue, Quantity, Value

MOST = 10**6
_A_NUMBER = Quantities((NUMBER,), low=1, high=MOST, whole=True)

INTERIM_RANKS: Mapping[int, tuple[int, int]] = MappingProxyType(
    {8: (1, 8), 12: (2, 11), 20: (5, 16), 30: (9, 22)}
)
"""Repetitions -> the ranks, from 1, that enclose the median then.

The probability that any of the four intervals misses the median is 3.1 % at most (equality for
continuous distributions): tests/metrics/test_sequential.py enumerates it. Some of the four miss no
more often.
"""

LEAST = 8
"""The smallest number of values whose median has an interval that stays valid under repeated
analyses.
"""

STEP = 8
"""A range that is not made of `INTERIM_RANKS` has an interim analysis after every eighth more
repetitions, at least one.
"""


@dataclass(frozen=True, slots=True)
class Repeat:
    """From `least` to `most` repetitions; is_range: as many as needed, else exactly `most`."""

    least: int
    most: int
    is_range: bool = False


@dataclass(frozen=True)
class Repetitions:
    """The kind "a whole number, or a range of them such as `8..30`"."""

    phrase: str = "a whole number or a range such as `8..30`"

    def take(self, value: Value, use: str, at: Span | None = None) -> Repeat:
        """Return least and most.

        Raises CompileError unless the value is a number or a range, of at least 1.
        """
        if isinstance(value, ListValue) and value.items:
            first, last = value.items[0], value.items[-1]
            # The numbers of a range have its span; those of a list have spans of their own.
            if {first.span, last.span} == {value.span}:
                least, most = (_A_NUMBER.take(end, use, at).whole for end in (first, last))
                if most - least + 1 == len(value.items):
                    return Repeat(least, most, is_range=True)
        if not isinstance(value, Quantity):
            refuse(self, value, use, at)
        number = _A_NUMBER.take(value, use, at).whole
        return Repeat(number, number)


def has_ranks(least: int, most: int) -> bool:
    """Whether a range of repetitions has its interim analyses at those of `INTERIM_RANKS` alone.

    >>> has_ranks(8, 30), has_ranks(12, 20), has_ranks(8, 25)
    (True, True, False)
    """
    return least in INTERIM_RANKS and most in INTERIM_RANKS


def interim_analyses(least: int, most: int) -> tuple[int, ...]:
    """Return the numbers of repetitions at which there is an interim analysis, ascending; the last
    one is `most`.

    >>> interim_analyses(8, 30), interim_analyses(10, 15), interim_analyses(2, 4)
    ((8, 12, 20, 30), (10, 11, 12, 13, 14, 15), (4,))
    >>> interim_analyses(30, 60)
    (30, 33, 37, 41, 46, 51, 57, 60)
    """
    if has_ranks(least, most):
        return tuple(n for n in INTERIM_RANKS if least <= n <= most)
    found = [min(max(least, LEAST), most)]
    while found[-1] < most:
        found.append(min(found[-1] + max(1, found[-1] // STEP), most))
    return tuple(found)
