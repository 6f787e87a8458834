"""A metric over time for `line(..., x: time)`: bins of each cell, summed up over the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fairc.dsl.model.metric_names import metric_of, unmarked
from fairc.runtime.formatting import quantity
from fairc.runtime.measurement import SLOT_S
from fairc.runtime.metrics import METRICS
from fairc.runtime.repetitions.samples import REPETITION
from fairc.runtime.report.backdrop import Backdrop, backdrop
from fairc.runtime.report.run import Run
from fairc.words.metrics import METRICS as WORDS

from .base import NothingToDraw
from .phases import Phases, merged
from .query import Names, Query, Summing, only
from .time_range import bounds, mark_of, of_members

MAX_BINS = 150
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Point:
    """A value of a line, in the metric's SI unit; low, high: its interval, or None.

    of: the configuration that it is of alone, or empty.
    """

    x: float
    value: float
    low: float | None
    high: float | None
    n: int
    of: str = ""


class Loaded(NamedTuple):
    """The bins of each group: names -> points in time; what they are; and the states of its flows'
    congestion controllers, if the metric is computed from samples of connections; behind: of
    each group whose cells are all of one configuration.
    """

    points: dict[Names, list[Point]]
    caption: str
    phases: Phases
    behind: dict[Names, Backdrop]


_BINS = (
    "WITH bins AS ("
    # Half a microsecond, so that a slot that begins on an edge is not before it.
    " SELECT number, place, cell, flow, CAST(floor((t_s + 5e-7) / {width}) AS INTEGER) AS bin,"
    " {value} AS value FROM {rows} WHERE {where} GROUP BY ALL),"
    " cells AS (SELECT number, place, cell, bin, avg(value ORDER BY flow) AS value FROM bins"
    " GROUP BY ALL)"
    " SELECT number, bin, list(value ORDER BY place, cell) FROM cells GROUP BY number, bin"
    " ORDER BY number, bin"
)
"""The values of each group of flows, bin by bin: a cell has one in each."""


def load(query: Query, names: Names, sums: Summing) -> Loaded:
    """Return the bins of each group.

    A bin of a cell is the mean over the flows of the group that have one, so that a cell is one
    replicate. A bin is kept where at least half of the group's cells have a value: what few are
    left at the end is not what the group does. Raises NothingToDraw.
    """
    run = query.subject.run
    window, value = run.plan.requests.window_of(query.metric), unmarked(query.metric)
    metric = METRICS[metric_of(value)]
    first = metric.course if value == metric.values[0].name else None
    source = metric.courses.get(value, first)
    if source is None:
        raise NothingToDraw(f"{query.metric} is not stored over time")
    where = (
        f"{source.where.replace('{mark}', mark_of(query.metric))}"
        " AND t_s + 5e-7 >= begin_s AND t_s + 5e-7 < until_s"
    )
    groups = query.groups(names)
    rows = [(number, s) for number, (_, found) in enumerate(groups) for s in found]
    run.register(
        "figure_members",
        {
            "cell": np.array([s.outcome.cell for _, s in rows], object),
            "flow": np.array([s.flow for _, s in rows], object),
            "number": np.array([number for number, _ in rows], np.int64),
            "place": np.array([int(s.keys[REPETITION]) for _, s in rows], np.int64),
            **bounds(run, window, [s for _, s in rows], whole=True),
        },
    )
    ((last,),) = run.rows(f"SELECT max(t_s) FROM {of_members(source.table)} WHERE {where}")
    if last is None:
        raise NothingToDraw(f"no cell that counts has {query.metric} over time")
    width = next((s for s in _STEPS_S if last <= s * MAX_BINS), last / MAX_BINS)
    value_of = source.value.format(slot_s=SLOT_S)
    bins = run.rows(
        _BINS.format(width=width, value=value_of, rows=of_members(source.table), where=where)
    )
    sizes = [len({sample.outcome.cell for sample in found}) for _, found in groups]
    mixed = [bool(query.mixture(found)) for _, found in groups]
    points: dict[Names, list[Point]] = {key: [] for key, _ in groups}
    for number, place, values in bins:
        if 2 * len(values) >= sizes[number]:
            e = sums.of(values, mixed=mixed[number])
            if e.value is not None:
                middle = (place + 0.5) * width
                ends = (None, None) if mixed[number] else (e.low, e.high)
                points[groups[number][0]].append(Point(middle, e.value, *ends, e.n))
    caption = (
        f"In bins of {quantity(width, 's')}: {source.meaning}; several flows of a group are"
        " averaged in each cell first. Drawn while at least half of the cells have a value."
    )
    sampled = WORDS[metric.name].every is not None
    found = {c.id: c for c in run.configurations}
    behind = {key: backdrop(run, found[of]) for key, members in groups if (of := only(members))}
    return Loaded(points, caption, _phases(run, groups, width) if sampled else {}, behind)


def _phases(run: Run, groups: Sequence[tuple[Names, object]], width_s: float) -> Phases:
    """Return the state that most samples of each group are in, bin by bin."""
    found: dict[Names, dict[int, str]] = {}
    for number, place, state in run.rows(
        f"SELECT number, CAST(floor((t_s + 5e-7) / {width_s}) AS INTEGER) AS bin, state"
        " FROM models JOIN figure_members USING (cell, flow)"
        " GROUP BY ALL ORDER BY number, bin, count(*), state"
    ):
        found.setdefault(groups[number][0], {})[place] = state
    return {names: merged(bins.items(), width_s) for names, bins in found.items()}
