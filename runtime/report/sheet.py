"""A table of the report: one for the page, Markdown, CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairc.runtime.formatting import Cell


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
