"""The part of a cell's time that a figure of what is within cells shows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairc.dsl.model.metric_names import unmarked
from fairc.dsl.model.requests import Window
from fairc.runtime.repetitions.samples import Sample
from fairc.runtime.report.run import Run


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
        warmup_s = run.scenes[sample.outcome.configuration].warmup_ns * 1e-9
        begin_s, until_s = -math.inf if whole else None, math.inf
        if window is not None:
            begin_s, until_s = window.of(dict(sample.outcome.bindings))
        begin.append(warmup_s if begin_s is None else begin_s)
        until.append(until_s)
    return {"begin_s": np.array(begin), "until_s": np.array(until)}
