"""Cells as JSON: read, checked, written."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, TypeAdapter, ValidationInfo

from fairc.cell.model import Cell
from fairc.mechanisms import register

from .consistency import contradiction


PART: Final = "part"
"""The context in which a part of a cell is checked, which contradicts itself without the rest."""


def _consistent(cell: Cell, info: ValidationInfo) -> Cell:
    if info.context is not PART and (why := contradiction(cell)):
        raise ValueError(why)
    return cell


register()


@cache
def _cells() -> TypeAdapter[Cell]:
    """Return the reader and writer of cells, of which every field is in its bounds, and which
    contradict themselves nowhere; it takes longer to make than most commands last.
    """
    return TypeAdapter(Annotated[Cell, AfterValidator(_consistent)])


def parse_cell(line: str | bytes) -> Cell:
    """Return the cell that a line of `cells.jsonl` holds. Raises pydantic's ValidationError."""
    return _cells().validate_json(line)


def check(cell: Cell) -> None:
    """Check a cell as if it had been read. Raises ValidationError."""
    _cells().validate_python(cell)


def cell_json(cell: Cell, without: Any = None) -> str:
    """Return a cell as a line of `cells.jsonl`. without: what is left out, as pydantic takes it."""
    return _cells().dump_json(cell, exclude=without).decode()


def check_drawn(cell: Cell) -> None:
    """Check what a seed changes in a cell, of which everything else has been checked.

    A third of the time of `check`. Raises ValidationError.
    """
    rest = replace(cell, nodes=cell.nodes[:1], cables=cell.cables[:1], captures=())
    _cells().validate_python(rest, context=PART)
