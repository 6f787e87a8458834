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

Without a header the last of several columns has the shares. They are percentages where the last one
is 100, and parts of 1 where it is 1.

Source of the second form: Alizadeh et al., Data Center TCP, SIGCOMM 2010, section 2.2, whose
workloads are published so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import NoReturn

from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import DATA, PACKETS, RATE, SHARE, TIME, Dimension
from fairc.dsl.core.values import Quantity, Text
from fairc.dsl.model import Input
from fairc.dsl.model.workloads import Points

from .tables import Column, ColumnName, Table, number, unit

SIZE_LIMIT_BYTES = 16_000_000
POINT_LIMIT = 2000
"""The most points of a distribution in a plan, in every cell: twice the different values."""

SHARES = "cdf"
"""The column of a distribution function."""

DIMENSIONS = (TIME, DATA, PACKETS, RATE, SHARE)
FORM = "a header such as `size [kB]` or `size [kB], cdf [%]`, then one row of numbers per line"


@dataclass(frozen=True, slots=True)
class Sample:
    """A distribution as a file has it: its points, in base units of a dimension."""

    file: Input
    dimension: Dimension
    points: Points


_CONTENTS = Contents[Sample]()


def sample(name: Text, column: ColumnName | None = None, unit: Quantity | None = None) -> Sample:
    """Return what a file says. Raises CompileError for whatever is wrong, with its place there.

    column: that of the values. unit: what a 1 in it is. None: as the file says.
    """
    data = attached(name, SIZE_LIMIT_BYTES)

    def read(sha256: str) -> Sample:
        return _File(name, data, column, unit).read(Input(path=name.value, sha256=sha256))

    return _CONTENTS.of(name, data, read, column, unit)


class _File:
    """A file that is being read."""

    def __init__(
        self, name: Text, data: bytes, column: ColumnName | None, unit: Quantity | None
    ) -> None:
        self._name, self._wanted, self._given = name, column, unit
        self._table = Table(name, data, noun="file", word="empirical", form=FORM, code="bad-sample")

    def read(self, file: Input) -> Sample:
        """Return its distribution. Raises CompileError."""
        table, rows = self._table, self._table.rows
        if not rows:
            fail("bad-sample", "this file has no values", self._name.span, help=f"write {FORM}")
        shares = self._shares_column()
        column = self._values_column(shares)
        factor, dimension = self._unit(column)
        values, parts = list[Fraction](), list[Fraction]()
        for row in rows:
            cells = table.cells(row)
            if cells is None:
                continue
            for of, into in ((column, values), (shares, parts)):
                if of is not None:
                    into.append(self._number(cells[of.place], row, of))
        if shares is not None and parts:
            parts = self._shares(shares, parts)
        if shares is not None:
            for row, value, before in zip(rows[1:], values[1:], values, strict=False):
                if value < before:
                    table.fault(row, "goes back in its value: sort the rows", kind="order")
        table.finish()
        values = [value * factor for value in values]
        points = _steps(values) if shares is None else tuple(zip(values, parts, strict=True))
        if len(points) > POINT_LIMIT:
            self._too_many(
                f"this file has {len(points) // 2:,} different values; the limit is"
                f" {POINT_LIMIT // 2:,}"
                if shares is None
                else f"this file has {len(points):,} points; the limit is {POINT_LIMIT:,}"
            )
        return Sample(file, dimension, points)

    def _shares_column(self) -> Column | None:
        """Return the column of shares; None if each row is a value."""
        columns = self._table.columns
        if not self._table.has_header:
            return columns[-1] if len(columns) > 1 else None
        if len(columns) == 1:
            return None
        return next((c for c in columns if c.stem.casefold() == SHARES), None)

    def _values_column(self, shares: Column | None) -> Column | None:
        """Return the column of values; None, and a fault, if it is not clear which that is."""
        table = self._table
        if self._wanted is not None:
            return table.find(self._wanted)
        others = [c for c in table.columns if c is not shares]
        if len(others) == 1 or not table.has_header:
            return others[0]
        listed = ", ".join(c.label for c in table.columns)
        table.fault(
            table.top,
            f"has the columns {listed}: one of values, or values and `{SHARES}`",
            f'`column: "{others[0].label}"`' if others else "",
        )
        return None

    def _unit(self, column: Column | None) -> tuple[Fraction, Dimension]:
        """Return what one of a column's unit is, in base units, and of what."""
        if self._given is not None:
            return self._given.number, self._given.dimension
        if column is None:
            return Fraction(1), DATA
        factor = self._table.factor(column, DIMENSIONS, "`unit: 1kB`", None)
        found = unit(column.unit)
        return factor or Fraction(1), found.dimension if found else DATA

    def _number(self, text: str, row: int, column: Column) -> Fraction:
        found = number(text)
        if found is None or found < 0:
            self._table.fault(
                row, f"has `{text[:40]}`, which is no number from zero up", kind="number"
            )
        return Fraction(found if found is not None and found > 0 else Decimal(0))

    def _shares(self, column: Column, given: Sequence[Fraction]) -> list[Fraction]:
        """Return a column of shares as such, 0 to 1."""
        table = self._table
        whole = {"%": 100, "1": 1}.get("%" if unit(column.unit) == unit("%") else column.unit)
        if whole is None and not column.unit:
            whole = 1 if given[-1] <= 1 else 100
        if whole is None:
            table.fault(
                table.top, f"has the unit `{column.unit}` for `{SHARES}`: write `{SHARES} [%]`"
            )
            return list(given)
        found = [share / whole for share in given]
        for row, share, before in zip(table.rows, found, [Fraction(), *found], strict=False):
            if share < before:
                table.fault(
                    row, f"goes back in `{SHARES}`: a distribution function rises", kind="falls"
                )
            if share > 1:
                table.fault(row, f"has more than 100 % in `{SHARES}`", kind="share")
        if found[-1] < 1:
            table.fault(
                table.rows[-1],
                f"ends at {float(100 * found[-1]):g} % in `{SHARES}`, not at 100 %",
            )
        return found

    def _too_many(self, what: str) -> NoReturn:
        fail(
            "too-many",
            what,
            self._name.span,
            help=f"summarise it as a distribution function: `size [kB], {SHARES} [%]`",
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
