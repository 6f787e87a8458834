"""The figure `queue`: backlog of each bottleneck queue in one repetition, with its limit."""

from __future__ import annotations

from typing import Any

from fairc.compiler.plan import FigureRequest
from fairc.runtime.report.run import Configuration, Outcome, Run
from fairc.runtime.report.words import scale_for

from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate, panel_names
from .traces import BINS, Line, Panel, chosen_words, draw_panels, representatives


def make(subject: Subject, request: FigureRequest | None) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    del request  # a default figure: it has no options
    found = representatives(subject)
    headings = panel_names(c for c, _, _ in found)
    bins = BINS if len(found) == 1 else BINS // 2
    panels = [
        panel
        for (configuration, outcome, _), heading in zip(found, headings, strict=True)
        for panel in _panels(subject.run, configuration, outcome, heading, bins)
    ]
    if not panels:
        raise NothingToDraw("no samples of a queue")
    parts = [
        f"{p.heading}: up to {max(p.lines[0].values):.3g} {p.unit}"
        + (f", limit {p.limit[0]:.3g} {p.unit}" if p.limit else "")
        for p in panels[:4]
    ]
    return Drawing(
        name="queue",
        section="time",
        title="Bottleneck queue",
        caption=(
            f"Backlog at the end of each slot; dashed: the limit. {chosen_words(found)} Each bin"
            " of time keeps its smallest and its largest value."
        ),
        alt=f"Line chart of the backlog over time. {'; '.join(parts)}.",
        draw=lambda width: draw_panels(panels, width, per_configuration=1),
    )


def _panels(
    run: Run, configuration: Configuration, outcome: Outcome, heading: str, bins: int
) -> list[Panel]:
    """Return a panel per queue: in packets where the limit is in packets, else in bytes."""
    table = run.columns(
        "SELECT queue, t_s, bytes, packets FROM queues WHERE cell = ? ORDER BY queue, t_s",
        [outcome.cell],
    )
    panels = []
    for name in sorted(set(table["queue"].tolist())):
        mine = {k: v[table["queue"] == name] for k, v in table.items()}
        node, _, interface = name.partition("/")
        queue = run.queue_of(configuration.id, node, interface)
        title = f"{heading}: {name}" if heading else name
        if queue is not None and queue.limit_packets is not None:
            panel = _panel(title, "packets", 1.0, mine["t_s"], mine["packets"], bins)
            limit = float(queue.limit_packets)
        else:
            most = float(queue.limit_bytes) if queue and queue.limit_bytes else 0.0
            scale = scale_for("B", [most, float(mine["bytes"].max())])
            panel = _panel(title, scale.unit, scale.factor, mine["t_s"], mine["bytes"], bins)
            limit = most / scale.factor
        panels.append(
            Panel(panel.heading, panel.unit, panel.lines, (limit, "limit") if limit else None)
        )
    return panels


def _panel(title: str, unit: str, factor: float, times: Any, values: Any, bins: int) -> Panel:
    t, v = decimate(times, values.astype(float) / factor, bins)
    return Panel(title, unit, (Line("backlog", 0, t, v),))


KIND = FigureKind("queue", make)
