"""The figure `fairness`: F and Jain's index of every repetition, median and interval marked."""

from __future__ import annotations

from fairc.dsl.model.metric_names import unmarked
from fairc.runtime.formatting import number, one_line
from fairc.runtime.metrics.fairness import JAIN_SESSION, JAIN_SLOTS, F
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.repetitions.samples import Group
from fairc.runtime.report.run import Configuration

from .base import Drawing, FigureKind, NothingToDraw, Subject
from .chart import Axis
from .marks import Line, Mark, dots
from .rows import Panel, Row, Rows
from .style import INK, LIMIT, MUTED, SERIES
from .wording import sides_of

# More rows would make a strip that nobody reads; the table has all of them.
MAX_ROWS = 16
_TEXT, _STRIP, _LONE = 0.14, 0.24, 0.42
"""Heights of a configuration's name and of its strip, inches; a single strip has room for more."""


def by_default(subject: Subject) -> Drawing:
    """Make the figure from the cells' fairness: F where it is defined, and Jain's index."""
    results = subject.results
    kinds = [value.name for value in (F, JAIN_SESSION, JAIN_SLOTS)]
    measures = [m for m in results.measures if unmarked(m.metric) in kinds]
    every = subject.run.configurations
    chosen = every if len(every) <= MAX_ROWS else subject.shown
    found = [
        (m, [c for c in chosen if results.group(m, c).numbers])
        for m in sorted(measures, key=lambda m: kinds.index(unmarked(m.metric)))
        if unmarked(m.metric) == F.name or not m.flow
    ]
    found = [(measure, configurations) for measure, configurations in found if configurations]
    if not found:
        raise NothingToDraw("no fairness was measured")
    left_out = any(_numbers(results.group(m, c), counts=False) for m, cs in found for c in cs)
    sides = "".join(f" {whose}" for m, _ in found if (whose := sides_of(subject.run, m.metric)))
    values = [
        f"{m.metric}{' with ' + c.label if c.bindings else ''}: "
        + ", ".join(number(v, 3) for v in _numbers(results.group(m, c)))
        for m, configurations in found
        for c in configurations[:4]
    ]
    lone = all(len(configurations) == 1 for _, configurations in found)
    return Drawing(
        name="fairness",
        section="repetitions",
        title="Fairness of each repetition",
        caption=(
            "Dots: one repetition each; bar: the median; line: its 95 % interval, where there is"
            f" one.{sides} Jain's index: 1 is fair."
            + (" Crosses: invalid cells, left out of the median." if left_out else "")
            + (f" Only the configurations chosen: {subject.choice}." if chosen != every else "")
        ),
        alt=f"Strip chart, one dot per repetition. {'; '.join(values)}.",
        picture=Rows([_panel(subject, *of, _LONE if lone else _STRIP) for of in found], 3),
    )


def _panel(
    subject: Subject, measure: Measure, configurations: list[Configuration], strip: float
) -> Panel:
    rows: list[Row] = []
    text = _TEXT if any(c.bindings for c in configurations) else 0.0
    for place, configuration in enumerate(configurations):
        label = one_line(configuration.label) if configuration.bindings else ""
        at = place * (text + strip) + text + strip / 2
        marks = _strip(subject, measure, configuration, at, 0.36 * strip)
        rows.append(Row(label, text + strip, marks))
    sessions = subject.run.sessions
    among = measure.metric.removeprefix(unmarked(measure.metric)).strip("()")
    of = f" of {among}" if among else ""
    if unmarked(measure.metric) == F.name:
        named = len(sessions) == 2 and not among
        ends = (f"← {sessions[0]}", f"{sessions[1]} →") if named else ("", "")
        axis = Axis("", -0.52, 0.52, ticks=(-0.5, -0.25, 0, 0.25, 0.5))
        return Panel(f"session fairness F{of}", rows, axis, ends)
    least = 1 / max(len(sessions), 2)
    name = unmarked(measure.metric).partition(".")[2].replace("_", ", ")
    heading = "Jain's index" + name.removeprefix("jain") + of
    axis = Axis("", least - 0.01 * (1 - least), 1.01)
    return Panel(heading, rows, axis, ("one has all", "fair"))


def _strip(
    subject: Subject, measure: Measure, configuration: Configuration, y: float, half: float
) -> list[Mark]:
    """Return the values of a configuration, their median and its interval around a height."""
    group = subject.results.group(measure, configuration)
    median, counted, left_out = group.median, _numbers(group), _numbers(group, counts=False)
    upright = [y - half, y + half]
    marks: list[Mark] = []
    if unmarked(measure.metric) == F.name:
        marks.append(Line([0, 0], upright, MUTED, width=0.8))
    if median.low is not None and median.high is not None:
        marks.append(Line([median.low, median.high], [y, y], INK, width=0.9))
    if median.value is not None:
        marks.append(Line([median.value] * 2, upright, INK, width=1.6))
    # Repetitions are set apart in order, so that equal values are all seen.
    step = 1.2 * half / max(len(counted) - 1, 1)
    heights = [y - 0.6 * half + i * step for i in range(len(counted))]
    marks.append(dots(counted, heights, SERIES[0], "o", 3.2, edge=0, alpha=0.75))
    marks.append(dots(left_out, [y] * len(left_out), LIMIT, "x", 3.4))
    return marks


def _numbers(group: Group, *, counts: bool = True) -> list[float]:
    """Return the numbers of the cells that count, or of those that do not."""
    own = (value for value in group.members if value.outcome.counts is counts)
    return [value.number for value in own if value.number is not None]


KIND = FigureKind(
    "fairness", by_default=by_default, is_due=lambda subject: subject.measures("fairness")
)
