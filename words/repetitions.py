"""The kind of `repeat`: a number, or a range of numbers."""

from __future__ import annotations

from dataclasses import dataclass

from fairc.dsl.core.kinds import Quantities, refuse
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import ListValue, Quantity, Value

MOST = 10**6
_A_NUMBER = Quantities((NUMBER,), low=1, high=MOST, whole=True)


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
