"""Shared by figures of one repetition over time: which one is shown, and panels of lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.backdrop import NOTHING, Backdrop, backdrop, explained
from fairc.runtime.report.run import Configuration

from .base import Drawing, NothingToDraw, Subject, panel_names
from .chart import Axis, Chart
from .chart import Panel as Drawn
from .marks import Band, Behind, Rule, limit
from .marks import Line as Mark
from .style import colour, dash

# Bins across a panel for each panel in a row; each keeps its smallest and largest value.
BINS = 300
# A line breaks at a gap of more than this many usual distances between its values: between the
# loads of a page, say, no connection is open, and nothing has a window.
SILENCE = 3.5


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: its flow's place in the experiment, times in s, and values.

    band: at each time the smallest and the largest value of those that the line stands for.
    """

    name: str
    index: int
    times: list[float]
    values: list[float]
    band: tuple[list[float], list[float]] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over time with one unit; limit: a value to mark with a line, and its name.

    behind: what stands behind them.
    span: the ends of the vertical axis; None: from 0 to the largest value of the figure in this
    unit.
    """

    heading: str
    unit: str
    lines: tuple[Line, ...]
    limit: tuple[float, str] | None = None
    behind: Backdrop = NOTHING
    span: tuple[float, float] | None = None


class ShownRun(NamedTuple):
    """The repetition shown for a configuration, why this one, the heading of its panels, and what
    stands behind them.
    """

    configuration: Configuration
    outcome: Outcome
    why: str
    heading: str
    behind: Backdrop


def representatives(subject: Subject) -> list[ShownRun]:
    """Return the repetition shown for each configuration. Raises NothingToDraw."""
    chosen = [(c, subject.results.representative(c)) for c in subject.shown]
    found = [(c, *r) for c, r in chosen if r is not None]
    if not found:
        raise NothingToDraw("no cell counts")
    names = panel_names(subject.run, [c for c, _, _ in found])
    return [
        ShownRun(c, outcome, why, name, backdrop(subject.run, c))
        for (c, outcome, why), name in zip(found, names, strict=True)
    ]


def chosen_text(found: list[ShownRun]) -> str:
    """Return a sentence that names the repetition shown: one run, not a summary."""
    if len(found) == 1:
        return f"One run, not a summary: repetition {found[0].outcome.repetition}, {found[0].why}."
    which = "; ".join(f"{s.configuration.label}: repetition {s.outcome.repetition}" for s in found)
    reasons = " or ".join(dict.fromkeys(shown.why for shown in found))
    return f"One run each, not a summary: {reasons} ({which})."


def over_time(
    found: list[ShownRun],
    panels: Sequence[Panel],
    name: str,
    title: str,
    caption: str,
    alt: str,
    *,
    kept: str = "value",
    more: str = "",
    across: int = 0,
) -> Drawing:
    """Return the figure of panels, which show one repetition of each configuration.

    caption: what the lines are. kept: what a bin of time keeps the smallest and the largest of;
    empty: it has neither. more: what the caption ends with. across: as of `chart`.
    """
    bins = f" Each bin of time keeps its smallest and its largest {kept}." if kept else ""
    behind = explained(shown.behind for shown in found)
    whole = f"{caption} {chosen_text(found)}{bins}{behind}{more}"
    return Drawing(name, "time", title, whole, alt, chart(panels, across))


def broken(line: Line, shortest_s: float) -> tuple[list[float], list[float]]:
    """Return a line's times and values, with a NaN wherever nothing was seen for long.

    shortest_s: what is not long, however close its values are elsewhere.
    """
    steps = [after - before for before, after in pairwise(line.times)]
    silence_s = max(shortest_s, SILENCE * median(steps)) if steps else shortest_s
    times, values = line.times[:1], line.values[:1]
    for before, t, value in zip(line.times, line.times[1:], line.values[1:], strict=False):
        if t - before > silence_s:
            times.append((before + t) / 2)
            values.append(float("nan"))
        times.append(t)
        values.append(value)
    return times, values


def chart(panels: Sequence[Panel], across: int = 0) -> Chart:
    """Return panels over one time; across: those of a configuration, which stand side by side."""
    times = [t for panel in panels for line in panel.lines for t in line.times]
    first, last = min([0.0, *times]), max(times)
    # Values of neighbouring bins lie less than two bins apart, each at most 2 / BINS wide.
    shortest_s = 4 * (last - first) / BINS
    top: dict[str, float] = {}
    for panel in panels:
        values = [v for line in panel.lines for v in (line.band[1] if line.band else line.values)]
        values += [panel.limit[0]] if panel.limit else []
        top[panel.unit] = max([top.get(panel.unit, 0.0), *values])
    drawn = []
    for panel in panels:
        low, high = panel.span or (0, top[panel.unit] * 1.06 or 1)
        marks = [
            Mark(*broken(at, shortest_s), colour(at.index), dash(at.index), at.name, 0.8)
            for at in panel.lines
        ]
        zero = [Rule(0)] if panel.span and low < 0 < high and not panel.limit else []
        limits = [limit(*panel.limit)] if panel.limit else []
        bands = [Band(at.times, *at.band, colour(at.index)) for at in panel.lines if at.band]
        every = (*zero, *bands, *marks, *limits, Behind(panel.behind))
        drawn.append(Drawn(panel.heading, every, y=Axis(panel.unit, low, high)))
    return Chart(
        drawn,
        Axis("time (s)", first, last),
        Axis(),
        heights=(1.3, 0.95),
        lone=2,
        across=across,
    )
