"""Verdicts on cells, and which of them count: from status and the judgement of their set-up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from fairc.runtime.formatting import counted


class CellOutcome(Protocol):
    """A cell that ran: status, `ok` or `failed`; verdict: on its set-up, None where it failed."""

    @property
    def status(self) -> str: ...
    @property
    def verdict(self) -> str | None: ...


def counts(cell: CellOutcome) -> bool:
    """Return whether a cell enters summaries: it finished and its set-up is not invalid."""
    return cell.status == "ok" and cell.verdict != "invalid"


def word(cell: CellOutcome) -> str:
    """Return `valid`, `flagged`, `invalid` or `failed`."""
    return cell.verdict if cell.status == "ok" and cell.verdict else "failed"


@dataclass(slots=True)
class Counts:
    """The numbers of a run's cells by outcome."""

    valid: int = 0
    flagged: int = 0
    invalid: int = 0
    failed: int = 0

    def add(self, cell: CellOutcome) -> None:
        """Count a cell."""
        setattr(self, word(cell), getattr(self, word(cell)) + 1)

    def include(self, other: Counts) -> None:
        """Add the cells of another sweep."""
        for name in ("valid", "flagged", "invalid", "failed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def total(self) -> int:
        """The number of all cells."""
        return self.valid + self.flagged + self.invalid + self.failed

    @property
    def all_well(self) -> bool:
        """Whether no cell failed and every one is valid."""
        return self.total == self.valid

    @property
    def text(self) -> str:
        """The counts as a line: `2 cells: 1 valid, 0 flagged, 1 invalid, 0 failed`."""
        return (
            f"{counted(self.total, 'cell')}: {self.valid} valid, {self.flagged} flagged,"
            f" {self.invalid} invalid, {self.failed} failed"
        )
