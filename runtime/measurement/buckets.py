"""What is kept of policers: the bucket of each user in each slot of 100 ms."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from .pages import Rows, rows
from .policers import PolicerRecord
from .policing import ECN, LOSS
from .record import Measurement

COLUMNS: Mapping[str, type] = {
    "policer": str,
    "user": str,
    "t_s": float,
    "level": float,
    "packets": int,
    "losses": int,
    "marks": int,
    "tokens": int,
    "dropped": int,
}
"""t_s: the end of the slot, s after the epoch; level: at that time, tokens; the rest count the
slot's packets: arrivals, re-echoed losses and marks, those that took a token, those that were
dropped.
"""


def nothing() -> Rows:
    """Return the rows of a cell without policers."""
    return rows(COLUMNS, [])


def bucket_rows(measurement: Measurement) -> Rows:
    """Return a row for each bucket and slot, from the epoch to the end of the cell."""
    edges = measurement.edges()
    edges = edges[edges <= measurement.ended_s + 1e-9]
    if len(edges) < 2:
        return nothing()
    samples = [
        row
        for policer in measurement.policers
        for number in range(len(policer.plan.buckets))
        for row in _of_bucket(policer, number, edges)
    ]
    return rows(COLUMNS, samples)


def _of_bucket(
    policer: PolicerRecord, number: int, edges: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> list[tuple[object, ...]]:
    decisions = policer.decisions
    ours = decisions.bucket == number
    kinds = (
        ours,
        ours & (decisions.echo == LOSS),
        ours & (decisions.echo == ECN),
        ours & policer.charged,
        ours & decisions.dropped,
    )
    counts = [np.histogram(policer.arrival_s[kind], edges)[0].tolist() for kind in kinds]
    levels = policer.levels(edges[1:])[number].tolist()
    names = [policer.plan.name] * len(levels), [policer.plan.buckets[number]] * len(levels)
    return list(zip(*names, edges[1:].tolist(), levels, *counts, strict=True))
