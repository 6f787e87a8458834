"""What the compared transports differ in beside their congestion control (measurement.md, rule 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .run import Run
from .words import listed

# Values that a cell of the table names before it says "and N more".
MAX_VALUES = 3


@dataclass(frozen=True, slots=True)
class Row:
    """One condition; values: in words, one text for each transport."""

    condition: str
    meaning: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """The conditions that differ. transports: as people write them, in the order of the values."""

    transports: tuple[str, ...]
    rows: tuple[Row, ...]


def differences(run: Run) -> Differences | None:
    """Return the conditions in which the transports of some cell differ, None where none do.

    Cells are looked at one by one: a condition that a sweep changes for all transports alike differs
    in none of them. Failed cells tell nothing, and neither does a run of one transport.
    """
    from fairc.runtime.conditions import CONDITIONS

    found: dict[str, dict[str, dict[str, set[str]]]] = {}
    transports: dict[str, None] = {}
    for cell, condition, transport, value in run.rows(
        "SELECT cell, condition, transport, value FROM conditions ORDER BY transport, value"
    ):
        transports[transport] = None
        cells = found.setdefault(condition, {}).setdefault(cell, {})
        cells.setdefault(transport, set()).add(value)
    rows = []
    for condition in CONDITIONS:
        differing = [c for c in found.get(condition.name, {}).values() if _differ(c)]
        if differing:
            values = tuple(_values(differing, transport) for transport in transports)
            rows.append(Row(condition.name, condition.meaning, values))
    return Differences(tuple(map(str.upper, transports)), tuple(rows)) if rows else None


def _differ(cell: Mapping[str, set[str]]) -> bool:
    return len(set(map(frozenset, cell.values()))) > 1


def _values(cells: list[dict[str, set[str]]], transport: str) -> str:
    texts = dict.fromkeys(text for cell in cells for text in sorted(cell.get(transport, ())))
    return listed(list(texts), MAX_VALUES)
