"""Names of cells: hashes of what they are, under which results are stored."""

from __future__ import annotations

from typing import Any

from fairc.cell.model import Cell
from fairc.cell.seeds import canonical, identity

from .cells import cell_json

NOT_IN_IDENTITY: Any = {
    "id": True,
    "bindings": True,
    "captures": True,
    "baselines": True,
    "nodes": {"__all__": {"interfaces": {"__all__": {"source": True}}}},
    "flows": {"__all__": {"source": True, "declared": True, "users": True}},
}


def identity_of(cell: Cell) -> str:
    """Return a cell's id: a hash of its JSON without white space, fields in the schema's order.

    Left out: the id itself, the captures, what the cell is compared with, the source lines (a
    comment added to a file changes no cell), the bindings, which `configuration` represents in any
    order, and fields added to the plan later, where they are not used: cells keep their ids.
    """
    devices: Any = {"__all__": {"source": True}} if cell.devices else True
    tunnels: Any = {"__all__": {"source": True}} if cell.tunnels else True
    left_out = NOT_IN_IDENTITY | {"devices": devices, "tunnels": tunnels}
    return identity(cell_json(cell, left_out))


def genuine(cell: Cell) -> bool:
    """Whether the names of a cell are the hashes of its content, under which results are stored.

    A baseline's configuration is the hash of what has not been drawn yet, and part of its id.
    """
    if cell.id != identity_of(cell):
        return False
    return cell.baseline or cell.configuration == identity(canonical(cell.bindings))
