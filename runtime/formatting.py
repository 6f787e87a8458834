"""Numbers and lists as text: SI prefixes, significant digits, intervals; and text for Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from fairc.dsl.core.source import printable

MINUS = "\N{MINUS SIGN}"
INFINITE = "\N{INFINITY}"
# Lists of values that a sentence may carry before it says "and N more".
MAX_LISTED = 12
MAX_DECIMALS = 9
BAR_WIDTH = 24  # as scripts/progress has it


@dataclass(frozen=True, slots=True)
class Scale:
    """A unit to print values in: `value / factor` followed by `unit`."""

    factor: float
    unit: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number as it is printed, and its exact value (SI base unit) as in the tables."""

    text: str
    exact: str


Interval = tuple[Number, Number]
Cell = str | Number | Interval
"""A cell of a table."""

SHARE = "share"
"""The unit of what is printed in percent."""
_PREFIXED = {
    SHARE: ((0.01, "%"),),
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")),
}


def base_unit(unit: str) -> str:
    """Return the base unit of one that `scale_for` prints.

    >>> base_unit("Mbit/s"), base_unit("kbit/s^2"), base_unit("ms"), base_unit("pkt")
    ('bit/s', 'bit/s^2', 's', 'pkt')
    """
    if unit[1:].startswith("bit"):
        return unit[1:]
    return next((b for b, steps in _PREFIXED.items() if unit in {n for _, n in steps}), unit)


def scale_for(unit: str, values: Iterable[float]) -> Scale:
    """Return the scale that prints the largest of the values with one to three integer digits; from
    0.1 Mbit/s on, Mbit/s.

    unit: SI base unit (`bit/s`, `B`, `s`, `1`, ...), or a product of some (`bit/s^2`); a unit
    without prefixes stays as it is.

    >>> scale_for("bit/s^2", [85_839_066.0])
    Scale(factor=1000000.0, unit='Mbit/s^2')
    >>> quantity(0.0015, SHARE)
    '0.15 %'
    """
    steps = _PREFIXED.get(unit)
    if steps is None and unit.startswith("bit"):
        steps = tuple((factor, name.replace("bit/s", unit)) for factor, name in _PREFIXED["bit/s"])
    if steps is None:
        return Scale(1.0, "" if unit == "1" else unit)
    largest = max((abs(v) for v in values if math.isfinite(v)), default=1.0)
    # Next to a link of 1 Mbit/s, 0.61 Mbit/s is easier to read than 610 kbit/s.
    for factor, name in steps:
        if largest >= factor * (0.1 if name == "Mbit/s" else 1.0):
            return Scale(factor, name)
    return Scale(*steps[-1])


def decimals_for(values: Iterable[float], significant: int = 3) -> int:
    """Return the decimals that show the largest of the values with `significant` digits."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if largest == 0:
        return 0
    return min(MAX_DECIMALS, max(0, significant - 1 - math.floor(math.log10(largest))))


def number(value: float, decimals: int) -> str:
    """Return a number with fixed decimals and a true minus sign; never `-0`.

    One that is small beside the others of its column has more decimals: two significant digits.

    >>> number(12.34, 1), number(0.009, 1), number(0.0, 1)
    ('12.3', '0.0090', '0.0')
    """
    if 0 < abs(value) < 1:
        needed = 1 - math.floor(math.log10(abs(value)))
        decimals = max(decimals, needed) if needed <= MAX_DECIMALS else decimals
    text = f"{value:.{decimals}f}"
    if float(text) == 0:
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def scaled(value: float, scale: Scale, decimals: int) -> Number:
    """Return a number as it is printed in a scale, and exactly."""
    return Number(number(value / scale.factor, decimals), repr(value))


def interval(
    low: float | None, high: float | None, scale: Scale, decimals: int
) -> Interval | Literal[""]:
    """Return both ends of an interval as they are printed in a scale; empty without one."""
    if low is None or high is None:
        return ""
    return scaled(low, scale, decimals), scaled(high, scale, decimals)


def count(n: int) -> Number:
    """Return how many of something there are."""
    return Number(str(n), str(n))


def quantity(value: float, unit: str, significant: int = 3) -> str:
    """Return one value with the prefix that suits it and no trailing zeros: `12.5 kB`."""
    scale = scale_for(unit, [value])
    shown = value / scale.factor
    text = number(shown, decimals_for([shown], significant))
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return f"{text} {scale.unit}".rstrip()


def listed(items: Sequence[str], limit: int = MAX_LISTED) -> str:
    """Return `a, b and c`, or `a, b, ... and N more` beyond the limit."""
    if len(items) > limit:
        return f"{', '.join(items[:limit])} and {len(items) - limit} more"
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def between(numbers: Sequence[int]) -> str:
    """Return `6`, or `6 to 10`, of numbers in ascending order."""
    return str(numbers[0]) if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"


def counted(count: int, noun: str) -> str:
    """Return `1 cell`, `2 cells`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def ordinal(percentile: float) -> str:
    """Return what a percentile is called.

    >>> ordinal(91), ordinal(11), ordinal(99.9)
    ('91st percentile', '11th percentile', '99.9th percentile')
    """
    text = f"{percentile:g}"
    last = text[-1] if "." not in text and text[-2:] not in ("11", "12", "13") else ""
    return f"{text}{({'1': 'st', '2': 'nd', '3': 'rd'}).get(last, 'th')} percentile"


def count_head(names: Iterable[str]) -> str:
    """Return the head of the column that counts values: `n`, or `values` next to a swept name `n`.

    >>> count_head(["loss"]), count_head(["loss", "n"])
    ('n', 'values')
    """
    return "values" if "n" in names else "n"


def one_line(text: str) -> str:
    """Return text fit for a figure or a table cell: no line ends, no control characters."""
    return printable(" ".join(text.split()), "\N{REPLACEMENT CHARACTER}")


def bar(name: str, share: float, what: str) -> str:
    """Return a line that says how much of something long is done: `share`, at most 1.

    >>> bar("kernel", 0.5, "compiling")
    'kernel               [############............]  50 % compiling'
    """
    filled = int(BAR_WIDTH * min(share, 1.0))
    drawn = "#" * filled + "." * (BAR_WIDTH - filled)
    return f"{name:<20} [{drawn}] {int(100 * share):3} % {what}".rstrip()


def escape_markdown(text: str) -> str:
    """Return text that Markdown shows as it is, also inside a table."""
    escaped = "".join("\\" + c if c in r"\`*_[]|#!~" else c for c in one_line(text))
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def size(count: float) -> str:
    """Format a number of bytes.

    >>> size(999), size(12_345_678)
    ('999 B', '12.3 MB')
    """
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"


_SIGNED = re.compile(r"[+-]?[0-9]+([.][0-9]*)?([eE][+-]?[0-9]+)?[A-Za-z%/]*")


def no_formula(cell: str | None) -> str | None:
    """Return a text for a CSV file, prefixed with a quote where a spreadsheet would take it for a
    formula.
    """
    if not cell or cell[0] not in "=+-@\t\r" or _SIGNED.fullmatch(cell):
        return cell
    return f"'{cell}"
