"""The figure `queue`: backlog of each bottleneck queue in one repetition, with its limit."""

from __future__ import annotations

import numpy as np

from fairc.runtime.formatting import Scale, quantity, scale_for
from fairc.runtime.report.links import named
from fairc.runtime.report.run import Run

from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from .traces import BINS, Line, Panel, ShownRun, over_time, representatives


def by_default(subject: Subject) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    found = representatives(subject)
    bins = BINS // min(len(found), 2)
    panels = [panel for shown in found for panel in _panels(subject.run, shown, bins)]
    if not panels:
        raise NothingToDraw("no samples of a queue")
    parts = [
        f"{p.heading}: up to {quantity(max(p.lines[0].values), p.unit)}"
        + (f", limit {quantity(p.limit[0], p.unit)}" if p.limit else "")
        for p in panels[:4]
    ]
    return over_time(
        found,
        panels,
        "queue",
        "Bottleneck queue",
        "Largest backlog in each slot of 100 ms; dashed: the limit.",
        f"Line chart of the backlog over time. {'; '.join(parts)}.",
    )


def _panels(run: Run, shown: ShownRun, bins: int) -> list[Panel]:
    """Return a panel per queue: in packets where the limit is in packets, else in bytes."""
    table = run.columns(
        "SELECT queue, t_s, max_bytes, max_packets FROM queues WHERE cell = ? ORDER BY queue, t_s",
        [shown.outcome.cell],
    )
    panels = []
    for name in sorted(set(table["queue"].tolist())):
        link = named(run.scenes[shown.configuration.id], name)
        mine = {k: v[table["queue"] == name] for k, v in table.items()}
        node, _, interface = name.partition("/")
        queue = run.queue_of(shown.configuration.id, node, interface)
        in_packets = queue is not None and queue.limit_packets is not None
        backlog = mine["max_packets" if in_packets else "max_bytes"].astype(float)
        limit = float((queue.limit_packets or queue.limit_bytes or 0) if queue else 0)
        largest = float(np.nanmax(backlog, initial=limit))
        scale = Scale(1.0, "packets") if in_packets else scale_for("B", [largest])
        times, values = decimate(mine["t_s"], backlog / scale.factor, bins)
        if times:
            panels.append(
                Panel(
                    f"{shown.heading}: {link}" if shown.heading else link,
                    scale.unit,
                    (Line("backlog", 0, times, values),),
                    (limit / scale.factor, "limit") if limit else None,
                    shown.behind,
                )
            )
    return panels


KIND = FigureKind("queue", by_default=by_default)
