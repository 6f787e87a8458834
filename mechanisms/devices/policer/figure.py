"""The figure `buckets`: the level of users' buckets in one repetition, with the level of an empty
one.
"""

from __future__ import annotations

from fairc.runtime.formatting import one_line, quantity
from fairc.runtime.report.figures.base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from fairc.runtime.report.figures.traces import (
    BINS,
    Line,
    Panel,
    ShownRun,
    over_time,
    representatives,
)
from fairc.runtime.report.run import Run

MOST_USERS = 6
"""Lines of one panel: users by how many of their packets were dropped, and then by tokens."""


def polices(subject: Subject) -> bool:
    """Tell whether any cell of the run has a policer."""
    return bool(subject.run.rows("SELECT 1 FROM buckets LIMIT 1"))


def by_default(subject: Subject) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    found = representatives(subject)
    lines = [(shown, *of) for shown in found for of in _lines(subject.run, shown)]
    if not lines:
        raise NothingToDraw("none of the configurations shown has a policer")
    values = [value for *_, of in lines for line in of for value in line.values]
    low, high = min([0.0, *values]), max(values)
    margin = 0.05 * (high - low) or 0.5
    span = low - margin, high + margin
    panels = [
        Panel(heading, "tokens", of, (0.0, ""), shown.behind, span) for shown, heading, of in lines
    ]
    return over_time(
        found,
        panels,
        "buckets",
        "Buckets of the policer",
        "Tokens in each user's bucket at the end of each slot; dashed: an empty bucket, below"
        f" which packets are dropped. With more than {MOST_USERS} users, only those with the most"
        " drops, and then the most tokens, are shown.",
        f"Line chart of the level of buckets over time, down to {quantity(min(values), 'tokens')}.",
    )


def _lines(run: Run, shown: ShownRun) -> list[tuple[str, tuple[Line, ...]]]:
    """Return the levels of users' buckets, by the heading of each policer's panel."""
    cell = shown.outcome.cell
    ranked = run.rows(
        "SELECT policer, user FROM buckets WHERE cell = ? GROUP BY policer, user"
        " ORDER BY policer, sum(dropped) DESC, sum(tokens) DESC, user",
        [cell],
    )
    users: dict[str, list[str]] = {}
    for policer, user in ranked:
        users.setdefault(str(policer), []).append(str(user))
    found = []
    for policer, names in users.items():
        lines = []
        for index, user in enumerate(names[:MOST_USERS]):
            table = run.columns(
                "SELECT t_s, level FROM buckets WHERE cell = ? AND policer = ? AND user = ?"
                " ORDER BY t_s",
                [cell, policer, user],
            )
            lines.append(Line(user, index, *decimate(table["t_s"], table["level"], BINS // 2)))
        title = policer
        if shown.heading:
            title = f"{shown.heading}: {policer}" if len(users) > 1 else shown.heading
        found.append((one_line(title), tuple(lines)))
    return found


KIND = FigureKind("buckets", by_default=by_default, is_due=polices)
