"""What `fairc verify PACK` answers: what was proved, of how much, and a row for each thing that was
checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

LONGEST = 1000
Verdict = Literal["holds", "differs", "cannot tell", "not done"]


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the answer: what was checked, the verdict, what was found, and whether it decides
    the whole.
    """

    what: str
    verdict: Verdict
    found: str
    decides: bool = True


@dataclass(frozen=True, slots=True)
class Rerun:
    """The cells that were run again.

    cells: how many. equal: how many of them are equal to the byte; None: compared by agreement.
    how: the comparison, in words. odds: how likely forged cells would have been found; empty where
    all were run.
    """

    cells: int
    equal: int | None
    how: str
    odds: str


@dataclass(slots=True)
class Checks:
    """All rows. planned, there: the cells of the plan and those with a result.

    again: None if none was run again.
    """

    rows: list[Check] = field(default_factory=list)
    planned: int = 0
    there: int = 0
    again: Rerun | None = None

    def add(self, what: str, verdict: Verdict, found: str, decides: bool = True) -> None:
        """Add a row; what was found becomes one line of limited length, because it quotes packs and
        guests.
        """
        line = " ".join(found.split())
        line = line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."
        self.rows.append(Check(what, verdict, line, decides))

    @property
    def holds(self) -> bool:
        """Whether every row that decides holds."""
        return all(row.verdict == "holds" for row in self.rows if row.decides)

    @property
    def proved(self) -> str:
        """What was proved, of how much, in one line."""
        differs = any(row.verdict == "differs" for row in self.rows if row.decides)
        parts = ["holds" if self.holds else "does not hold" if differs else "is not proved"]
        if self.planned:
            parts.append(f"{self.there} of the plan's {self.planned} cells")
        if self.again is None:
            parts.append("no cell was run again, so their numbers are the pack's word")
        else:
            equal = "" if self.again.equal is None else f"{self.again.equal} "
            again = f"{self.again.cells} of them run again, {equal}{self.again.how}"
            parts.append(again + (f" ({self.again.odds})" if self.again.odds else ""))
        if open_ := [row.what for row in self.rows if row.decides and row.verdict != "holds"]:
            parts.append(f"not proved: {', '.join(open_)}")
        else:
            parts.append("tables, claims and page follow from the cells")
        return f"{parts[0]}: {'; '.join(parts[1:])}"
