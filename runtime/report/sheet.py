"""A table of the report: one for the page, Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from fairc.runtime.formatting import Cell, Number, base_unit, no_formula, one_line

_UNIT = re.compile(r"\(([^()]+)\)$")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table, among the figures or in a section of its own.

    name: stem of its files, unique in the report. section: as of a Drawing; `tables` for one that
    is no figure. title: its heading. caption: how to read it and which data it shows. head: of each
    column, and whether it holds numbers.
    """

    name: str
    section: str
    title: str
    caption: str
    head: tuple[tuple[str, bool], ...]
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def shown(self) -> tuple[int, ...]:
        """The columns that a page shows: those with a value in some row."""
        return tuple(i for i in range(len(self.head)) if any(row[i] != "" for row in self.rows))


def section_table(
    name: str,
    title: str,
    head: Iterable[tuple[str, bool]],
    rows: Iterable[tuple[Cell, ...]],
    caption: str = "",
) -> Sheet:
    """Return a table that is no figure; a report leaves it out where it has no row.

    name: what follows `table-` in the name of its files. caption: the title without one.
    """
    return Sheet(f"table-{name}", "tables", title, caption or title, tuple(head), tuple(rows))


def as_csv(sheet: Sheet) -> str:
    """Return a table as CSV: numbers exactly, in the SI base units that heads and names then have.

    An interval has two columns, its low and its high end.
    """
    ends = [any(isinstance(row[i], tuple) for row in sheet.rows) for i in range(len(sheet.head))]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    head: list[str | None] = []
    for (name, _), two in zip(sheet.head, ends, strict=True):
        shown = _in_base(name)
        head += [f"{shown} low", f"{shown} high"] if two else [shown]
    writer.writerow(map(no_formula, head))
    for row in sheet.rows:
        line: list[str | None] = []
        for cell, two in zip(row, ends, strict=True):
            if isinstance(cell, tuple):
                line += [cell[0].exact, cell[1].exact]
            elif isinstance(cell, Number):
                line += [cell.exact, ""] if two else [cell.exact]
            else:
                line += [no_formula(_in_base(cell)), ""] if two else [no_formula(_in_base(cell))]
        writer.writerow(line)
    return text.getvalue()


def _in_base(text: str) -> str:
    """Return a name with its unit in SI: `goodput (Mbit/s)` with `bit/s`."""
    return _UNIT.sub(lambda found: f"({base_unit(found[1])})", one_line(text))
