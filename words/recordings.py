"""Recordings of what a link did, as CSV: a column of times and columns of rates, delays, losses.

    # of one dish, 2026
    time [s], rate [bit/s], delay [ms], loss [%]
    0,        151e6,        31.2,       0.1

The first row is the start of the cell. The last one lasts as long as the one before it.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import NoReturn

from fairc.dsl import model
from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import NUMBER, RATE, SHARE, SLIPS, TIME, UNITS, Dimension
from fairc.dsl.core.values import Text

EXACT = Context(prec=40)
ROW_LIMIT = 500_000
STEP_LIMIT = 100_000

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
)
_COLUMN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*(?:\[([^\]]*)\])?")
_FORM = "a header such as `time [s], rate [Mbit/s]`, then a row of numbers per line"


@dataclass(frozen=True, slots=True)
class Reading:
    """How a recording is read: `column`, over bins of every_ns (None: as it is), as lines between
    the rows or as steps, again and again or once.
    """

    column: Text
    dimension: Dimension
    every_ns: int | None
    is_linear: bool
    repeats: bool


Refuse = Callable[[int, str], NoReturn]
"""Refuses a line, by its index, with what is wrong about it."""


def is_table(data: bytes) -> bool:
    """Whether a trace is a table with a header, and no list of times."""
    return re.match(rb"[ \t\r\n]*[#A-Za-z_]", data.removeprefix(BOM_UTF8)) is not None


def recording(
    data: bytes, file: model.Input, name: Text, reading: Reading, span: Span
) -> model.Recording:
    """Return a column of a recording, in bit/s, ns or as a probability.

    Raises CompileError for whatever is wrong, with its place in the file.
    """
    lines = data.decode("utf-8-sig", "replace").splitlines()

    def refuse(number: int, what: str) -> NoReturn:
        _refuse(data, number, name, f"line {number + 1} of the recording {what}")

    averaged = reading.is_linear or reading.every_ns is not None
    if not averaged and len(lines) > STEP_LIMIT:
        fail(
            "too-many",
            f"this makes about {len(lines)} changes; the limit is {STEP_LIMIT}",
            span,
            help="average it over bins: `every: 100ms`",
        )
    times, values = _columns(lines, name, reading, refuse)
    per_unit = {TIME: 10**9}.get(reading.dimension, 1)
    segments = _segments(times, [value * per_unit for value in values], reading)
    period_ns = segments[-1][1]
    if averaged:
        every_ns = reading.every_ns or 100_000_000
        bins = -(-period_ns // every_ns)
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
        period_ns=period_ns if reading.repeats else None,
        mean=area / period_ns,
    )


def _columns(
    lines: Sequence[str], name: Text, reading: Reading, refuse: Refuse
) -> tuple[list[int], list[Decimal]]:
    """Return the times of a recording, ns after its first row, and the values of its column."""
    header = next((n for n, line in enumerate(lines) if line.strip() and line[:1] != "#"), None)
    if header is None:
        fail("bad-trace", "this recording is empty", name.span, help=f"write {_FORM}")
    rows = [n for n in range(header + 1, len(lines)) if lines[n].strip()]
    if len(rows) > ROW_LIMIT:
        fail(
            "too-many", f"this recording has {len(rows)} rows; the limit is {ROW_LIMIT}", name.span
        )
    named: dict[str, tuple[int, str]] = {}
    for place, text in enumerate(lines[header].split(",")):
        match = _COLUMN.fullmatch(text.strip())
        if match is None:
            refuse(header, f"has no column name and unit in `{text.strip()[:40]}`")
        if match[1] in named:
            refuse(header, f"has two columns called `{match[1]}`")
        named[match[1]] = (place, (match[2] or "").strip())
    at, second = _unit(named, "time", TIME, header, refuse, name.span)
    wanted = reading.column
    where, unit = _unit(named, wanted.value, reading.dimension, header, refuse, wanted.span)
    if len(rows) < 2:
        refuse(rows[0] if rows else header, "is the last: a recording has two rows or more")
    times, values = list[int](), list[Decimal]()
    first: Decimal | None = None
    for row in rows:
        cells = lines[row].split(",")
        if len(cells) != len(named):
            refuse(row, f"has {len(cells)} columns, and the header has {len(named)}")
        time, value = (_number(cells[place], row, refuse) for place in (at, where))
        first = time if first is None else first
        ns = int(EXACT.multiply(EXACT.subtract(time, first), second).to_integral_value())
        if times and ns <= times[-1]:
            refuse(row, "goes back in time" if ns < times[-1] else "has the time of the one before")
        if value < 0:
            refuse(row, f"has a negative value in `{wanted.value}`")
        value = EXACT.multiply(value, unit)
        if reading.dimension == SHARE and value > 1:
            refuse(row, f"has more than 100 % in `{wanted.value}`")
        times.append(ns)
        values.append(value)
    return times, values


def _unit(
    named: dict[str, tuple[int, str]],
    column: str,
    dimension: Dimension,
    header: int,
    refuse: Refuse,
    at: Span,
) -> tuple[int, Decimal]:
    """Return the place of a column and the factor of its unit; times in ns."""
    if column not in named:
        near = suggest(column, named)
        fail(
            "bad-trace",
            f"this recording has no column `{column}`",
            at,
            note=f"did you mean `{near}`?" if near else "",
            help=f"its columns: {', '.join(named)}; `column:` takes another one",
        )
    place, text = named[column]
    unit = UNITS.get(text)
    if unit is not None and dimension == SHARE and unit.dimension == NUMBER and text == "":
        unit = None
    if text == "1" and dimension == SHARE:
        return place, Decimal(1)
    if unit is None or unit.dimension != dimension:
        example = {TIME: "ms", RATE: "Mbit/s", SHARE: "%"}[dimension]
        meant = f", and `{SLIPS[text]}` is what `{text}` may mean" if text in SLIPS else ""
        what = f"the unit `{text}`" if text else "no unit"
        refuse(
            header,
            f"has {what} for `{column}`: write {dimension}, such as `{column} [{example}]`{meant}",
        )
    factor = unit.factor * (10**9 if column == "time" else 1)
    return place, EXACT.divide(Decimal(factor.numerator), Decimal(factor.denominator))


def _number(text: str, row: int, refuse: Refuse) -> Decimal:
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        refuse(row, f"has `{text[:40]}`, which is no number")
    return Decimal(text)


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
        for number in range(begin // every_ns, -(-end // every_ns)):
            left, right = max(begin, number * every_ns), min(end, (number + 1) * every_ns)
            middle = float(a) + slope * ((left + right) / 2 - begin)
            areas[number] += middle * (right - left)
    return [
        (number * every_ns, area / (min(end_ns, (number + 1) * every_ns) - number * every_ns))
        for number, area in enumerate(areas)
    ]


def _without_equals(steps: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return steps without those that change nothing."""
    kept = [steps[0]]
    for step in steps[1:]:
        if step[1] != kept[-1][1]:
            kept.append(step)
    return kept


def _refuse(data: bytes, number: int, name: Text, what: str) -> NoReturn:
    """Refuse a line of a file, by its index."""
    source = Source(name.value, data.decode("utf-8-sig", "replace"))
    starts = [0, *(m.end() for m in re.finditer(r"\r\n|[\n\r]", source.text))]
    start = min(starts[min(number, len(starts) - 1)], len(source.text))
    end = start + len(source.line(source.position(start)[0]))
    raise CompileError(
        [
            Diagnostic(
                "bad-trace",
                what,
                Span(source, start, max(end, start)),
                labels=(Label(name.span, "the recording is used here"),),
                help=f"a recording has {_FORM}",
            )
        ]
    )


__all__ = ["Reading", "is_table", "recording"]
