"""Shared by figures of one repetition over time: which one is shown, and panels of lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.run import Configuration

from .base import NothingToDraw, Subject, panel_names
from .layout import columns_for, fitting, grid, label_room, short
from .style import GRID, LIMIT, MUTED, Width, colour, dash, label_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Bins across a panel for each panel in a row; each keeps its smallest and largest value.
BINS = 300
# Samples come every 100 ms while a connection is open; a longer silence breaks its line.
SILENCE_S = 1.0


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: its flow's place in the experiment, times in s, and values."""

    name: str
    index: int
    times: list[float]
    values: list[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """Lines over time with one unit; limit: a value to mark with a line, and its name.

    warmup_s: the time that metrics leave out, from 0, s.
    span: the ends of the vertical axis; None: from 0 to the largest value of the figure in this
    unit.
    """

    heading: str
    unit: str
    lines: tuple[Line, ...]
    limit: tuple[float, str] | None = None
    warmup_s: float = 0.0
    span: tuple[float, float] | None = None


def shaded(panels: Sequence[Panel]) -> str:
    """Return the explanation of the shading, if there is any, for the end of a caption."""
    return " Shaded: the warm-up." if any(panel.warmup_s for panel in panels) else ""


def shade(axes: Axes, warmup_s: float) -> None:
    """Shade the warm-up, from 0 s on, behind everything."""
    if warmup_s:
        axes.axvspan(0, warmup_s, color=GRID, alpha=0.55, linewidth=0, zorder=0)


class Shown(NamedTuple):
    """The repetition shown for a configuration, why this one, and the heading of its panels."""

    configuration: Configuration
    outcome: Outcome
    why: str
    heading: str


def representatives(subject: Subject) -> list[Shown]:
    """Return the repetition shown for each configuration. Raises NothingToDraw."""
    chosen = [(c, subject.results.representative(c)) for c in subject.shown]
    found = [(c, *r) for c, r in chosen if r is not None]
    if not found:
        raise NothingToDraw("no cell counts")
    names = panel_names(c for c, _, _ in found)
    return [Shown(*shown, name) for shown, name in zip(found, names, strict=True)]


def chosen_text(found: list[Shown]) -> str:
    """Return a sentence that names the repetition shown: one run, not a summary."""
    if len(found) == 1:
        return f"One run, not a summary: repetition {found[0].outcome.repetition}, {found[0].why}."
    which = "; ".join(f"{s.configuration.label}: repetition {s.outcome.repetition}" for s in found)
    reasons = " or ".join(dict.fromkeys(shown.why for shown in found))
    return f"One run each, not a summary: {reasons} ({which})."


def broken(line: Line, silence_s: float) -> tuple[list[float], list[float]]:
    """Return a line's times and values, with a NaN wherever nothing was seen for longer than
    this.
    """
    times, values = line.times[:1], line.values[:1]
    for before, t, value in zip(line.times, line.times[1:], line.values[1:], strict=False):
        if t - before > silence_s:
            times.append((before + t) / 2)
            values.append(float("nan"))
        times.append(t)
        values.append(value)
    return times, values


def draw_panels(panels: list[Panel], width: Width, per_configuration: int) -> Figure:
    """Draw panels as small multiples; those of one configuration stand side by side on a page."""
    labels = [line.name for panel in panels for line in panel.lines]
    labels += [panel.limit[1] for panel in panels if panel.limit]
    columns = columns_for(width, len(panels))
    if width == "page" and per_configuration > 1:
        columns = per_configuration
    few = len(panels) <= 2
    layout = grid(
        width, columns, len(panels), 1.3 if few else 0.95, label_room(labels), headings=True
    )
    times = [t for panel in panels for line in panel.lines for t in line.times]
    first, last = min([0.0, *times]), max(times)
    top: dict[str, float] = {}
    for panel in panels:
        values = [v for line in panel.lines for v in line.values]
        values += [panel.limit[0]] if panel.limit else []
        top[panel.unit] = max([top.get(panel.unit, 0.0), *values])
    for axes, panel in zip(layout.panels, panels, strict=True):
        axes.set_ylim(panel.span or (0, top[panel.unit] * 1.06 or 1))
        if panel.span and panel.span[0] < 0 < panel.span[1]:
            axes.axhline(0, color=MUTED, linewidth=0.6)
        ends: list[tuple[float, str, str]] = []
        for line in panel.lines:
            paint = colour(line.index)
            silence_s = max(SILENCE_S, 3 * (last - first) / BINS)
            axes.plot(
                *broken(line, silence_s), color=paint, linestyle=dash(line.index), linewidth=0.8
            )
            ends.append((line.values[-1], short(line.name), paint))
        if panel.limit:
            axes.axhline(panel.limit[0], color=LIMIT, linewidth=0.8, linestyle=(0, (5, 2)))
            ends.append((panel.limit[0], short(panel.limit[1]), LIMIT))
        label_ends(axes, ends)
        shade(axes, panel.warmup_s)
        axes.set_xlim(first, last)
        axes.set_title(fitting(panel.heading, layout.width + label_room(labels)))
        axes.set_ylabel(panel.unit)
    layout.label("time (s)")
    return layout.figure
