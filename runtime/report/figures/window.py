"""The figure `window`: congestion window and smoothed RTT of each flow in one repetition."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.run import Run, by_flow

from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from .traces import BINS, Line, Panel, chart, chosen_text, representatives, shaded


def unasked(subject: Subject) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    found = representatives(subject)
    bins = BINS if len(found) == 1 else BINS // 2
    panels: list[Panel] = []
    several = False
    for shown in found:
        windows, rtts, many = _lines(subject.run, shown.outcome, bins)
        several = several or many
        lead = f"{shown.heading}: " if shown.heading else ""
        warm = shown.warmup_s
        panels.append(Panel(f"{lead}congestion window", "packets", windows, None, warm))
        panels.append(Panel(f"{lead}smoothed RTT", "ms", rtts, None, warm))
    panels = [p for p in panels if p.lines]
    if not panels:
        raise NothingToDraw("no samples of cwnd and RTT")
    summed = (
        " The window of a flow with several connections is the sum of their means in each bin."
        if several
        else ""
    )
    split = (
        " Where proxies split a flow's connections, those from the server to its proxy are shown."
        if any(subject.run.scenes[shown.configuration.id].peps for shown in found)
        else ""
    )
    return Drawing(
        name="window",
        section="time",
        title="Congestion window and RTT",
        caption=(
            f"Sampled inside the sender. {chosen_text(found)} Each bin of time keeps"
            f" its smallest and its largest sample.{shaded(panels)}{summed}{split}"
        ),
        alt=_alt(panels),
        picture=chart(panels, across=2),
    )


def _alt(panels: list[Panel]) -> str:
    parts = [
        f"{p.heading}, {line.name}: {min(line.values):.3g} to {max(line.values):.3g} {p.unit}"
        for p in panels[:4]
        for line in p.lines
    ]
    return f"Line charts over time. {'; '.join(parts)}."


def _lines(
    run: Run, outcome: Outcome, bins: int
) -> tuple[tuple[Line, ...], tuple[Line, ...], bool]:
    table = run.columns(
        "SELECT flow, connection, t_s, cwnd_packets,"
        # 0 stands for a connection that has measured nothing yet.
        " CASE WHEN rtt_s > 0 THEN rtt_s * 1000 END AS rtt_ms FROM samples"
        " WHERE cell = ? ORDER BY flow, t_s, connection",
        [outcome.cell],
    )
    windows: list[Line] = []
    rtts: list[Line] = []
    many = False
    for index, (flow, columns) in enumerate(by_flow(table, run.flows).items()):
        if len(columns["t_s"]) < 2:
            continue
        connections = len(set(columns["connection"].tolist()))
        if connections > 1:
            many = True
            windows.append(Line(flow, index, *_summed(columns, bins)))
        else:
            windows.append(
                Line(flow, index, *decimate(columns["t_s"], columns["cwnd_packets"], bins))
            )
        rtt = decimate(columns["t_s"], columns["rtt_ms"], bins)
        if rtt[0]:
            rtts.append(Line(flow, index, *rtt))
    return tuple(w for w in windows if w.times), tuple(rtts), many


def _summed(columns: dict[str, Any], bins: int) -> tuple[list[float], list[float]]:
    """Return the sum over connections of their mean window in each bin of time."""
    t = columns["t_s"].astype(float)
    span = float(t[-1] - t[0]) or 1.0
    at = np.minimum(((t - t[0]) / span * bins).astype(int), bins - 1)
    total = np.zeros(bins)
    seen = np.zeros(bins, dtype=bool)
    for connection in sorted(set(columns["connection"].tolist())):
        mine = columns["connection"] == connection
        count = np.bincount(at[mine], minlength=bins)
        windows = np.bincount(at[mine], columns["cwnd_packets"][mine].astype(float), bins)
        total += np.divide(windows, count, out=np.zeros(bins), where=count > 0)
        seen |= count > 0
    middle = t[0] + (np.arange(bins) + 0.5) * span / bins
    return middle[seen].tolist(), total[seen].tolist()


KIND = FigureKind("window", unasked=unasked)
