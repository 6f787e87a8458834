"""The answer of `fairc verify PACK`: what was proved, of how much, and a row for each thing that
was checked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

LONGEST = 1000
DRAWN_OF_EACH = (
    "drawn at random of each experiment, whose rows say how likely forged ones are found"
)
Verdict = Literal["holds", "differs", "cannot tell", "not done"]


@dataclass(frozen=True, slots=True)
class Check:
    """A row of the answer: what was checked, the verdict, what was found, and whether it decides
    the whole.

    experiment: of which it is; empty: of the whole pack, or of its only experiment.
    """

    what: str
    verdict: Verdict
    found: str
    decides: bool = True
    experiment: str = ""


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

    def joined(self, other: Rerun) -> Rerun:
        """Return what was run again of two experiments."""
        equal = None
        if self.equal is not None and other.equal is not None:
            equal = self.equal + other.equal
        how = " and ".join(dict.fromkeys((self.how, other.how)))
        odds = DRAWN_OF_EACH if self.odds or other.odds else ""
        return Rerun(self.cells + other.cells, equal, how, odds)


@dataclass(slots=True)
class Checks:
    """All rows. planned, there: the cells of the plans and those with a result.

    again: None if none was run again. experiment: of which the next rows are.
    """

    rows: list[Check] = field(default_factory=list)
    planned: int = 0
    there: int = 0
    again: Rerun | None = None
    experiment: str = ""

    def add(self, what: str, verdict: Verdict, found: str, decides: bool = True) -> None:
        """Add a row; what was found becomes one line of limited length, because it quotes packs and
        guests.
        """
        line = " ".join(found.split())
        line = line if len(line) <= LONGEST else f"{line[:LONGEST]} ..."
        self.rows.append(Check(what, verdict, line, decides, self.experiment))

    def add_again(self, again: Rerun) -> None:
        """Add the cells of an experiment that were run again."""
        self.again = again if self.again is None else self.again.joined(again)

    @property
    def holds(self) -> bool:
        """Whether every row that decides holds."""
        return all(row.verdict == "holds" for row in self.rows if row.decides)

    @property
    def proved(self) -> str:
        """The outcome in one line: what was proved, of how much."""
        differs = any(row.verdict == "differs" for row in self.rows if row.decides)
        parts = ["holds" if self.holds else "does not hold" if differs else "is not proved"]
        if self.planned:
            several = len({row.experiment for row in self.rows if row.experiment}) > 1
            whose = "plans'" if several else "plan's"
            parts.append(f"{self.there} of the {whose} {self.planned} cells")
        if self.again is None:
            parts.append("no cell was run again, so their numbers are the pack's word")
        else:
            equal = "" if self.again.equal is None else f"{self.again.equal} "
            again = f"{self.again.cells} of them run again, {equal}{self.again.how}"
            parts.append(again + (f" ({self.again.odds})" if self.again.odds else ""))
        if open_ := [row for row in self.rows if row.decides and row.verdict != "holds"]:
            names = (f"{r.what} of {r.experiment}" if r.experiment else r.what for r in open_)
            parts.append(f"not proved: {', '.join(names)}")
        else:
            parts.append("tables, claims and page follow from the cells")
        return f"{parts[0]}: {'; '.join(parts[1:])}"
