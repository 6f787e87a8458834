"""Tables in text files as people share them: a header or none, and rows of numbers.

Columns are separated by commas, semicolons, tabs or spaces. A line that begins with `#` is a
comment. A header gives each column a name and may give it a unit, in brackets (`rate [Mbit/s]`,
`rate (Mbps)`) or at the end of the name (`rate_mbps`). What is ambiguous is named where the file
is used; everything that is still missing then is one diagnostic.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Context, Decimal
from fractions import Fraction

from fairc.dsl.core.diagnostics import CompileError, Diagnostic, Label
from fairc.dsl.core.kinds import A_COUNT, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import suggest
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.units import MISSPELT, NUMBER, TIME, UNITS, Dimension, Unit
from fairc.dsl.core.values import Quantity, Text, Value

EXACT = Context(prec=40)
ROW_LIMIT = 500_000

MISSING = frozenset({"", "-", "--", "?", "na", "n/a", "nan", "null", "none", "nil"})
"""The marks of a missing value, in any case of letters."""

TIMES = frozenset({"time", "timestamp", "t", "ts", "date", "datetime"})
"""Names of the column of times, in any case of letters."""

_SPELT = {
    "bit/s": ("bps", "bits/s"),
    "kbit/s": ("kbps", "Kbps", "Kbit/s"),
    "Mbit/s": ("Mbps", "mbps", "mbit/s", "Mb/s"),
    "Gbit/s": ("Gbps", "gbps", "gbit/s", "Gb/s"),
    "s": ("sec", "secs", "second", "seconds"),
    "ms": ("msec", "millis"),
    "us": ("usec", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s"),
    "min": ("minutes", "mins"),
    "h": ("hours",),
    "B": ("bytes", "byte"),
    "kB": ("KB",),
    "%": ("percent", "pct"),
    "pkt": ("packets", "pkts"),
}
SPELLINGS = {spelling: name for name, spellings in _SPELT.items() for spelling in spellings}
"""Units as files spell them, where that means one thing."""

_NUMBER = re.compile(
    r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?"
)
_CLOCK = re.compile(
    r"(?:([0-9]{4})[-/]([0-9]{2})[-/]([0-9]{2})[T ]+)?([0-9]{1,2}):([0-9]{2})"
    r"(?::([0-9]{2}(?:\.[0-9]{1,12})?))?\s*(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_BESIDE = re.compile(r"([0-9]{4}[-/][0-9]{2}[-/][0-9]{2})\s+([0-9]{1,2}:[0-9]{2})")
_WORD = re.compile(r"[^\s\[(]+(?:\s*(?:\[[^\[\]]*\]|\([^()]*\)))?")
_ENDING = re.compile(r"(.+?)[_\-. ]([A-Za-z\u00b5\u03bc/%]+)")
_BYTES_PER_S = re.compile(r"([kKMGT]?)B(?:/s|ps)")
_DAY_S = 86_400


def unit(text: str) -> Unit | None:
    """Return the unit that a text of a file means; None if that is not clear."""
    return UNITS.get(SPELLINGS.get(text, text)) if text else None


def number(text: str) -> Decimal | None:
    """Return the number that a cell has, None if it has none."""
    return Decimal(text) if _NUMBER.fullmatch(text) else None


def _named(text: str) -> tuple[str, str]:
    """Return the name and the unit of a text such as `rate [Mbit/s]`; an empty unit where none
    follows. A file may have millions of characters here: no pattern tries each.

    >>> _named(" rate (Mbps) "), _named("rate"), _named("a [b] c"), _named("[s]")
    (('rate', 'Mbps'), ('rate', ''), ('a [b] c', ''), ('', 's'))
    """
    text = text.strip()
    for opening, closing in ("[]", "()"):
        name, bracket, told = text[:-1].rpartition(opening)
        if text.endswith(closing) and bracket and closing not in told:
            return name.rstrip(), told.strip()
    return text, ""


def clock_s(text: str) -> Decimal | None:
    """Return a time of day, or a date and a time, in s; None if the text is neither."""
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second, zone = match.groups()
    try:
        days = date(int(year), int(month), int(day)).toordinal() if year else 0
    except ValueError:
        return None
    if int(hour) > 23 or int(minute) > 59 or Decimal(second or 0) >= 61:
        return None
    shift_s = 0
    if zone not in (None, "Z"):
        shift_s = 3600 * int(zone[1:3]) + 60 * int(zone[-2:])
        shift_s = -shift_s if zone[0] == "-" else shift_s
    whole_s = days * _DAY_S + 3600 * int(hour) + 60 * int(minute) - shift_s
    return EXACT.add(Decimal(whole_s), Decimal(second or 0))


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its place, from 0, its name and its unit as the file has them.

    stem: the name without a unit at its end.
    """

    place: int
    name: str
    unit: str
    stem: str

    @classmethod
    def read(cls, place: int, text: str) -> Column:
        """Return the column that a cell of a header describes."""
        name, told = _named(text)
        ending = _ENDING.fullmatch(name)
        if not told and ending and unit(ending[2]) is not None:
            return cls(place, name, ending[2], ending[1])
        return cls(place, name, told, name)

    @property
    def label(self) -> str:
        """Its name in messages."""
        return self.name or str(self.place + 1)


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column as an experiment names it: as a header does, or by its number from 1."""

    name: str
    unit: str
    span: Span = field(compare=False)


@dataclass(frozen=True)
class ColumnNames:
    """The kind "a column of a file"."""

    phrase: str = 'a column in "quotes" or its number'

    def take(self, value: Value, use: str, at: Span | None = None) -> ColumnName:
        """Return which column is meant. Raises CompileError for other values."""
        if isinstance(value, Text):
            return ColumnName(*_named(value.value), value.span)
        if not isinstance(value, Quantity):
            refuse(self, value, use, at, 'write its name in quotes, as in `"rate"`')
        return ColumnName(str(A_COUNT.take(value, use, at).whole), "", value.span)


@dataclass(slots=True)
class _Fault:
    """What is wrong with a line, and how many others have the same. fix: what the experiment can
    say.
    """

    line: int
    what: str
    fix: str
    others: int = 0

    @property
    def text(self) -> str:
        more = f" (and {self.others:,} more line{'s' * (self.others > 1)})" if self.others else ""
        return self.what + more


class Table:
    """A table that is being read.

    name: where the experiment names the file. noun: what messages call it. word: of the language,
    whose arguments can say what the file does not. form: what such a file has. code: of its
    diagnostics. most: how many rows it may have, and instead: what to do about more.
    """

    def __init__(
        self,
        name: Text,
        data: bytes,
        *,
        noun: str,
        word: str,
        form: str,
        code: str,
        most: int = ROW_LIMIT,
        instead: str = "leave some out: every second one, for example",
    ) -> None:
        self.name, self.noun, self.word, self.form, self.code = name, noun, word, form, code
        self.text = data.decode("utf-8-sig", "replace")
        self.lines = self.text.splitlines()
        self._faults: dict[str, _Fault] = {}
        used = [n for n, line in enumerate(self.lines) if line.strip() and line[:1] != "#"]
        if not used:
            fail(code, f"this {noun} is empty", name.span, help=f"write {form}")
        self.separator = _separator(self.lines[used[0]])
        first = self._split(self.lines[used[0]])
        self.has_header = any(not _is_value(cell) for cell in first)
        self.top = used[0]
        self.rows = used[1:] if self.has_header else used
        names = _WORD.findall(self.lines[self.top]) if self.separator is None else first
        if not self.has_header:
            names = [""] * len(first)
        self.columns = tuple(Column.read(place, text) for place, text in enumerate(names))
        if len(self.rows) > most:
            fail(
                "too-many",
                f"this {noun} has {len(self.rows):,} rows; the limit of `{word}` is {most:,}",
                name.span,
                help=instead,
            )
        for column in self.columns:
            if not column.name.isprintable():
                self.fault(self.top, f"has no column name in `{column.name[:40]}`")

    def fault(self, line: int, what: str, fix: str = "", kind: str = "") -> None:
        """Note what is wrong with a line, by its index; lines with the same kind count as one.

        what: follows "line 3 of the recording". fix: what to write into the experiment.
        """
        known = self._faults.get(kind or what)
        if known is not None:
            known.others += known.line != line
        else:
            self._faults[kind or what] = _Fault(line, what, fix)

    def finish(self) -> None:
        """Raise CompileError with all that is wrong, if anything is."""
        if not self._faults:
            return
        faults = sorted(self._faults.values(), key=lambda fault: fault.line)
        first, others = faults[0], faults[1:]
        message = f"line {first.line + 1} of the {self.noun} {first.text}"
        if others:
            message = (
                f"this {self.noun} needs {len(faults)} changes: line {first.line + 1} {first.text}"
            )
        source = Source(self.name.value, self.text)
        labels = [Label(self._span(source, fault.line), fault.text) for fault in others]
        labels.append(Label(self.name.span, f"the {self.noun} is used here"))
        fixes = [fault.fix for fault in faults if fault.fix]
        help = f"a {self.noun} has {self.form}"
        if fixes:
            listed = f"{', '.join(fixes[:-1])} and {fixes[-1]}" if len(fixes) > 1 else fixes[0]
            help = f"write, for example, {listed} in `{self.word}(...)`"
            if len(fixes) < len(faults):
                help += f"; a {self.noun} has {self.form}"
        span = self._span(source, first.line)
        raise CompileError([Diagnostic(self.code, message, span, labels=tuple(labels), help=help)])

    def _span(self, source: Source, number: int) -> Span:
        """Return where a line is, by its index."""
        starts = [0, *(m.end() for m in re.finditer(r"\r\n|[\n\r]", source.text))]
        start = min(starts[min(number, len(starts) - 1)], len(source.text))
        end = start + len(source.line(source.position(start)[0]))
        return Span(source, start, max(end, start))

    def find(
        self, wanted: ColumnName, key: str = "column", dimension: Dimension | None = None
    ) -> Column | None:
        """Return the column that an experiment names; a unit there takes the place of the file's.
        None, and a fault, if there is no such column or several.
        """
        found = [c for c in self.columns if c.name and c.name == wanted.name]
        if not found and wanted.name.isdecimal():
            found = [c for c in self.columns if c.place + 1 == int(wanted.name)]
        if not found and wanted.name:
            found = [c for c in self.columns if c.stem.casefold() == wanted.name.casefold()]
        if len(found) > 1:
            self.fault(
                self.top,
                f"has two columns called `{wanted.name}`",
                f"`{key}: {found[0].place + 1}`",
            )
            return None
        if not found:
            self.no_column(wanted.name, key, dimension)
            return None
        (column,) = found
        if wanted.unit:
            return Column(column.place, column.name, wanted.unit, column.stem)
        return column

    def no_column(self, wanted: str, key: str, dimension: Dimension | None) -> None:
        """Note that there is no column of a name, or several that could be it. dimension: what it
        has.
        """
        near = suggest(wanted, [c.name for c in self.columns if c.name])
        meant = f" (did you mean `{near}`?)" if near else ""
        listed = ", ".join(f"`{c.label}`" for c in self.columns)
        like = [c for c in self.columns if dimension and self.dimension(c) == dimension]
        like += [c for c in self.columns if self.dimension(c) is None]
        named = next((f'"{c.name}"' if c.name else str(c.place + 1) for c in like), "")
        self.fault(
            self.top,
            f"has no column `{wanted}`{meant}: its columns are {listed}"
            if self.has_header
            else f"is no header that says which of its {len(self.columns)} columns is `{wanted}`",
            f"`{key}: {named}`" if named else "",
        )

    def factor(
        self, column: Column, dimensions: Sequence[Dimension], fix: str, given: Quantity | None
    ) -> Fraction | None:
        """Return how many base units one of a column's unit is; None, and a fault, if that is not
        known. given: the unit that the experiment names.
        """
        if given is not None:
            return given.number
        if column.unit == "1" and NUMBER not in dimensions:
            found: Unit | None = Unit(Fraction(1), dimensions[0])
        else:
            found = unit(column.unit)
        if found is not None and found.dimension in dimensions:
            return found.factor
        what = f"the unit `{column.unit}`" if column.unit else "no unit"
        meant = MISSPELT.get(column.unit)
        may = f" (`{meant}`?)" if meant and column.unit not in SPELLINGS else ""
        if in_bytes := _BYTES_PER_S.fullmatch(column.unit):
            rate = f"{in_bytes[1].replace('K', 'k')}bit/s"
            fix = f"`unit: 8{rate}` (if these are bytes) or `unit: 1{rate}` (bits)"
        phrases = [str(dimension) for dimension in dimensions]
        needs = "" if len(phrases) > 3 else f", where {' or '.join(phrases)} is meant"
        self.fault(self.top, f"has {what}{may} for `{column.label}`{needs}", fix)
        return None

    def dimension(self, column: Column) -> Dimension | None:
        """Return what kind of quantity a column's unit is of; None if that is not known."""
        found = unit(column.unit)
        return None if found is None else found.dimension

    def cells(self, row: int) -> list[str] | None:
        """Return the cells of a row, by its index; None, and a fault, if it has too few or too
        many.
        """
        found = self._split(self.lines[row])
        if len(found) == len(self.columns):
            return found
        header = "header" if self.has_header else "first row"
        self.fault(
            row,
            f"has {len(found)} columns, and the {header} has {len(self.columns)}",
            kind="columns",
        )
        return None

    def _split(self, line: str) -> list[str]:
        if self.separator is None:
            return _BESIDE.sub(r"\1T\2", line).split()
        if '"' in line:
            try:
                read = csv.reader([line], delimiter=self.separator, skipinitialspace=True)
                return [cell.strip() for cell in next(read)]
            except (csv.Error, StopIteration):
                return []
        return [cell.strip() for cell in line.split(self.separator)]


class Times:
    """Reads the times of a table, in s: numbers with a unit, or times of day."""

    def __init__(self, table: Table, wanted: ColumnName | None) -> None:
        self._table = table
        self.column = self._find(wanted)
        self.is_clock = False
        self._factor: Decimal | None = None
        self._last_s: Decimal | None = None
        self._days = 0
        if self.column is None:
            return
        first = table.cells(table.rows[0]) if table.rows else None
        self.is_clock = first is not None and clock_s(first[self.column.place]) is not None
        if not self.is_clock:
            label = self.column.label
            fix = f'`time: "{label} [s]"`'
            factor = table.factor(self.column, (TIME,), fix, None)
            if factor is not None:
                self._factor = EXACT.divide(Decimal(factor.numerator), Decimal(factor.denominator))

    def _find(self, wanted: ColumnName | None) -> Column | None:
        table = self._table
        if wanted is not None:
            return table.find(wanted, "time", TIME)
        if not table.has_header:
            return table.columns[0]
        found = [c for c in table.columns if c.stem.casefold() in TIMES]
        exact = [c for c in found if c.stem.casefold() == "time"]
        found = exact if len(exact) == 1 else found
        if len(found) != 1:
            table.no_column("time", "time", TIME)
            return None
        return found[0]

    def of(self, text: str, row: int) -> Decimal | None:
        """Return the time that a cell has; None, and a fault, if it has none.

        A time of day that is more than half a day before the last one is on the next day.
        """
        if self.is_clock:
            found = clock_s(text)
            if found is not None:
                found = EXACT.add(found, Decimal(self._days * _DAY_S))
                dated = found >= _DAY_S and not self._days
                if self._last_s is not None and not dated and self._last_s - found > _DAY_S // 2:
                    self._days += 1
                    found = EXACT.add(found, Decimal(_DAY_S))
                self._last_s = found
                return found
        else:
            plain = number(text)
            if plain is not None:
                return plain if self._factor is None else EXACT.multiply(plain, self._factor)
        what = "time of day" if self.is_clock else "number"
        self._table.fault(row, f"has `{text[:40]}`, which is no {what}", kind="time")
        return None


def _separator(line: str) -> str | None:
    """Return what separates the columns of a line; None: spaces."""
    outside = re.sub(r'"[^"]*"|\[[^\[\]]*\]', "", line)
    return next((mark for mark in (";", ",", "\t") if mark in outside), None)


def _is_value(cell: str) -> bool:
    """Whether a cell can be one of a row, and no name of a column."""
    return cell.casefold() in MISSING or number(cell) is not None or clock_s(cell) is not None
