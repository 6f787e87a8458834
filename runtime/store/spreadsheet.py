"""CSV files that are safe to open in a spreadsheet: no cell is a formula."""

from __future__ import annotations

import re

_SIGNED = re.compile(r"[+-]?[0-9]+([.][0-9]*)?([eE][+-]?[0-9]+)?[A-Za-z%/]*")


def no_formula(cell: str | None) -> str | None:
    """Return a text for a CSV file, prefixed with a quote where a spreadsheet would take it for a
    formula.
    """
    if not cell or cell[0] not in "=+-@\t\r" or _SIGNED.fullmatch(cell):
        return cell
    return f"'{cell}"
