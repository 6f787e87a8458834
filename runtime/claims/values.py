"""The values of a claim's statistics: one number of each repetition that counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fairc.compiler.plan import ClaimTerm
from fairc.runtime.repetitions.reading import Measured, UnknownName
from fairc.runtime.repetitions.samples import FLOW, LOAD, Sample, samples

Place = tuple[tuple[str, ...], str | None, str | None]


class Known(Protocol):
    """Where the values of terms come from: the tables of a run, or the cells available at a look (looks.py)."""

    def of(self, term: ClaimTerm) -> dict[int, float] | str:
        """Return the values of a term by repetition, or the reason why there are none."""
        ...


class Values:
    """Values of terms, read from the tables of a run once for each metric."""

    def __init__(self, measured: Measured) -> None:
        self._measured = measured
        self._known: dict[str, Mapping[Place, Sample]] = {}

    def of(self, term: ClaimTerm) -> dict[int, float] | str:
        """Return the values of a term by repetition, or the reason why there are none.

        Raises TableError when the tables cannot be read.
        """
        places = self._of_metric(term.metric)
        load = str(term.load) if term.load else None
        here = {p: s for p, s in places.items() if p[0] == term.cells and p[2] == load}
        flow: str | None = term.flow or None
        if flow is None and (term.cells, None, load) not in here:
            flows = [place[1] for place in here]
            if len(flows) > 1:
                return f"{term.metric} has {len(flows)} values in each cell"
            flow = flows[0] if flows else None
        sample = here.get((term.cells, flow, load))
        if sample is None:
            return "not measured in this configuration"
        if not sample.values:
            why = "; ".join(sorted(sample.reasons))
            return why or ("no valid repetition" if sample.left_out else "no repetition")
        return sample.by_repetition

    def _of_metric(self, metric: str) -> Mapping[Place, Sample]:
        if metric not in self._known:
            axes = self._measured.axes
            try:
                groups = samples(self._measured, metric, (*axes, FLOW, LOAD)).groups
            except UnknownName:
                groups = []
            self._known[metric] = {
                (tuple(str(s.by[name]) for name in axes), s.by[FLOW], s.by[LOAD]): s for s in groups
            }
        return self._known[metric]
