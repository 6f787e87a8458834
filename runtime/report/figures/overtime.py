"""A metric over time for `line(..., x: time)`: bins of each cell, summed up over the cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fairc.runtime.formatting import quantity
from fairc.runtime.measurement import SLOT_S
from fairc.runtime.metrics import METRICS
from fairc.runtime.repetitions.samples import REPETITION, Sample

from .base import NothingToDraw, Subject
from .cases import Cases, mixture
from .points import Point
from .summing import Summing

if TYPE_CHECKING:
    from numpy.typing import NDArray

MAX_BINS = 150
_STEPS_S = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@dataclass(frozen=True, slots=True)
class Series:
    """Points over time for each group, in the metric's unit; caption: what they are."""

    caption: str
    points: dict[tuple[str, ...], list[Point]]


def load(subject: Subject, cases: Cases, names: tuple[str, ...], sums: Summing) -> Series:
    """Return the bins of each group: names -> points in time.

    A bin of a cell is the mean over the flows of the group that have one, so that a cell is one
    replicate. A bin is kept where at least half of the group's cells have a value: what few are
    left at the end is not what the group does. Raises NothingToDraw.
    """
    metric = METRICS[cases.metric.partition(".")[0]]
    source = metric.course
    if source is None or cases.metric != metric.values[0].name:
        raise NothingToDraw(f"{cases.metric} is not stored over time")
    groups = cases.groups(names)
    subject.run.register("figure_members", _members([found for _, found in groups]))
    ((last,),) = subject.run.rows(
        f"SELECT max(t_s) FROM {source.table} JOIN figure_members USING (cell, flow)"
        f" WHERE {source.where}"
    )
    if last is None:
        raise NothingToDraw(f"no cell that counts has {cases.metric} over time")
    width = next((s for s in _STEPS_S if last <= s * MAX_BINS), last / MAX_BINS)
    rows = subject.run.rows(
        "WITH bins AS ("
        # Half a microsecond, so that a slot that begins on an edge is not before it.
        f" SELECT number, place, cell, flow, CAST(floor((t_s + 5e-7) / {width}) AS INTEGER) AS bin,"
        f" {source.value.format(slot_s=SLOT_S)} AS value"
        f" FROM {source.table} JOIN figure_members USING (cell, flow)"
        f" WHERE {source.where} GROUP BY ALL),"
        " cells AS (SELECT number, place, cell, bin, avg(value ORDER BY flow) AS value FROM bins"
        " GROUP BY ALL)"
        " SELECT number, bin, list(value ORDER BY place, cell) FROM cells GROUP BY number, bin"
        " ORDER BY number, bin"
    )
    keys = [key for key, _ in groups]
    sizes = [len({sample.outcome.cell for sample in found}) for _, found in groups]
    mixed = [bool(mixture(found, cases.swept, cases.sampled)) for _, found in groups]
    points: dict[tuple[str, ...], list[Point]] = {key: [] for key in keys}
    for number, place, values in rows:
        if 2 * len(values) >= sizes[number]:
            e = sums.of(values, mixed[number])
            if e.value is not None:
                middle = (place + 0.5) * width
                ends = (None, None) if mixed[number] else (e.low, e.high)
                points[keys[number]].append(Point(middle, e.value, *ends, e.n))
    caption = (
        f"In bins of {quantity(width, 's')}: {source.meaning}; several flows of a group are"
        " averaged in each cell first. Drawn while at least half of the cells have a value."
    )
    return Series(caption, points)


def _members(groups: Sequence[Sequence[Sample]]) -> dict[str, NDArray[Any]]:
    """Return which flow of which cell is in which group, as columns; place: the cell's
    repetition.
    """
    cells = [sample.outcome.cell for found in groups for sample in found]
    flows = [sample.flow for found in groups for sample in found]
    places = [int(sample.keys[REPETITION]) for found in groups for sample in found]
    numbers = [number for number, found in enumerate(groups) for _ in found]
    return {
        "cell": np.array(cells, object),
        "flow": np.array(flows, object),
        "number": np.array(numbers, np.int64),
        "place": np.array(places, np.int64),
    }
