"""Progress of a sweep on a terminal: one bar. Only who shows it imports rich."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich import progress
from rich.console import Console
from rich.progress import Progress as Bars

from fairc.runtime.measurement.results import CellResult

from .progress import Progress, Tally, failure, opening


class Bar(Progress):
    """One bar on a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._tally = Tally()
        self._bars: Bars | None = None

    def begin(self, costs: Mapping[str, float], kept: int, analysed: int = 0) -> None:
        """Show the bar."""
        self._tally.begin(costs)
        self._console.print(opening(len(costs), kept, analysed), highlight=False, markup=False)
        self._bars = progress.Progress(
            progress.BarColumn(bar_width=30),
            progress.TextColumn("{task.fields[line]}", markup=False),
            progress.TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._bars.add_task("cells", total=len(costs), line=self._tally.line())
        self._bars.start()

    def done(self, result: CellResult, folder: Path) -> None:
        """Move the bar."""
        self._tally.add(result)
        if self._bars is None:
            return
        if result.status == "failed":
            said = failure(result, folder)
            self._console.print(said, highlight=False, markup=False, soft_wrap=True)
        self._bars.update(
            self._bars.task_ids[0], completed=self._tally.done, line=self._tally.line()
        )

    def end(self) -> None:
        """Remove the bar, and say how it went."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
            if self._tally.done:
                self._console.print(self._tally.line(), highlight=False, markup=False)
