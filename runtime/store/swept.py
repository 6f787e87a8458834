"""Swept values in tables: as the plan writes them, and as numbers in base units with their
units.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from fairc.dsl.core.units import NUMBER, UNITS, in_si
from fairc.runtime.measurement.schema import Column

Part = Literal["text", "value", "unit"]

PARTS: Mapping[Part, tuple[str, str]] = {
    "text": ("", "VARCHAR"),
    "value": ("_value", "DOUBLE"),
    "unit": ("_unit", "VARCHAR"),
}
"""The columns that a swept name adds to a table: their suffixes and types."""

_QUANTITY = re.compile(
    r"(-?[0-9]{1,100}(?:\.[0-9]{1,100})?)([A-Za-z%][A-Za-z/%]*|/s)?(?:/([1-9][0-9]{0,99}))?"
)
"""A plan of the language has no longer number; a float holds these."""


@dataclass(frozen=True, slots=True)
class SweptColumn:
    """A column that a swept name adds to a table."""

    column: Column
    axis: str
    part: Part

    def of(self, text: str | None) -> str | float | None:
        """Return the column's value for a value as in a plan; None for null."""
        if text is None or self.part == "text":
            return text
        number, unit = quantity(text) or (None, None)
        return number if self.part == "value" else unit


def columns(axes: Sequence[str], taken: Iterable[str]) -> tuple[SweptColumn, ...]:
    """Return the columns of swept names, each name's three together, in file order.

    taken: names that a table has already. Columns are compared without regard to case; a name that
    is taken gets a trailing `_`, and names as they are come before those with a suffix of `PARTS`.
    """
    used = {name.casefold() for name in taken}
    names: dict[tuple[str, Part], str] = {}
    for part, (end, _) in PARTS.items():
        for axis in axes:
            name = axis + end
            while name.casefold() in used:
                name += "_"
            used.add(name.casefold())
            names[axis, part] = name
    return tuple(
        SweptColumn(Column(names[axis, part], type_, "", ""), axis, part)
        for axis in axes
        for part, (_, type_) in PARTS.items()
    )


def quantity(text: str) -> tuple[float, str] | None:
    """Return a swept value as a number in base units and its unit; None for a word.

    text: as in a plan. Sizes are in bytes; `1` is the unit of numbers and shares; what depends on
    the path keeps its own unit (`bdp`, `pkt`).

    >>> quantity("10Mbit/s"), quantity("0.5%"), quantity("0.25bdp"), quantity("1.5kB")
    ((10000000.0, 'bit/s'), (0.005, '1'), (0.25, 'bdp'), (1500.0, 'B'))
    >>> quantity("cubic"), quantity("4g"), quantity("1s/3")
    (None, None, (0.3333333333333333, 's'))
    """
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    number, name, divisor = Fraction(found[1]), found[2], int(found[3] or 1)
    if name is None:
        (value,), unit = in_si([number / divisor], NUMBER)
        return value, unit
    known = UNITS.get(name)
    if known is None:
        return None
    (value,), unit = in_si([number * known.factor / divisor], known.dimension)
    return value, unit
