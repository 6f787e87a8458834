"""The figure `window`: congestion window and smoothed RTT of each flow in one repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from fairc.runtime.formatting import listed, one_line
from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.run import Run, by_flow

from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from .traces import BINS, Line, Panel, over_time, representatives

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = Mapping[str, Any]


def by_default(subject: Subject) -> Drawing:
    """Make the figure for the configurations whose time series are shown."""
    found = representatives(subject)
    bins = BINS // min(len(found), 2)
    panels: list[Panel] = []
    several = False
    for shown in found:
        windows, rtts, many = _lines(subject.run, shown.outcome, bins)
        several = several or many
        lead = f"{shown.heading}: " if shown.heading else ""
        panels.append(Panel(f"{lead}congestion window", "packets", windows, None, shown.behind))
        panels.append(Panel(f"{lead}smoothed RTT", "ms", rtts, None, shown.behind))
    panels = [p for p in panels if p.lines]
    if not panels:
        raise NothingToDraw("no samples of cwnd and RTT")
    summed = (
        " The window of a flow with several connections is the sum of their means in each bin."
        if several
        else ""
    )
    crowds = listed([*map(one_line, dict.fromkeys(subject.run.crowds.values()))])
    crowd = (
        f" Of all flows {crowds} together: the median of their means in each bin, and the band from"
        " the smallest to the largest."
        if crowds
        else ""
    )
    split = (
        " Where proxies split a flow's connections, those from the server to its proxy are shown."
        if any(subject.run.scenes[shown.configuration.id].is_split for shown in found)
        else ""
    )
    return over_time(
        found,
        panels,
        "window",
        "Congestion window and RTT",
        "Sampled inside the sender.",
        _alt(panels),
        kept="sample",
        more=f"{summed}{crowd}{split}",
        across=2,
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
    own = by_flow(table, run.flows)
    for index, (name, flows) in enumerate(run.together(run.flows).items()):
        if len(flows) > 1:
            members = [own[flow] for flow in flows if len(own[flow]["t_s"]) > 1]
            many = many or any(len(set(c["connection"].tolist())) > 1 for c in members)
            if members:
                ends = _ends(members)
                windows.append(_crowd(name, index, [_summed(c, bins, ends) for c in members]))
                rtts.append(_crowd(name, index, [_means(c, bins, ends) for c in members]))
            continue
        (flow,) = flows
        columns = own[flow]
        if len(columns["t_s"]) < 2:
            continue
        connections = len(set(columns["connection"].tolist()))
        if connections > 1:
            many = True
            windows.append(Line(flow, index, *_summed(columns, bins, _ends([columns]))))
        else:
            windows.append(
                Line(flow, index, *decimate(columns["t_s"], columns["cwnd_packets"], bins))
            )
        rtt = decimate(columns["t_s"], columns["rtt_ms"], bins)
        if rtt[0]:
            rtts.append(Line(flow, index, *rtt))
    return tuple(w for w in windows if w.times), tuple(r for r in rtts if r.times), many


Ends = tuple[float, float]
Series = tuple[list[float], list[float]]


def _ends(members: Sequence[Columns]) -> Ends:
    """Return the first and the last time of some flows' samples."""
    times = [columns["t_s"].astype(float) for columns in members]
    return min(float(t[0]) for t in times), max(float(t[-1]) for t in times)


def _places(columns: Columns, bins: int, ends: Ends) -> NDArray[np.int64]:
    """Return the bin of each sample."""
    first, last = ends
    share = (columns["t_s"].astype(float) - first) / (last - first or 1.0)
    found: NDArray[np.int64] = np.minimum((share * bins).astype(np.int64), bins - 1)
    return found


def _middles(bins: int, ends: Ends) -> NDArray[np.float64]:
    """Return the times of the bins."""
    first, last = ends
    return first + (np.arange(bins) + 0.5) * (last - first or 1.0) / bins


def _crowd(name: str, index: int, series: Sequence[Series]) -> Line:
    """Return the line of flows that are shown as one: the median of those that have a value in a
    bin.
    """
    values: dict[float, list[float]] = {}
    for times, own in series:
        for t, value in zip(times, own, strict=True):
            values.setdefault(t, []).append(value)
    found = [values[t] for t in sorted(values)]
    band = [*map(min, found)], [*map(max, found)]
    return Line(name, index, sorted(values), [*map(median, found)], band)


def _means(columns: Columns, bins: int, ends: Ends) -> Series:
    """Return the mean RTT in each bin of time that has one."""
    known = np.isfinite(columns["rtt_ms"].astype(float))
    at = _places(columns, bins, ends)[known]
    count = np.bincount(at, minlength=bins)
    total = np.bincount(at, columns["rtt_ms"].astype(float)[known], bins)
    seen = count > 0
    return _middles(bins, ends)[seen].tolist(), (total[seen] / count[seen]).tolist()


def _summed(columns: Columns, bins: int, ends: Ends) -> Series:
    """Return the sum over connections of their mean window in each bin of time."""
    at = _places(columns, bins, ends)
    total = np.zeros(bins)
    seen = np.zeros(bins, dtype=bool)
    for connection in sorted(set(columns["connection"].tolist())):
        mine = columns["connection"] == connection
        count = np.bincount(at[mine], minlength=bins)
        windows = np.bincount(at[mine], columns["cwnd_packets"][mine].astype(float), bins)
        total += np.divide(windows, count, out=np.zeros(bins), where=count > 0)
        seen |= count > 0
    return _middles(bins, ends)[seen].tolist(), total[seen].tolist()


KIND = FigureKind("window", by_default=by_default)
