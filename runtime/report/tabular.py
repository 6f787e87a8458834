"""A table of the report as CSV, with exact values in SI base units, and as LaTeX, as it is printed."""

from __future__ import annotations

import csv
import io
import re

from fairc.runtime.store.spreadsheet import no_formula

from .figures import Number, Sheet
from .words import MINUS, one_line, prefixed

_UNIT = re.compile(r"\(([^()]+)\)$")
_TEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_",
    "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
    MINUS: "$-$", "\N{EN DASH}": "--", "\N{MICRO SIGN}": r"\textmu{}", "\N{RIGHTWARDS ARROW}": r"$\to$",
}  # fmt: skip


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


def as_tex(sheet: Sheet) -> str:
    """Return a table as LaTeX for the package `booktabs`; no text in it is a command."""
    columns = "".join("r" if numeric else "l" for _, numeric in sheet.head)
    lines = [
        f"% {one_line(sheet.title)}. \\usepackage{{booktabs}}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        " & ".join(_tex(name) for name, _ in sheet.head) + " \\\\",
        "\\midrule",
        *(" & ".join(map(_cell, row)) + " \\\\" for row in sheet.rows),
        "\\bottomrule",
        "\\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def _cell(cell: str | Number | tuple[Number, Number]) -> str:
    if isinstance(cell, tuple):
        # Braces, or a bracket at the start of a row would be an option of the `\\` before it.
        return f"{{[}}{_tex(cell[0].text)}, {_tex(cell[1].text)}{{]}}"
    return _tex(cell.text if isinstance(cell, Number) else cell)


def _tex(text: str) -> str:
    return "".join(_TEX.get(character, character) for character in one_line(text))


def _in_base(text: str) -> str:
    """Return a name with its unit in SI: `goodput (Mbit/s)` with `bit/s`."""
    return _UNIT.sub(lambda found: f"({prefixed().get(found[1], found[1])})", one_line(text))
