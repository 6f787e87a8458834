"""The values of a claim's statistics: one number for each repetition that counts."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import TypeVar

from fairc.compiler.plan import ClaimTerm
from fairc.runtime.repetitions.reading import Measurements, UnknownName
from fairc.runtime.repetitions.samples import FLOW, LOAD, Group, samples

T = TypeVar("T")
Place = tuple[str | None, int | None]
"""What a value belongs to within a configuration: its flow, its page load."""


def chosen(term: ClaimTerm, here: Mapping[Place, T]) -> T | str | None:
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
    """Values of terms, read once per metric; one that is larger than any that was observed is
    infinite.
    """

    def __init__(self, measured: Measurements) -> None:
        self._measured = measured
        self._known: dict[str, dict[tuple[str, ...], dict[Place, Group]]] = {}

    def of(self, term: ClaimTerm) -> dict[int, float] | str:
        """Return the values of a term by repetition, or the reason why there are none.

        Raises TableError when the tables cannot be read.
        """
        group = self._group(term)
        if group is None:
            return "not measured in this configuration"
        if isinstance(group, str):
            return group
        if not group.values:
            why = "; ".join(group.omitted.reasons)
            return why or ("no valid repetition" if group.left_out else "no repetition")
        return group.by_repetition

    def remark(self, term: ClaimTerm) -> str:
        """Say what the values of a term leave out; empty if nothing. Raises TableError."""
        group = self._group(term)
        return group.remark(term.metric) if isinstance(group, Group) else ""

    def _group(self, term: ClaimTerm) -> Group | str | None:
        return chosen(term, self._of_metric(term.metric).get(term.cells, {}))

    def _of_metric(self, metric: str) -> Mapping[tuple[str, ...], Mapping[Place, Group]]:
        if metric not in self._known:
            axes = self._measured.axes
            found = self._known[metric] = {}
            with suppress(UnknownName):
                for s in samples(self._measured, metric, (*axes, FLOW, LOAD)).groups:
                    load = s.by[LOAD]
                    place = s.by[FLOW], None if load is None else int(load)
                    found.setdefault(tuple(str(s.by[name]) for name in axes), {})[place] = s
        return self._known[metric]
