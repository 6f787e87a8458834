"""The values of a claim's statistics: one number for each repetition that counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeVar

from fairc.compiler.plan import ClaimUnit, Statistic
from fairc.runtime.repetitions import times
from fairc.runtime.repetitions.reading import Measurements, UnknownName
from fairc.runtime.repetitions.remarks import merged
from fairc.runtime.repetitions.samples import FLOW, LOAD, Group, samples

Bounds = Mapping[int, tuple[float, float]]
T = TypeVar("T")
Row = tuple[str, ...]
"""A configuration, as its value on each axis of the plan in canonical text."""
Place = tuple[str | None, int | None]
"""The place of a value within a configuration: its flow, its page load."""


def chosen(term: Statistic, here: Mapping[Place, T]) -> T | str | None:
    """Return what a term is about, among all that a configuration has of its metric.

    None: there is no such thing. A text: why it is not clear.
    """
    of_load = {flow: found for (flow, load), found in here.items() if load == (term.load or None)}
    if term.flow or (None in of_load):
        return of_load.get(term.flow or None)
    if len(of_load) > 1:
        return f"{term.metric} has {len(of_load)} values in each cell"
    return next(iter(of_load.values()), None)


class Values:
    """Values of some terms; one that is larger than any that was observed is
    infinite.
    """

    def __init__(self, measured: Measurements, terms: Iterable[Statistic]) -> None:
        """Read them. Raises TableError when the tables cannot be read."""
        metrics = {term.metric for term in terms}
        self._measured = measured
        self._of_metric = {metric: _by_cells(measured, metric) for metric in metrics}
        self._units = {metric: _unit(measured, metric) for metric in metrics}

    def of(self, term: Statistic) -> dict[int, float] | str:
        """Return the values of a term by repetition, or the reason why there are none."""
        group = self._group(term)
        if group is None:
            return "not measured in this configuration"
        if isinstance(group, str):
            return group
        if not group.values:
            why = "; ".join(group.omitted.reasons)
            return why or ("no valid repetition" if group.left_out else "no repetition")
        return group.by_repetition

    def each(self, terms: Iterable[Statistic]) -> list[dict[int, float]] | str:
        """Return the values of some terms, each by repetition, or the reason why one has none."""
        found = []
        for term in terms:
            of = self.of(term)
            if isinstance(of, str):
                return of
            found.append(of)
        return found

    def bounds(self, term: Statistic) -> Bounds:
        """Return between what the values of some repetitions are, because something had not ended.

        A mean takes one that is larger than any that was observed for anything from 0.
        """
        group = self._group(term)
        if not isinstance(group, Group):
            return {}
        if term.statistic != "mean":
            return group.bounds
        endless = {r: (0.0, x) for r, x in group.by_repetition.items() if math.isinf(x)}
        return {**group.bounds, **endless}

    def unit(self, term: Statistic) -> str:
        """Return the SI unit of a term's metric; empty if nothing has it."""
        return self._units[term.metric]

    def remark(self, term: Statistic) -> str:
        """Say what the values of a term leave out; empty if nothing."""
        group = self._group(term)
        return group.remark if isinstance(group, Group) else ""

    def times(self, unit: ClaimUnit) -> str:
        """Say that an expression adds up rates of flows over different times; empty if not."""
        found = self._measured.times_of_sums(unit.expression).values()
        return "; ".join(merged(map(times.sentence, found)))

    def _group(self, term: Statistic) -> Group | str | None:
        return chosen(term, self._of_metric[term.metric].get(term.cells, {}))


def _by_cells(measured: Measurements, metric: str) -> Mapping[Row, Mapping[Place, Group]]:
    found: dict[Row, dict[Place, Group]] = {}
    with suppress(UnknownName):
        for group in samples(measured, metric, (*measured.axes, FLOW, LOAD)).groups:
            load = group.by[LOAD]
            place = group.by[FLOW], None if load is None else int(load)
            row = tuple(str(group.by[name]) for name in measured.axes)
            found.setdefault(row, {})[place] = group
    return found


def _unit(measured: Measurements, metric: str) -> str:
    try:
        return measured.named(metric)[1]
    except UnknownName:
        return ""
