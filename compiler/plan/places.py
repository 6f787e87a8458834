"""The interfaces of a cell by their places."""

from __future__ import annotations

from fairc.cell.links import Interface
from fairc.cell.model import Cell
from fairc.cell.text import Place


def interfaces_of(cell: Cell) -> dict[Place, Interface]:
    """Return every interface of a cell by the names of its node and its own, in their order."""
    return {(node.name, each.name): each for node in cell.nodes for each in node.interfaces}
