"""Figures: a drawing with its texts; and the registry of kinds of figures."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from fairc.runtime.repetitions.crowds import MOST_FLOWS
from fairc.runtime.report.run import Configuration, Run
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.report.summary import Results

from .style import Width

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from fairc.compiler.plan import FigureRequest


class Picture(Protocol):
    """Marks in their places: a `Chart`, `Rows`, or maps."""

    def draw(self, width: Width) -> Figure:
        """Draw it at one of the two widths, inside `paper_style`."""
        ...


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure of a report.

    name: stem of its files, unique in the report. section: `lead` (the picture that answers),
    `time`, `repetitions` or `requested` (by the experiment). title: heading. caption: how to read
    it and which data it shows. alt: its alternative text.
    """

    name: str
    section: str
    title: str
    caption: str
    alt: str
    picture: Picture


@dataclass(frozen=True, slots=True)
class Subject:
    """The material of figures.

    shown: the configurations whose time series are shown. choice: why these, or empty for all.
    together: whether all flows of a statement are shown as one, however few they are.
    """

    run: Run
    results: Results
    shown: tuple[Configuration, ...]
    choice: str
    together: bool = False

    def crowds(self, flows: Collection[str]) -> dict[str, str]:
        """Return the name of all flows of a statement, by flow, of some of which the figure shows
        as one.
        """
        return self.run.measured.crowds(flows, 1 if self.together else MOST_FLOWS)

    def measures(self, *metrics: str) -> bool:
        """Tell whether the experiment measures one of these metrics."""
        return any(request.name in metrics for request in self.run.plan.measure)


class NothingToDraw(Exception):
    """The run has no data for a figure; the message says which."""


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure: its name in `report { ... }` and how it is made.

    requested: makes what `report` asks for; None: it cannot be asked for.
    by_default: makes the figure that a report shows by itself; None: there is none.
    Both raise NothingToDraw.
    is_due: whether a report shows it by itself.
    is_answer: whether it, and no single value of its metric, answers what the experiment asks, so
    that it leads a report.
    """

    name: str
    requested: Callable[[Subject, FigureRequest], Drawing | Sheet] | None = None
    by_default: Callable[[Subject], Drawing | Sheet] | None = None
    is_due: Callable[[Subject], bool] = lambda _: True
    is_answer: bool = False

    def make(self, subject: Subject, request: FigureRequest | None = None) -> Drawing | Sheet:
        """Return the figure, or the table; request: None for a default figure."""
        if request is None:
            assert self.by_default is not None, f"`{self.name}` is no default figure"
            return self.by_default(subject)
        assert self.requested is not None, f"`{self.name}` is a default figure alone"
        return self.requested(subject, request)


def decimate(times: ArrayLike, values: ArrayLike, bins: int) -> tuple[list[float], list[float]]:
    """Return at most `2 * bins` points that keep every bin's smallest and largest value.

    times: ascending, s. Within a bin the two keep their order in time, so a line through them
    covers the same area as the line through all points.
    """
    t, v = np.asarray(times, dtype=float), np.asarray(values, dtype=float)
    keep = np.isfinite(v)
    t, v = t[keep], v[keep]
    if len(t) <= 2 * bins or t[0] == t[-1]:
        return t.tolist(), v.tolist()
    bin_of = np.minimum(((t - t[0]) / (t[-1] - t[0]) * bins).astype(int), bins - 1)
    starts = np.flatnonzero(np.diff(bin_of, prepend=-1))
    chosen: set[int] = {0, len(t) - 1}
    for start, end in zip(starts, [*starts[1:], len(t)], strict=True):
        chosen.add(int(start + np.argmin(v[start:end])))
        chosen.add(int(start + np.argmax(v[start:end])))
    index = sorted(chosen)
    return t[index].tolist(), v[index].tolist()


def panel_names(run: Run, shown: Sequence[Configuration]) -> list[str]:
    """Return the headings of small multiples: the swept values in which the configurations of the
    run differ, also where all that are shown have the same.
    """
    differing = [
        name
        for i, name in enumerate(run.axes)
        if len({c.bindings[i][1] for c in run.configurations}) > 1
    ]
    values = [dict(c.bindings) for c in shown]
    return [", ".join(f"{name} = {of[name]}" for name in differing) for of in values]
