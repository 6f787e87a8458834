"""`rows("flows.csv")`: the rows of a file, as a list of tuples.

A header gives each column a unit, or none:

    i, size [kB], start [s]
    1, 10,        1
    2, 1000,      1.5

A column without a unit, and all columns of a file without a header, have plain numbers.
"""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl.core.attachments import Contents, attached
from fairc.dsl.core.kinds import Texts
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, Dimension
from fairc.dsl.core.values import Argument, ListValue, Quantity, Text, TupleValue, Value

from .tables import Column, Table, number, unit

SIZE_LIMIT_BYTES = 16_000_000
ROWS_LIMIT = 100_000
FORM = "a header such as `size [kB], start [s]`, then one row of numbers per line"

Row = tuple[tuple[Fraction, Dimension], ...]

_CONTENTS = Contents[tuple[Row, ...]]()


def rows(arguments: tuple[Argument, ...], span: Span) -> Value:
    """Return a tuple for each row of a file. Raises CompileError for whatever is wrong in it."""
    if len(arguments) != 1 or arguments[0].key is not None:
        fail(
            "missing-argument" if not arguments else "too-many-arguments",
            "`rows` takes one file",
            span,
            help='write `rows("flows.csv")`: a file in the folder of the experiment',
        )
    name = Texts().take(arguments[0].value, "the file of `rows`")
    data = attached(name, SIZE_LIMIT_BYTES)
    found = _CONTENTS.of(name, data, lambda _: _read(name, data))
    made = (tuple(Quantity(each, of, span) for each, of in row) for row in found)
    return ListValue(tuple(TupleValue(row, span) for row in made), span)


def _read(name: Text, data: bytes) -> tuple[Row, ...]:
    table = Table(
        name,
        data,
        noun="file",
        word="rows",
        form=FORM,
        code="bad-rows",
        most=ROWS_LIMIT,
        instead="`empirical` and `requests` take many more, as a distribution",
    )
    if not table.rows:
        fail("bad-rows", "this file has no rows", name.span, help=f"write {FORM}")
    units = [_unit(table, column) for column in table.columns]
    found = list[Row]()
    for line in table.rows:
        values = list[tuple[Fraction, Dimension]]()
        for text, (factor, dimension) in zip(table.cells(line) or (), units, strict=False):
            plain = number(text)
            if plain is None:
                table.fault(line, f"has `{text[:40]}`, which is no number", kind="number")
            else:
                values.append((Fraction(plain) * factor, dimension))
        found.append(tuple(values))
    table.finish()
    return tuple(found)


def _unit(table: Table, column: Column) -> tuple[Fraction, Dimension]:
    """Return what a 1 in a column is; without a unit a plain number."""
    known = unit(column.unit)
    if known is not None:
        return known.factor, known.dimension
    if column.unit not in ("", "1"):
        table.fault(table.top, f"has the unit `{column.unit}` for `{column.label}`, which is none")
    return Fraction(1), NUMBER
