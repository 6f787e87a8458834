"""The table of page loads: PLT and TTR per load, failed loads, and slow start according to
theory.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import chain

from fairc.runtime.formatting import (
    INFINITE,
    Cell,
    Number,
    Scale,
    count,
    decimals_for,
    interval,
    one_line,
    scaled,
)
from fairc.runtime.metrics import plt, ttr
from fairc.runtime.repetitions.reading import Measure
from fairc.runtime.report.run import Configuration, Run, in_list
from fairc.runtime.report.sheet import Sheet
from fairc.runtime.report.summary import Results

from .base import FigureKind, NothingToDraw, Subject

_SECONDS = Scale(1.0, "s")

_PER_LOAD = """
    SELECT flow, load, any_value(wanted), count(*), count(*) FILTER (WHERE error <> ''),
        any_value(slow_start_s), bool_or(split)
    FROM loads WHERE cell {cells} AND load > 0
    GROUP BY flow, load ORDER BY flow, load
"""
# Of the load without a network, which browsers make once per configuration.
_OWN_TIME = """
    SELECT flow, min(plt_s) FROM loads JOIN cells USING (cell)
    WHERE configuration = ? AND load = 0 AND error = '' GROUP BY flow
"""


_CAPTION = (
    "Medians over the repetitions that count, with their 95 % intervals ({interval}); loads of one"
    " cell are not independent, so each load is summarised separately. A failed load is larger than"
    " any other in them (its TTR, if it got so far, counts as measured); the table `loads` has the"
    " reasons. Slow start: log2(BDP / IW) x RTT, the time in which the congestion window grows to"
    " the BDP, end to end; split: a PEP splits the connection, so there is no slow start over the"
    " whole RTT."
)
_UNFINISHED = " Not finished: the cell ended before the load did."
_BROWSERS_OWN = " Browser's own: PLT of one load from the browser's own host, without a network."


def loads_pages(subject: Subject) -> bool:
    """Tell whether any cell of the run loads pages."""
    return bool(subject.run.rows("SELECT 1 FROM loads LIMIT 1"))


def by_default(subject: Subject) -> Sheet:
    """Make the table. Raises NothingToDraw where no cell that counts loaded a page."""
    run, results = subject.run, subject.results
    several = len({m.flow for m in results.select(plt.METRIC.name)}) > 1
    own = {c.id: dict(run.rows(_OWN_TIME, [c.id])) for c in run.configurations}
    has_own = any(own.values())
    rows, unfinished = _rows(run, results, several, own if has_own else {})
    if not rows:
        raise NothingToDraw("no cell that counts loaded a page")
    caption = _CAPTION.format(interval=run.repeated.interval)
    caption += _UNFINISHED if unfinished else ""
    caption += _BROWSERS_OWN if has_own else ""
    return Sheet(
        name="page-loads",
        section="repetitions",
        title="Page loads, measured and in theory",
        caption=caption,
        head=(
            *((one_line(name), False) for name in run.axes),
            *((("flow", False),) if several else ()),
            ("load", False),
            ("over", False),
            ("n", True),
            ("failed", True),
            ("not finished", True),
            ("PLT (s)", True),
            ("95 % interval", True),
            ("TTR (s)", True),
            ("95 % interval", True),
            ("slow start (s)", True),
            *((("browser's own (s)", True),) if has_own else ()),
        ),
        rows=tuple(rows),
    )


def _rows(
    run: Run, results: Results, several: bool, own: Mapping[str, Mapping[str, float]]
) -> tuple[list[tuple[Cell, ...]], bool]:
    """Return a row for each load, and whether any load did not finish.

    several: whether they name their flow. own: configuration -> flow -> PLT without a network, s;
    empty where browsers measured none.
    """
    measures = {(m.metric, m.flow, m.load): m for m in results.measures}
    medians = [
        s.value
        for m in (*results.select(plt.METRIC.name), *results.select(ttr.METRIC.name))
        for c in run.configurations
        if (s := results.group(m, c).median).value is not None
    ]
    digits = decimals_for(medians)
    missing = False
    rows: list[tuple[Cell, ...]] = []
    for configuration in run.configurations:
        within, cells = in_list(outcome.cell for outcome in configuration.counted)
        found = run.rows(_PER_LOAD.format(cells=within), cells)
        for flow, load, wanted, made, failed, slow_start_s, split in found:
            unfinished = len(cells) - made
            missing = missing or unfinished > 0
            both = (measures.get((each.METRIC.name, flow, load)) for each in (plt, ttr))
            shown = [_shown(results, measure, configuration, digits) for measure in both]
            rows.append(
                (
                    *(one_line(value) for _, value in configuration.bindings),
                    *((one_line(flow),) if several else ()),
                    str(load),
                    wanted,
                    count(made - failed),
                    count(failed),
                    count(unfinished) if unfinished else "",
                    *chain(*shown),
                    _theory(slow_start_s, split, digits),
                    *([_own(own[configuration.id].get(flow), digits)] if own else []),
                )
            )
    return rows, missing


def _shown(
    results: Results, measure: Measure | None, configuration: Configuration, digits: int
) -> tuple[Cell, Cell]:
    """Return a median and its interval; an interval that is not there is empty."""
    if measure is None:
        return "", ""
    found = results.group(measure, configuration).median
    if found.is_endless:
        return Number(INFINITE, repr(math.inf)), ""
    if found.value is None:
        return "-", ""
    ends = interval(found.low, found.high, _SECONDS, digits)
    return scaled(found.value, _SECONDS, digits), ends


def _theory(slow_start_s: float | None, split: bool, digits: int) -> Cell:
    if slow_start_s is None:
        return "split" if split else "-"
    return scaled(slow_start_s, _SECONDS, digits)


def _own(plt_s: float | None, digits: int) -> Cell:
    return "-" if plt_s is None else scaled(plt_s, _SECONDS, digits)


KIND = FigureKind("loads", by_default=by_default, is_due=loads_pages)
