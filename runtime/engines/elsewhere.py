"""The engine that ran stored cells, as far as it is here: it has a name, and runs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from fairc.compiler.plan import Cell

from .base import RawResult


class RemoteEngine:
    """An engine by its name and identities. cells: id of a cell -> identity of what ran it.

    given: id of a cell -> hash of what it was given (`Engine.emitted`).
    """

    parallel = True

    def __init__(
        self, name: str, identity: str, cells: Mapping[str, str], given: Mapping[str, str]
    ) -> None:
        self.name = name
        self.identity = identity
        self._cells = cells
        self._given = given
        self.versions: dict[str, str] = {}

    def identity_for(self, cell: Cell) -> str:
        """Return the identity of what ran the cell."""
        return self._cells.get(cell.id, self.identity)

    def emitted(self, cell: Cell) -> str:
        """Return the hash of what the cell was given."""
        return self._given.get(cell.id, "")

    def prepare(self) -> None:
        """Do nothing."""

    def run(self, cell: Cell, workdir: Path) -> RawResult:
        """Fail: the cell has to be run again, because its raw artefacts are needed and damaged."""
        error = "its metrics must be recomputed, but its raw artefacts are damaged or removed"
        return RawResult(error, workdir, "", "", 0.0, 0.0)

    def close(self) -> None:
        """Do nothing."""
