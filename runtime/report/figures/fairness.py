"""The figure `fairness`: F and Jain's index of every repetition, median and interval marked."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import MINUS, number, one_line
from fairc.runtime.metrics.fairness import JAIN_SESSION, JAIN_SLOTS, F
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.report.run import Configuration
from fairc.runtime.report.summary import Results, Summary

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .layout import fitted, short
from .style import INK, LIMIT, MUTED, SERIES, WIDTHS, Width

# More rows would make a strip that nobody reads; the table has all of them.
MAX_ROWS = 16
_ROW = 0.24  # inches; a single row has room for more
_SINGLE = 0.42


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration: its values that count, those that do not, and the summary."""

    label: str
    counted: tuple[float, ...]
    left_out: tuple[float, ...]
    summary: Summary


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure from the cells' fairness: F where it is defined, and Jain's index."""
    del request  # a default figure: it has no options
    results = subject.results
    measures = [*results.select(F.name), *_jain(results)]
    configurations = subject.run.configurations
    shown = configurations if len(configurations) <= MAX_ROWS else subject.shown
    panels = [(m, _rows(results, m, shown)) for m in measures]
    panels = [(m, rows) for m, rows in panels if rows]
    if not panels:
        raise NothingToDraw("no fairness was measured")
    sessions = subject.run.sessions
    some = "" if shown is configurations else f" Only the configurations chosen: {subject.choice}."
    left_out = any(row.left_out for _, rows in panels for row in rows)
    crosses = " Crosses: invalid cells, left out of the median." if left_out else ""
    sides = (
        f" F below 0: {one_line(sessions[0])} dominates; above 0: {one_line(sessions[1])}."
        if len(sessions) == 2
        else ""
    )
    return Drawing(
        name="fairness",
        section="repetitions",
        title="Fairness of each repetition",
        caption=(
            "Dots: one repetition each; bar: the median; line: its 95 % interval, where there is"
            f" one.{sides} Jain's index: 1 is fair.{crosses}{some}"
        ),
        alt=_alt(panels),
        draw=lambda width: _draw(panels, sessions, width),
    )


def _jain(results: Results) -> list[Measure]:
    return [m for v in (JAIN_SESSION, JAIN_SLOTS) for m in results.select(v.name) if m.flow is None]


def _rows(
    results: Results, measure: Measure, configurations: tuple[Configuration, ...]
) -> list[Row]:
    rows = []
    for configuration in configurations:
        points = results.points(measure, configuration)
        if points:
            counted = tuple(v for o, v in points if o.counts)
            left_out = tuple(v for o, v in points if not o.counts)
            summary = results.summary(measure, configuration)
            label = configuration.label if configuration.bindings else ""
            rows.append(Row(label, counted, left_out, summary))
    return rows


def _alt(panels: list[tuple[Measure, list[Row]]]) -> str:
    parts = [
        f"{measure.metric}{' with ' + row.label if row.label else ''}: "
        + ", ".join(number(v, 3) for v in row.counted)
        for measure, rows in panels
        for row in rows[:4]
    ]
    return f"Strip chart, one dot per repetition. {'; '.join(parts)}."


def _draw(
    panels: list[tuple[Measure, list[Row]]], sessions: tuple[str, ...], width: Width
) -> Figure:
    labels = [row.label for _, rows in panels for row in rows]
    stacked = width == "column" or len(panels) == 1
    above, below, left, gap = 0.4, 0.34, 0.12, 0.3
    label_line = 0.14 if any(labels) else 0.0
    row = _SINGLE if all(len(rows) == 1 for _, rows in panels) else _ROW
    heights = [len(rows) * (row + label_line) for _, rows in panels]
    full = WIDTHS[width]
    if stacked:
        total = sum(heights) + len(panels) * (above + below)
        boxes = []
        top = total
        for height in heights:
            boxes.append((left, top - above - height, full - 2 * left, height))
            top -= above + height + below
    else:
        total = max(heights) + above + below
        each = (full - 2 * left - gap * (len(panels) - 1)) / len(panels)
        boxes = [
            (left + i * (each + gap), total - above - h, each, h) for i, h in enumerate(heights)
        ]
    figure = Figure(figsize=(full, total))
    for (measure, rows), (x, y, w, h) in zip(panels, boxes, strict=True):
        axes = figure.add_axes((x / full, y / total, w / full, h / total))
        _strip(axes, measure, rows, sessions, label_line / (row + label_line))
    return fitted(figure)


def _strip(
    axes: Axes, measure: Measure, rows: list[Row], sessions: tuple[str, ...], label_share: float
) -> None:
    signed = measure.metric == F.name
    axes.set_ylim(len(rows), 0)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    for place, row in enumerate(rows):
        y = place + label_share + (1 - label_share) * 0.5
        half = (1 - label_share) * 0.36
        if signed:
            axes.plot([0, 0], [y - half, y + half], color=MUTED, linewidth=0.8)
        if row.label:
            axes.text(
                0,
                place + label_share * 0.55,
                one_line(row.label),
                va="center",
                fontsize=6.2,
                color=MUTED,
                transform=axes.get_yaxis_transform(),
            )
        if row.summary.low is not None and row.summary.high is not None:
            axes.plot([row.summary.low, row.summary.high], [y, y], color=INK, linewidth=0.9)
        if row.summary.median is not None:
            axes.plot([row.summary.median] * 2, [y - half, y + half], color=INK, linewidth=1.6)
        # Repetitions are set apart in order, so that equal values are all seen.
        count = max(len(row.counted), 2)
        heights = [y + half * 1.2 * (i / (count - 1) - 0.5) for i in range(len(row.counted))]
        axes.plot(
            row.counted,
            heights,
            "o",
            color=SERIES[0],
            markersize=3.2,
            alpha=0.75,
            markeredgewidth=0,
        )
        axes.plot(row.left_out, [y] * len(row.left_out), "x", color=LIMIT, markersize=3.4)
    if signed:
        axes.set_xlim(-0.52, 0.52)
        axes.set_xticks(
            [-0.5, -0.25, 0, 0.25, 0.5], [f"{MINUS}0.5", f"{MINUS}0.25", "0", "0.25", "0.5"]
        )
        axes.set_title("session fairness F", pad=14)
        if len(sessions) == 2:
            for x, align, text in (
                (0, "left", "← " + short(sessions[0])),
                (1, "right", short(sessions[1]) + " →"),
            ):
                axes.text(
                    x, 1.0, text, ha=align, va="bottom", color=MUTED, transform=axes.transAxes
                )
    else:
        n = max(len(sessions), 2)
        axes.set_xlim(1 / n - 0.01 * (1 - 1 / n), 1 + 0.01)
        name = measure.metric.partition(".")[2].replace("_", ", ")
        axes.set_title("Jain's index" + name.removeprefix("jain"), pad=14)
        axes.text(1, 1.0, "fair", ha="right", va="bottom", color=MUTED, transform=axes.transAxes)
        axes.text(0, 1.0, "one has all", va="bottom", color=MUTED, transform=axes.transAxes)


KIND = FigureKind("fairness", make, lambda subject: subject.measures("fairness"))
