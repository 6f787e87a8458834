"""Recordings of what a link did: a table with times and columns of rates, delays, losses.

    # of one dish, 2026
    time [s], rate [bit/s], delay [ms], loss [%]
    0,        151e6,        31.2,       0.1

The first row is the start of the cell. The last one lasts as long as the one before it.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Literal

from fairc.dsl import model
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import RATE, SHARE, TIME, Dimension
from fairc.dsl.core.values import Quantity, Text

from .tables import EXACT, MISSING, Column, ColumnName, Table, Times, number

STEP_LIMIT = 100_000
LEAST = {RATE: "0bit/s", TIME: "0ms", SHARE: "100%"}
"""The meanings of a missing value, for messages."""

FORM = "a header such as `time [s], rate [Mbit/s]`, then a row of numbers per line"


@dataclass(frozen=True, slots=True)
class Reading:
    """The way to read a recording.

    what: of a link follows it. column, time: which columns; None: those of the names `what` and
    `time`. unit: of the values; None: as the file has it. missing: what a missing value is; `hold`:
    that of the row before, or on the line between its neighbours. scale: of all values. every_ns:
    bins; None: as it is. is_linear: as lines between the rows, or as steps. repeats: again and
    again, or once.
    """

    what: str
    dimension: Dimension
    column: ColumnName | None = None
    time: ColumnName | None = None
    unit: Quantity | None = None
    missing: Quantity | Literal["hold"] | None = None
    scale: Fraction = Fraction(1)
    every_ns: int | None = None
    is_linear: bool = False
    repeats: bool = True


def is_table(data: bytes) -> bool:
    """Whether a trace is a table, and no list of times."""
    lines = (line.strip() for line in data.removeprefix(BOM_UTF8).splitlines())
    first = next((line for line in lines if line), b"")
    return re.fullmatch(rb"[+-]?[0-9.]*", first) is None


def table_of(name: Text, data: bytes) -> Table:
    """Return the table that a recording is. Raises CompileError."""
    return Table(name, data, noun="recording", word="trace", form=FORM, code="bad-trace")


def recording(
    data: bytes, file: model.Input, name: Text, reading: Reading, span: Span
) -> model.Recording:
    """Return a column of a recording, in bit/s, ns or as a probability.

    Raises CompileError for whatever is wrong, with its place in the file.
    """
    table = table_of(name, data)
    averaged = reading.is_linear or reading.every_ns is not None
    if not averaged and len(table.rows) > STEP_LIMIT:
        fail(
            "too-many",
            f"this makes about {len(table.rows)} changes; the limit is {STEP_LIMIT}",
            span,
            help="average it over bins: `every: 100ms`",
        )
    times, values = columns(table, reading)
    per_unit = {TIME: 10**9}.get(reading.dimension, 1)
    segments = _segments(times, [value * per_unit for value in values], reading)
    length_ns = segments[-1][1]
    if averaged:
        every_ns = reading.every_ns or 100_000_000
        bins = -(-length_ns // every_ns)
        if bins > STEP_LIMIT:
            fail("too-many", f"this makes {bins} bins; the limit is {STEP_LIMIT}", span)
        steps = _means(segments, every_ns)
    else:
        steps = [(begin_ns, float(value)) for begin_ns, _, value, _ in segments]
    area = sum(float(a + b) / 2 * (end - begin) for begin, end, a, b in segments)
    return model.Recording(
        file=file,
        span=span,
        steps=tuple(_without_equals(steps)),
        length_ns=length_ns,
        period_ns=length_ns if reading.repeats else None,
        mean=area / length_ns,
    )


def columns(table: Table, reading: Reading) -> tuple[list[int], list[Decimal]]:
    """Return the times of a recording, ns after its first row, and the values of its column in base
    units. Raises CompileError for all that is wrong with it.
    """
    times = Times(table, reading.time)
    column = _column(table, reading)
    factor = None
    if column is not None:
        wanted = f"`unit: 1{_UNITS[reading.dimension]}`"
        factor = table.factor(column, (reading.dimension,), wanted, reading.unit)
    if len(table.rows) < 2:
        row = table.rows[0] if table.rows else table.top
        table.fault(row, "is the last: a recording has two rows or more")
    at_ns, values = list[int](), list[Decimal | None]()
    first_s: Decimal | None = None
    for row in table.rows:
        cells = table.cells(row)
        if cells is None:
            continue
        if times.column is not None:
            at_s = times.of(cells[times.column.place], row)
            if at_s is not None:
                first_s = at_s if first_s is None else first_s
                ns = int(EXACT.multiply(EXACT.subtract(at_s, first_s), 10**9).to_integral_value())
                if at_ns and ns < at_ns[-1]:
                    table.fault(row, "goes back in time", kind="order")
                elif at_ns and ns == at_ns[-1]:
                    table.fault(row, "has the time of the one before", kind="same")
                at_ns.append(ns)
        if column is not None:
            values.append(_value(table, row, column, cells[column.place], reading, factor))
    table.finish()
    scale = _decimal(reading.scale)
    return at_ns, [EXACT.multiply(value, scale) for value in _filled(at_ns, values, reading)]


_UNITS = {RATE: "Mbit/s", TIME: "ms", SHARE: "%"}


def _column(table: Table, reading: Reading) -> Column | None:
    """Return the column of the values; None, and a fault, if there is none."""
    if reading.column is not None:
        return table.find(reading.column, dimension=reading.dimension)
    named = [c for c in table.columns if c.stem.casefold() == reading.what]
    if len(named) == 1:
        return named[0]
    if not table.has_header and len(table.columns) == 2:
        return table.columns[1]
    if named:
        return table.find(ColumnName(reading.what, "", table.name.span))
    table.no_column(reading.what, "column", reading.dimension)
    return None


def _value(
    table: Table,
    row: int,
    column: Column,
    text: str,
    reading: Reading,
    factor: Fraction | None,
) -> Decimal | None:
    """Return the value of a row in base units; None if it is missing, or wrong."""
    found = number(text)
    if found is None:
        missing = text.casefold() in MISSING
        if missing and isinstance(reading.missing, Quantity):
            return _decimal(reading.missing.number)
        if missing and reading.missing == "hold":
            if row == table.rows[0]:
                table.fault(
                    row, f"has no value in `{column.label}`, and there is none before to hold"
                )
            return None
        table.fault(
            row,
            f"has `{text[:40]}` in `{column.label}`, which is no number",
            f"`missing: hold` (as the row before) or `missing: {LEAST[reading.dimension]}`"
            if missing
            else "",
            kind="missing" if missing else "number",
        )
        return None
    if found < 0:
        table.fault(row, f"has a negative value in `{column.label}`", kind="negative")
    if factor is not None:
        found = EXACT.multiply(found, _decimal(factor))
        if reading.dimension == SHARE and found * _decimal(reading.scale) > 1:
            table.fault(row, f"has more than 100 % in `{column.label}`", kind="share")
    return found


def _filled(
    times: Sequence[int], values: Sequence[Decimal | None], reading: Reading
) -> list[Decimal]:
    """Return values without gaps: the one before goes on, or a line leads over the gap."""
    known = [n for n, value in enumerate(values) if value is not None]
    found: list[Decimal] = []
    for value in values:
        before = found[-1] if found else Decimal(0)
        found.append(before if value is None else value)
    if not reading.is_linear:
        return found
    for a, b in pairwise(known):
        rise = EXACT.divide(found[b] - found[a], Decimal(times[b] - times[a]))
        for n in range(a + 1, b):
            found[n] = EXACT.add(found[a], EXACT.multiply(rise, Decimal(times[n] - times[a])))
    return found


def _decimal(value: Fraction) -> Decimal:
    return EXACT.divide(Decimal(value.numerator), Decimal(value.denominator))


Segment = tuple[int, int, Decimal, Decimal]
"""From, to, ns; the values at both ends."""


def _segments(times: list[int], values: list[Decimal], reading: Reading) -> list[Segment]:
    """Return the course between the rows."""
    ends = [*times[1:], 2 * times[-1] - times[-2]]
    after = [*values[1:], values[0] if reading.repeats else values[-1]]
    if not reading.is_linear:
        after = values
    return list(zip(times, ends, values, after, strict=True))


def _means(segments: Sequence[Segment], every_ns: int) -> list[tuple[int, float]]:
    """Return the mean of each bin; the last one ends with the recording."""
    end_ns = segments[-1][1]
    areas = [0.0] * -(-end_ns // every_ns)
    for begin, end, a, b in segments:
        slope = float(b - a) / (end - begin)
        for place in range(begin // every_ns, -(-end // every_ns)):
            left, right = max(begin, place * every_ns), min(end, (place + 1) * every_ns)
            middle = float(a) + slope * ((left + right) / 2 - begin)
            areas[place] += middle * (right - left)
    return [
        (place * every_ns, area / (min(end_ns, (place + 1) * every_ns) - place * every_ns))
        for place, area in enumerate(areas)
    ]


def _without_equals(steps: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return steps without those that change nothing."""
    kept = [steps[0]]
    for step in steps[1:]:
        if step[1] != kept[-1][1]:
            kept.append(step)
    return kept


__all__ = ["Reading", "is_table", "recording", "table_of"]
