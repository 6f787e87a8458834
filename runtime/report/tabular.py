"""A table of the report as CSV: exact values in SI base units."""

from __future__ import annotations

import csv
import io
import re

from fairc.runtime.formatting import Number, base_unit, one_line
from fairc.runtime.store.spreadsheet import no_formula

from .sheet import Sheet

_UNIT = re.compile(r"\(([^()]+)\)$")


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
