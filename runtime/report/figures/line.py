"""The figure `line`: a metric against a swept name, the repetition or time, a line for each
group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import between, listed, one_line, quantity, scale_for

from . import overtime
from .axis import NamedAxis, named_axis, wants_log
from .base import Drawing, FigureKind, NothingToDraw, Subject, limits
from .cases import (
    Cases,
    by_text,
    grouped,
    headed,
    load,
    names_of,
    only,
    separated,
    stem,
    valued,
    worded,
)
from .layout import WIDE_LEFT, fitting, label_room, panels_for, short
from .points import Point
from .style import MUTED, Width, colour, dash, label_ends, logarithmic, pick
from .summing import Summing, summing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TIME = "time"


@dataclass(frozen=True, slots=True)
class Line:
    """A line: its name, its number among all lines of the figure, and its points."""

    name: str
    index: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Panel:
    """The lines that share axes."""

    heading: str
    lines: tuple[Line, ...]


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure; options: `x`, `by`, `facet`, `ci`, `stat`, `log`."""
    assert request is not None, "not a default figure"
    timed = request.options["x"] == TIME
    cases = load(subject, request, endless=not timed)
    facet, by = (names_of(request, option, cases) for option in ("facet", "by"))
    x = names_of(request, "x", cases) if not timed else tuple[str, ...]()
    by = separated(by, (*x, *facet), cases)
    sums = summing(request, cases)
    axis: NamedAxis | None = None
    if timed:
        series = overtime.load(subject, cases, (*facet, *by), sums)
        panels = _panels(cases, facet, by, series.points)
        unit, of = cases.unit, f" {series.caption}"
    else:
        name = str(request.options["x"])
        axis = named_axis(subject.run.plan, name, cases.orders[name], request)
        found = {
            key: [
                Point(axis.places[value], e.value, e.low, e.high, e.n, only(at))
                for (value,), at in grouped(members, x, cases.orders)
                if (e := sums(at)).value is not None
            ]
            for key, members in cases.groups((*facet, *by))
        }
        panels = _panels(cases, facet, by, found)
        unit, of = cases.unit, sums.remark((*x, *facet, *by))
    if not panels:
        raise NothingToDraw(f"no cell that counts has a value of {cases.metric}")
    limit = limits("line")
    most = max(len(panel.lines) for panel in panels)
    if len(panels) > limit.panels or most > limits("line").lines:
        raise NothingToDraw(
            f"{len(panels)} panels with {most} lines are more than {limit.panels} with"
            f" {limits('line').lines}"
        )
    shown = [p for panel in panels for line in panel.lines for p in line.points]
    ends = [v for p in shown for v in (p.value, p.low, p.high) if v is not None]
    logs = Logs(
        timed and wants_log(request, "x", (p.x for p in shown)), wants_log(request, "y", ends)
    )
    title = cases.title(f"against {one_line(str(request.options['x']))}", by_text((*by, *facet)))
    return Drawing(
        name=stem(subject, request),
        section="asked",
        title=title,
        caption=f"{_reading(panels, sums, timed)}{of} {cases.basis((*x, *by, *facet))}",
        alt=_alt(cases, panels, unit),
        draw=lambda width: _draw(cases, panels, axis, unit, width, logs),
    )


class Logs(NamedTuple):
    """Whether the time axis and the vertical axis are logarithmic; an axis of names knows for
    itself.
    """

    time: bool
    values: bool


def _panels(
    cases: Cases,
    facet: tuple[str, ...],
    by: tuple[str, ...],
    found: dict[tuple[str, ...], list[Point]],
) -> list[Panel]:
    order = {key[len(facet) :]: 0 for key in found}
    places = [{v: i for i, v in enumerate(cases.orders[n])} for n in by]
    ranked = sorted(order, key=lambda k: tuple(p[v] for p, v in zip(places, k, strict=True)))
    index = {key: i for i, key in enumerate(ranked)}
    panels: dict[tuple[str, ...], list[Line]] = {}
    for key, points in found.items():
        head, rest = key[: len(facet)], key[len(facet) :]
        if points:
            line = Line(valued(rest), index[rest], tuple(points))
            panels.setdefault(head, []).append(line)
    return [
        Panel(worded(facet, head), tuple(sorted(lines, key=lambda line: line.index)))
        for head, lines in panels.items()
    ]


def _reading(panels: list[Panel], sums: Summing, timed: bool) -> str:
    points = [p for panel in panels for line in panel.lines for p in line.points]
    sizes = sorted({p.n for p in points})
    n = between(sizes)
    text = f"Line: {sums.what} over the {n} cells of {'a bin' if timed else 'each point'}"
    if sizes == [1]:
        return "Line: the one cell of " + ("each group." if timed else "each point.")
    without = sum(p.low is None for p in points)
    if not timed and sizes[-1] < sums.of_cases.repeats.needed:
        return f"{text}."  # the page says once that they are too few
    if without == len(points):
        return f"{text}; too few, or all equal, for a {sums.interval}."
    some = " where there are enough cells" if without else ""
    return f"{text}; band or bar: its {sums.interval}{some}."


def _alt(cases: Cases, panels: list[Panel], unit: str) -> str:
    parts = [
        f"{headed(panel.heading, line.name)}:"
        f" {quantity(line.points[0].value, unit)} at the left,"
        f" {quantity(line.points[-1].value, unit)} at the right"
        for panel in panels
        for line in panel.lines
    ]
    return f"Line chart of {cases.metric}, {listed(parts, 6)}."


def _draw(
    cases: Cases,
    panels: list[Panel],
    axis: NamedAxis | None,
    unit: str,
    width: Width,
    logs: Logs,
) -> Figure:
    names = [line.name for panel in panels for line in panel.lines]
    layout = panels_for(
        width,
        [panel.heading for panel in panels],
        (1.7, 1.15),
        right=label_room(names),
        left=WIDE_LEFT,
    )
    points = [p for panel in panels for line in panel.lines for p in line.points]
    ends = [v for p in points for v in (p.value, p.low, p.high) if v is not None]
    scale = scale_for(unit, ends)
    low, high = min(ends) / scale.factor, max(ends) / scale.factor
    limits = (low / 1.2, high * 1.2)
    if not logs.values:
        low = min(low, 0.0)
        margin = 0.05 * (high - low) or 0.5
        limits = (low - (margin if low < 0 else 0), high + margin)
    for axes, panel in zip(layout.panels, panels, strict=True):
        if logs.values:
            logarithmic(axes, "y")
        axes.set_ylim(*limits)
        if low < 0 < high:
            axes.axhline(0, color=MUTED, linewidth=0.6)
        labels = []
        for place, line in enumerate(panel.lines):
            shift = (place - (len(panel.lines) - 1) / 2) * min(0.12, 0.6 / len(panel.lines))
            _line(axes, line, scale.factor, axis, shift)
            labels.append(
                (line.points[-1].value / scale.factor, short(line.name), colour(line.index))
            )
        if any(text for _, text, _ in labels):
            label_ends(axes, labels)
        axes.set_title(fitting(panel.heading, layout.width + label_room(names)))
    if axis:
        axis.apply(layout.panels[0], layout.width)
    else:
        layout.panels[0].set_xlim(
            min(p.x for p in points) if logs.time else 0, max(p.x for p in points)
        )
        if logs.time:
            logarithmic(layout.panels[0], "x")
    layout.label(
        short(axis.name) if axis else "time (s)",
        f"{cases.metric} ({scale.unit})" if scale.unit else cases.metric,
    )
    return layout.figure


def _line(axes: Axes, line: Line, factor: float, axis: NamedAxis | None, shift: float) -> None:
    paint = colour(line.index)
    moved = shift if axis and not axis.numeric else 0.0
    x = np.array([p.x + moved for p in line.points])
    y = np.array([p.value / factor for p in line.points])
    nan = float("nan")
    low = np.array([nan if p.low is None else p.low / factor for p in line.points])
    high = np.array([nan if p.high is None else p.high / factor for p in line.points])
    known = ~np.isnan(low)
    marker = "" if axis is None or len(x) > 60 else "o"
    of = [p.of for p in line.points] if marker and any(p.of for p in line.points) else []
    # A connected line claims that there is something between the values.
    joined = dash(line.index) if axis is None or axis.numeric else "none"
    axes.plot(x, y, color=paint, linestyle=joined, marker="" if of else marker, markersize=2.4)
    for here, there, name in zip(x, y, of, strict=False):
        axes.plot(here, there, color=paint, marker="o", markersize=2.4, gid=pick(name))
    if not known.any():
        return
    if joined != "none" and known.sum() > 1:
        axes.fill_between(x, low, high, color=paint, alpha=0.18, linewidth=0)
    else:
        axes.vlines(x[known], low[known], high[known], color=paint, linewidth=0.9)


KIND = FigureKind("line", make)
