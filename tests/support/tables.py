"""Tables of cases as a text, which stay a line a case where code would not."""

from __future__ import annotations

import re


def rows(text: str) -> list[tuple[str, ...]]:
    """Return the rows of a table: a line each, its cells between bars; an indented line goes on."""
    lines = re.sub(r"\n +", " ", text.strip("\n")).splitlines()
    return [tuple(cell.strip() for cell in line.split("|")) for line in lines]
