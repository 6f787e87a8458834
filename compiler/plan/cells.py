"""Cells as JSON: read, checked, written."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from fairc.cell.model import Cell
from fairc.mechanisms import register

from .consistency import contradiction


def _require_consistent(cell: Cell) -> None:
    """Raise ValidationError for a cell that contradicts itself."""
    if why := contradiction(cell):
        what = PydanticCustomError("value_error", "Value error, {why}", {"why": why})
        fault = InitErrorDetails(type=what, input=cell)
        raise ValidationError.from_exception_data(Cell.__name__, [fault])


register()


@cache
def _cells() -> TypeAdapter[Cell]:
    """Return the reader and writer of cells; it takes longer to make than most commands last."""
    return TypeAdapter(Cell)


def parse_cell(line: str | bytes) -> Cell:
    """Return the cell that a line of `cells.jsonl` holds. Raises pydantic's ValidationError."""
    cell = _cells().validate_json(line)
    _require_consistent(cell)
    return cell


def check(cell: Cell) -> None:
    """Check a cell as if it had been read. Raises ValidationError."""
    _cells().validate_python(cell)
    _require_consistent(cell)


def cell_json(cell: Cell, without: Any = None) -> str:
    """Return a cell as a line of `cells.jsonl`. without: what is left out, as pydantic takes it."""
    return _cells().dump_json(cell, exclude=without).decode()


def check_drawn(cell: Cell) -> None:
    """Check what a seed changes in a cell, of which everything else has been checked.

    A third of the time of `check`. Raises ValidationError.
    """
    rest = replace(cell, nodes=cell.nodes[:1], cables=cell.cables[:1], captures=())
    _cells().validate_python(rest)
