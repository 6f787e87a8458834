"""The figure `window`: congestion window and smoothed RTT of each flow in one repetition."""

from __future__ import annotations

from collections.abc import Sequence

from fairc.runtime.formatting import listed, one_line, quantity
from fairc.runtime.repetitions.reading import Outcome
from fairc.runtime.report.run import Run, by_flow, in_list

from .base import Drawing, FigureKind, NothingToDraw, Subject, decimate
from .traces import BINS, Line, Panel, over_time, representatives


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
        f"{p.heading}, {line.name}: {quantity(min(line.values), '')} to"
        f" {quantity(max(line.values), p.unit)}"
        for p in panels[:4]
        for line in p.lines
    ]
    return f"Line charts over time. {'; '.join(parts)}."


_BINNED = """
    WITH of AS (SELECT * FROM samples WHERE cell = ? AND flow {flows}),
    ends AS (SELECT min(t_s) AS first, greatest(max(t_s) - min(t_s), 1e-9) AS lasts FROM of),
    each AS (
        SELECT flow, connection, least(CAST(floor((t_s - first) / lasts * {bins}) AS INTEGER),
            {bins} - 1) AS bin, avg(cwnd_packets ORDER BY t_s) AS packets,
            sum(rtt_s * 1000 ORDER BY t_s) FILTER (rtt_s > 0) AS rtt_ms,
            count(*) FILTER (rtt_s > 0) AS n
        FROM of, ends GROUP BY flow, connection, bin
    ),
    flows AS (
        SELECT flow, bin, sum(packets ORDER BY connection) AS packets,
            sum(rtt_ms ORDER BY connection) / nullif(sum(n), 0) AS rtt_ms
        FROM each GROUP BY flow, bin
    )
    SELECT first + (bin + 0.5) * lasts / {bins} AS t_s, median({value}), min({value}), max({value})
    FROM flows, ends WHERE {value} IS NOT NULL GROUP BY bin, first, lasts ORDER BY bin
"""
"""Of each flow the sum over connections of their mean windows in each bin of time, and the mean of
their RTTs; of all the median, the smallest and the largest."""


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
    own = by_flow(table, run.flows)

    def binned(name: str, index: int, flows: Sequence[str], value: str) -> Line:
        within, names = in_list(flows)
        query = _BINNED.format(flows=within, bins=bins, value=value)
        columns = list(zip(*run.rows(query, [outcome.cell, *names]), strict=True))
        times, middle, low, high = map(list, columns) if columns else ([], [], [], [])
        return Line(name, index, times, middle, (low, high) if len(flows) > 1 else None)

    windows: list[Line] = []
    rtts: list[Line] = []
    many = False
    for index, (name, flows) in enumerate(run.together(run.flows).items()):
        members = [flow for flow in flows if len(own[flow]["t_s"]) > 1]
        several = any(len(set(own[flow]["connection"].tolist())) > 1 for flow in members)
        many = many or several
        if len(flows) > 1 and members:
            windows.append(binned(name, index, members, "packets"))
            rtts.append(binned(name, index, members, "rtt_ms"))
        elif members:
            columns, t_s = own[flows[0]], own[flows[0]]["t_s"]
            windows.append(
                binned(name, index, members, "packets")
                if several
                else Line(name, index, *decimate(t_s, columns["cwnd_packets"], bins))
            )
            rtts.append(Line(name, index, *decimate(t_s, columns["rtt_ms"], bins)))
    return tuple(w for w in windows if w.times), tuple(r for r in rtts if r.times), many


KIND = FigureKind("window", by_default=by_default)
