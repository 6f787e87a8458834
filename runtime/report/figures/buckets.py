"""The figure `buckets`: the level of users' buckets in one repetition, with the level of an empty
one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import one_line
from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.run import Run

from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from .layout import columns_for, fitting, grid, label_room, short
from .style import LIMIT, Width, colour, dash, label_ends
from .traces import BINS, Line, Panel, chosen_text, representatives

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_USERS = 6
"""Lines of one panel: users by how many of their packets were dropped, and then by tokens."""


def polices(subject: Subject) -> bool:
    """Tell whether any cell of the run has a policer."""
    return bool(subject.run.rows("SELECT 1 FROM buckets LIMIT 1"))


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    del request  # a default figure: it has no options
    found = representatives(subject)
    panels = [
        panel
        for _, outcome, _, heading in found
        for panel in _panels(subject.run, outcome, heading)
    ]
    if not panels:
        raise NothingToDraw("none of the configurations shown has a policer")
    lowest = min(value for panel in panels for line in panel.lines for value in line.values)
    return Drawing(
        name="buckets",
        section="time",
        title="Buckets of the policer",
        caption=(
            "Tokens in each user's bucket at the end of each slot; dashed: an empty bucket, below"
            f" which packets are dropped. With more than {MOST_USERS} users, only those with"
            f" the most"
            f" drops, and then the most tokens, are shown. {chosen_text(found)} Each bin of"
            f" time keeps its smallest and its"
            " largest value."
        ),
        alt=f"Line chart of the level of buckets over time, down to {lowest:.3g} tokens.",
        draw=lambda width: _draw(panels, width),
    )


def _panels(run: Run, outcome: Outcome, heading: str) -> list[Panel]:
    ranked = run.rows(
        "SELECT policer, user FROM buckets WHERE cell = ? GROUP BY policer, user"
        " ORDER BY policer, sum(dropped) DESC, sum(tokens) DESC, user",
        [outcome.cell],
    )
    users: dict[str, list[str]] = {}
    for policer, user in ranked:
        users.setdefault(str(policer), []).append(str(user))
    panels = []
    for policer, names in users.items():
        lines = []
        for index, user in enumerate(names[:MOST_USERS]):
            table = run.columns(
                "SELECT t_s, level FROM buckets WHERE cell = ? AND policer = ? AND user = ?"
                " ORDER BY t_s",
                [outcome.cell, policer, user],
            )
            lines.append(Line(user, index, *decimate(table["t_s"], table["level"], BINS // 2)))
        title = policer if not heading else f"{heading}: {policer}" if len(users) > 1 else heading
        panels.append(Panel(one_line(title), "tokens", tuple(lines)))
    return panels


def _draw(panels: list[Panel], width: Width) -> Figure:
    columns = columns_for(width, len(panels))
    names = [line.name for panel in panels for line in panel.lines]
    height = 1.3 if len(panels) <= 2 else 0.95
    layout = grid(width, columns, len(panels), height, label_room(names), headings=True)
    values = [v for panel in panels for line in panel.lines for v in line.values]
    low, high = min([0.0, *values]), max(values)
    margin = 0.05 * (high - low) or 0.5
    for axes, panel in zip(layout.panels, panels, strict=True):
        ends = []
        for line in panel.lines:
            paint = colour(line.index)
            axes.plot(
                line.times, line.values, color=paint, linestyle=dash(line.index), linewidth=0.8
            )
            ends.append((line.values[-1], short(line.name), paint))
        axes.axhline(0, color=LIMIT, linewidth=0.8, linestyle=(0, (5, 2)))
        label_ends(axes, ends)
        axes.set_xlim(0, max(line.times[-1] for line in panel.lines))
        axes.set_ylim(low - margin, high + margin)
        axes.set_title(fitting(panel.heading, layout.width + label_room(names)))
        axes.set_ylabel(panel.unit)
    layout.label("time (s)")
    return layout.figure


KIND = FigureKind("buckets", make, polices)
