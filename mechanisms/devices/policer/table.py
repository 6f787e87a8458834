"""The table `buckets`: the token bucket of each user of a policer in each slot of 100 ms."""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.schema import CELL, Column, Columns, Table, time_column

from .decisions import ECN, LOSS
from .record import policers_of


def _rows(measurement: Measurement) -> Columns:
    """Return a row for each bucket and slot, from the epoch to the end of the cell."""
    edges = measurement.edges()
    edges = edges[edges <= measurement.ended_s + 1e-9]
    parts: dict[str, list[object]] = {column.name: [] for column in TABLE.columns[1:]}
    for policer in policers_of(measurement) if len(edges) > 1 else ():
        decisions, levels = policer.decisions, policer.levels(edges[1:])
        for number, user in enumerate(policer.plan.buckets):
            ours = decisions.bucket == number
            kinds = {
                "packets": ours,
                "losses": ours & (decisions.echo == LOSS),
                "marks": ours & (decisions.echo == ECN),
                "tokens": ours & policer.charged,
                "dropped": ours & decisions.dropped,
            }
            for name, kind in kinds.items():
                parts[name] += np.histogram(policer.arrival_s[kind], edges)[0].tolist()
            parts["policer"] += [policer.plan.name] * (len(edges) - 1)
            parts["user"] += [user] * (len(edges) - 1)
            parts["t_s"] += edges[1:].tolist()
            parts["level"] += levels[number].tolist()
    return parts


TABLE = Table(
    "buckets",
    "the token bucket of a user at the end of a slot of 100 ms, and what happened in the slot"
    " (policers.md); none without a policer",
    (
        CELL,
        Column("policer", "VARCHAR", "", "name of the policer"),
        Column("user", "VARCHAR", "", "host of the user, or the source where there are no users"),
        time_column("t_s", "end of the slot after the epoch"),
        Column("level", "DOUBLE", "tokens", "level of the bucket at that time"),
        Column("packets", "BIGINT", "packets", "packets of the user that reached the policer"),
        Column("losses", "BIGINT", "packets", "of these, with a Re-Echo-Loss"),
        Column("marks", "BIGINT", "packets", "of these, with a Re-Echo-ECN"),
        Column("tokens", "BIGINT", "tokens", "tokens that they took"),
        Column("dropped", "BIGINT", "packets", "of these, dropped by the policer"),
    ),
    _rows,
)
