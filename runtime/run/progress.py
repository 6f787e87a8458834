"""Progress of a sweep: a bar on a terminal (bar.py), occasional lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fairc.dsl.core.source import printable
from fairc.runtime.formatting import counted
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store.cell_folder import CONSOLE

LINE_EVERY_S = 10.0


class Progress:
    """Is notified of every cell, from one thread only; by itself it reports nothing."""

    def begin(self, costs: Mapping[str, float], kept: int, analysed: int = 0) -> None:
        """Set which cells are to be run or analysed, by key, with what each is planned to cost, in
        any unit; how many exist already, and how many are only analysed.
        """

    def done(self, result: CellResult, folder: Path) -> None:
        """A cell has been stored in a folder."""

    def end(self) -> None:
        """Nothing more comes; also called when the sweep was interrupted."""


@dataclass(slots=True)
class Tally:
    """Counts of a sweep.

    clock: wall time, s. costs: what each cell is planned to cost, by key; total: their sum. spent:
    the sum of those that are done. virtual_s: their virtual time.
    """

    clock: Callable[[], float] = time.monotonic
    costs: Mapping[str, float] = field(default_factory=dict)
    done: int = 0
    failed: int = 0
    total: float = 0.0
    spent: float = 0.0
    virtual_s: float = 0.0
    began_s: float = field(default=0.0)

    def begin(self, costs: Mapping[str, float]) -> None:
        """Start counting from zero: a run may have several sweeps."""
        self.costs, self.total, self.began_s = costs, sum(costs.values()), self.clock()
        self.done = self.failed = 0
        self.spent = self.virtual_s = 0.0

    @property
    def todo(self) -> int:
        """The number of cells."""
        return len(self.costs)

    def add(self, result: CellResult) -> None:
        """Count a cell."""
        self.done += 1
        self.spent += self.costs.get(result.key, 0.0)
        self.failed += result.status == "failed"
        self.virtual_s += result.virtual_s

    @property
    def speed(self) -> float:
        """Virtual seconds per wall second, over all parallel cells."""
        return self.virtual_s / max(self.clock() - self.began_s, 1e-9)

    @property
    def left_s(self) -> float | None:
        """Wall seconds until the end at the pace so far; None before the first cell is done.

        A cell of 100 Mbit/s takes a hundred times as long as one of 1 Mbit/s, and the plan says so.
        """
        if self.spent <= 0:
            return None
        return (self.clock() - self.began_s) * max(0.0, self.total / self.spent - 1)

    def line(self) -> str:
        """Return it as one line."""
        ended = self.left_s is None or self.done == self.todo
        left = "" if ended else f", {duration(self.left_s or 0.0)} left"
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.done}/{self.todo} cells{failed}, {self.speed:.1f} virtual s per s{left}"


class Lines(Progress):
    """A line every ten seconds or so, and one for every cell that fails.

    write: takes a line of text. clock: wall time, s.
    """

    def __init__(
        self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._tally = Tally(clock)
        self._clock = clock
        self._reported_s = 0.0

    def begin(self, costs: Mapping[str, float], kept: int, analysed: int = 0) -> None:
        """Report what is to be done."""
        self._tally.begin(costs)
        self._reported_s = self._clock()
        self._write(opening(len(costs), kept, analysed))

    def done(self, result: CellResult, folder: Path) -> None:
        """Count; say so if the last line is old, or if this was the last cell."""
        self._tally.add(result)
        if result.status == "failed":
            self._write(failure(result, folder))
        last = self._tally.done == self._tally.todo
        if last or self._clock() - self._reported_s >= LINE_EVERY_S:
            self._reported_s = self._clock()
            self._write(self._tally.line())


def opening(todo: int, kept: int, analysed: int) -> str:
    """Return what a sweep is about to do.

    >>> opening(6, 0, 0), opening(1, 0, 1)
    ('6 cells to run', '1 cell to analyse again')
    >>> opening(6, 2, 4)
    '2 cells to run, 4 cells to analyse again; 2 already done'
    """
    run, again = todo - analysed, f"{counted(analysed, 'cell')} to analyse again"
    parts = [f"{counted(run, 'cell')} to run"] if run else []
    have = f"; {kept} already done" if kept else ""
    return ", ".join([*parts, again] if analysed else parts) + have


def failure(result: CellResult, folder: Path) -> str:
    """Return that a cell failed, why, and where its console is, in one line."""
    error = " ".join(result.error.split())
    message = f"cell {result.cell} failed: {error}; its console is {folder / CONSOLE}"
    return printable(message, "\N{REPLACEMENT CHARACTER}")


def duration(seconds: float) -> str:
    """Format a duration in its two largest units: `2 h 5 min`.

    >>> duration(7500.0), duration(65.2), duration(4.2)
    ('2 h 5 min', '1 min 5 s', '4 s')
    """
    whole = round(seconds)
    if whole >= 86400:
        return f"{whole // 86400} d {whole % 86400 // 3600} h"
    if whole >= 3600:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    if whole >= 60:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole} s"
