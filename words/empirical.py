"""`empirical("sizes.csv")`: a distribution from a file: values, or a distribution function.

One column is a list of values, each as likely as any other, in any order:

    size [kB]
    12.5
    3

Two columns are points of a distribution function, ascending, between which it is a straight line;
no value is below the first one, which has its share, and the last one has 100 %:

    size [B], cdf [%]
    1000,     20
    50000,    100

Source of the second form: Alizadeh et al., Data Center TCP, SIGCOMM 2010, section 2.2, whose
workloads are published so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import NUMBER, SLIPS, UNITS, Dimension
from fairc.dsl.core.values import Text
from fairc.dsl.model import Input
from fairc.dsl.model.workloads import Points

SIZE_LIMIT_BYTES = 16_000_000
ROW_LIMIT = 500_000
POINT_LIMIT = 2000
"""How many points a plan holds of a distribution, in every cell: twice the different values."""

SHARES = "cdf"
"""The column of a distribution function."""

_NUMBER = re.compile(r"\+?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")
_COLUMN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*(?:\[([^\]]*)\])?")
_FORM = "a header such as `size [kB]` or `size [kB], cdf [%]`, then one row of numbers per line"


@dataclass(frozen=True, slots=True)
class Sample:
    """A distribution as a file has it: its points, in base units of a dimension."""

    file: Input
    dimension: Dimension
    points: Points


_CONTENTS = Contents[Sample]()


def sample(name: Text) -> Sample:
    """Return what a file says. Raises CompileError for whatever is wrong, with its place there."""
    data = attached(name, SIZE_LIMIT_BYTES)
    return _CONTENTS.of(
        name, data, lambda sha256: _File(name, data).read(Input(path=name.value, sha256=sha256))
    )


class _File:
    """A file that is being read."""

    def __init__(self, name: Text, data: bytes) -> None:
        self._name = name
        self._text = data.decode("utf-8-sig", "replace")
        self._lines = self._text.splitlines()

    def read(self, file: Input) -> Sample:
        """Return its distribution. Raises CompileError."""
        lines = self._lines
        header = next((n for n, text in enumerate(lines) if text.strip() and text[:1] != "#"), None)
        rows = [n for n in range((header or 0) + 1, len(lines)) if lines[n].strip()]
        if header is None or not rows:
            fail(
                "bad-sample",
                "this file has no values" if header is not None else "this file is empty",
                self._name.span,
                help=f"write {_FORM}",
            )
        if len(rows) > ROW_LIMIT:
            self._too_many(f"this file has {len(rows):,} rows; the limit is {ROW_LIMIT:,}")
        columns = [self._column(header, text) for text in lines[header].split(",")]
        names = [name for name, _ in columns]
        if len(columns) > 2 or (len(columns) == 2 and SHARES not in names) or names == [SHARES]:
            self._refuse(
                header,
                f"has the columns {', '.join(names)}: one of values, or values and `{SHARES}`",
            )
        if names == [SHARES, SHARES]:
            self._refuse(header, f"has two columns called `{SHARES}`")
        at = next(place for place, name in enumerate(names) if name != SHARES or len(names) == 1)
        factor, dimension = self._unit(header, *columns[at])
        table = [self._numbers(row, len(columns)) for row in rows]
        values = [Fraction(row[at]) * factor for row in table]
        if len(columns) == 1:
            points = _steps(values)
        else:
            shares = self._shares(header, columns[1 - at][1], rows, [row[1 - at] for row in table])
            points = self._function(rows, values, shares)
        if len(points) > POINT_LIMIT:
            self._too_many(
                f"this file has {len(points) // 2:,} different values; the limit is"
                f" {POINT_LIMIT // 2:,}"
                if len(columns) == 1
                else f"this file has {len(points):,} points; the limit is {POINT_LIMIT:,}"
            )
        return Sample(file, dimension, points)

    def _column(self, header: int, text: str) -> tuple[str, str]:
        """Return the name and the unit of a column."""
        match = _COLUMN.fullmatch(text.strip())
        if match is None:
            self._refuse(header, f"has no column name and unit in `{text.strip()[:40]}`")
        return match[1], (match[2] or "").strip()

    def _unit(self, header: int, column: str, text: str) -> tuple[Fraction, Dimension]:
        unit = UNITS.get(text)
        if unit is None or unit.dimension == NUMBER:
            meant = f", and `{SLIPS[text]}` is what `{text}` may mean" if text in SLIPS else ""
            what = f"the unit `{text}`" if text else "no unit"
            self._refuse(header, f"has {what} for `{column}`: write `{column} [kB]`{meant}")
        return Fraction(unit.factor), unit.dimension

    def _numbers(self, row: int, columns: int) -> list[Decimal]:
        cells = self._lines[row].split(",")
        if len(cells) != columns:
            self._refuse(row, f"has {len(cells)} columns, and the header has {columns}")
        for cell in cells:
            if not _NUMBER.fullmatch(cell.strip()):
                self._refuse(row, f"has `{cell.strip()[:40]}`, which is no number from zero up")
        return [Decimal(cell.strip()) for cell in cells]

    def _shares(
        self, header: int, unit: str, rows: Sequence[int], shares: Sequence[Decimal]
    ) -> list[Fraction]:
        """Return a column of shares as such, 0 to 1."""
        if unit not in ("%", "1"):
            self._refuse(header, f"has the unit `{unit}` for `{SHARES}`: write `{SHARES} [%]`")
        found = [Fraction(share) / (100 if unit == "%" else 1) for share in shares]
        for row, share, before in zip(rows, found, [Fraction(), *found], strict=False):
            if share < before:
                self._refuse(row, f"goes back in `{SHARES}`: a distribution function rises")
            if share > 1:
                self._refuse(row, f"has more than 100 % in `{SHARES}`")
        if found[-1] != 1:
            self._refuse(
                rows[-1], f"ends at {float(100 * found[-1]):g} % in `{SHARES}`, not at 100 %"
            )
        return found

    def _function(
        self, rows: Sequence[int], values: Sequence[Fraction], shares: Sequence[Fraction]
    ) -> Points:
        for row, value, before in zip(rows[1:], values[1:], values, strict=False):
            if value < before:
                self._refuse(row, "goes back in its value: sort the rows")
        return tuple(zip(values, shares, strict=True))

    def _too_many(self, what: str) -> NoReturn:
        fail(
            "too-many",
            what,
            self._name.span,
            help=f"summarise it as a distribution function: `size [kB], {SHARES} [%]`",
        )

    def _refuse(self, number: int, what: str) -> NoReturn:
        """Refuse a line, by its index."""
        source = Source(self._name.value, self._text)
        starts = [0, *(m.end() for m in re.finditer(r"\r\n|[\n\r]", source.text))]
        start = min(starts[min(number, len(starts) - 1)], len(source.text))
        end = start + len(source.line(source.position(start)[0]))
        raise CompileError(
            [
                Diagnostic(
                    "bad-sample",
                    f"line {number + 1} of the file {what}",
                    Span(source, start, max(end, start)),
                    labels=(Label(self._name.span, "the file is used here"),),
                    help=f"it has {_FORM}",
                )
            ]
        )


def _steps(values: Sequence[Fraction]) -> Points:
    """Return the distribution function of a list of values: a step at each."""
    points: list[tuple[Fraction, Fraction]] = []
    below = Fraction()
    for value, count in sorted(Counter(values).items()):
        upto = below + Fraction(count, len(values))
        points += [(value, below), (value, upto)]
        below = upto
    return tuple(points)
