"""The figure `course`: K of the Fairness Measurement Procedure over time, with the rates and Jain's
index.

What stands at a time is the sum of the terms of K until then, so its last value is K
(runtime/metrics/fmp.py); the mean of Jain's index until then; and the rates of the sessions, which
both are made of.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fairc.runtime.formatting import number
from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.run import Run

from . import rates
from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from .traces import BINS, Line, Panel, ShownRun, over_time, representatives

K, JAIN = "fmp.K", "fmp.jain"
PANELS = 3
LEAST_SPAN = 0.05
"""Least extent of the axis of K in each direction: smaller values are as good as fair, and must
look so.
"""


def by_default(subject: Subject) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    found = representatives(subject)
    bins = BINS // min(len(found), 2)
    courses = [_traces(subject.run, shown.outcome, bins) for shown in found]
    if not any(K in course for course in courses):
        raise NothingToDraw("K over time is not stored")
    largest = max(abs(v) for course in courses for v in course.get(K, ([], [0.0]))[1])
    reach = max(1.1 * largest, LEAST_SPAN)
    panels: list[Panel] = []
    for shown, course in zip(found, courses, strict=True):
        place = len(subject.run.flows)
        # The first of the three has the configuration's name above it, which may be as long as all
        # three.
        lines = _rates(subject.run, shown)
        panels.append(Panel(shown.heading, "rate (Mbit/s)", lines, behind=shown.behind))
        for metric, label, span in (
            (JAIN, "Jain's index so far", (0.0, 1.05)),
            (K, "K so far", (-reach, reach)),
        ):
            lines = (Line("", place, *course[metric]),) if metric in course else ()
            panels.append(Panel("", label, lines, behind=shown.behind, span=span))
    ends = [
        f"{shown.configuration.label}: K = {number(course[K][1][-1], 3)}"
        for shown, course in zip(found, courses, strict=True)
        if K in course
    ]
    return over_time(
        found,
        panels,
        "course",
        "K over time",
        "K up to each time: below 0 the first session has received more so far. Early slots weigh"
        " more, and the last value is K. Also shown: the mean of Jain's index so far, and the rates"
        " of the sessions (IP bytes at the bottleneck's exit). With more than two sessions: the"
        " pair with the largest |K|.",
        f"Line charts over time. {'; '.join(ends[:4])}.",
        kept="",
        across=PANELS,
    )


def _rates(run: Run, shown: ShownRun) -> tuple[Line, ...]:
    """Return the rates of one repetition, Mbit/s."""
    series = rates.load(run, replace(shown.configuration, outcomes=(shown.outcome,)))
    if series is None:
        return ()
    lines = []
    for index, (flow, found) in enumerate(rates.together(run, series.rates).items()):
        there = np.isfinite(found).any(axis=0)
        if there.any():
            values = (np.nanmedian(found[:, there], axis=0) / 1e6).tolist()
            lines.append(Line(flow, index, series.t_s[there].tolist(), values))
    return tuple(lines)


def _traces(run: Run, outcome: Outcome, bins: int) -> dict[str, tuple[list[float], list[float]]]:
    """Return the courses of K and of Jain's index of a cell: times and values."""
    table = run.columns(
        "SELECT metric, t_s, value FROM traces WHERE cell = ? AND metric IN (?, ?) ORDER BY t_s",
        [outcome.cell, K, JAIN],
    )
    found = {}
    for metric in (K, JAIN):
        mine = table["metric"] == metric
        if mine.any():
            found[metric] = decimate(table["t_s"][mine], table["value"][mine], bins)
    return found


KIND = FigureKind("course", by_default=by_default, is_due=lambda subject: subject.measures("fmp"))
