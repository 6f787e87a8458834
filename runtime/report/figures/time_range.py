"""The part of a cell's time that a figure of what is within cells shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairc.dsl.model.metric_names import request_label, unmarked
from fairc.dsl.model.requests import Window
from fairc.runtime.repetitions.samples import Sample
from fairc.runtime.report.run import Run


def window_of(run: Run, metric: str) -> Window | None:
    """Return the window in which a value is measured, by its full name; None: it has none."""
    requests, label = run.plan.requests, request_label(metric)
    every = (*requests.measure, *requests.implied)
    return next((request.window for request in every if request.label == label), None)


def mark_of(metric: str) -> str:
    """Return what the names of a request's values end with, as a piece of text in SQL."""
    return metric.removeprefix(unmarked(metric)).replace("'", "''")


def of_members(table: str) -> str:
    """Return the rows of a table that `figure_members` has, in SQL; what is of the cell and no flow
    has an empty one there.
    """
    rows = f"SELECT * REPLACE (coalesce(flow, '') AS flow) FROM {table}"
    return f"({rows}) JOIN figure_members USING (cell, flow)"


def when(window: Window | None) -> str:
    """Say what is measured of a cell's time."""
    return "after the warm-up" if window is None else "in the window"


def bounds(
    run: Run, window: Window | None, samples: Sequence[Sample], *, whole: bool = False
) -> dict[str, NDArray[np.float64]]:
    """Return from when until when the cell of each sample is measured, s after the epoch.

    whole: without a window, all of its time; else what comes after the warm-up.
    """
    begin, until = [], []
    for sample in samples:
        bindings = dict(sample.outcome.bindings)
        start = window.begin if window else None
        end = window.end if window else None
        warmup_s = run.scenes[sample.outcome.configuration].warmup_ns * 1e-9
        otherwise = -math.inf if whole and window is None else warmup_s
        begin.append(otherwise if start is None else start.of(bindings))
        until.append(math.inf if end is None else end.of(bindings))
    return {"begin_s": np.array(begin), "until_s": np.array(until)}
