"""What `fairc verify PACK` answers: a row for each thing that was checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

LONGEST = 1000
Verdict = Literal["holds", "differs", "cannot tell", "not done"]


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the answer: what was checked, the verdict, what was found, and whether it decides the whole."""

    what: str
    verdict: Verdict
    found: str
    decides: bool = True


@dataclass(slots=True)
class Checks:
    """All rows."""

    rows: list[Check] = field(default_factory=list)

    def add(self, what: str, verdict: Verdict, found: str, decides: bool = True) -> None:
        """Add a row; what was found becomes one line of limited length, because it quotes packs and guests."""
        line = " ".join(found.split())
        line = line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."
        self.rows.append(Check(what, verdict, line, decides))

    @property
    def holds(self) -> bool:
        """Whether every row that decides holds."""
        return all(row.verdict == "holds" for row in self.rows if row.decides)
