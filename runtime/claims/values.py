"""The values of a claim's statistics: one number of each repetition that counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from fairc.compiler.plan import ClaimTerm
from fairc.runtime.compare.summary import FLOW, LOAD, Sample, UnknownName, samples

Place = tuple[tuple[str, ...], str | None, str | None]


class Known(Protocol):
    """Where the values of terms come from: the tables of a run, or the cells available at a look (looks.py)."""

    def of(self, term: ClaimTerm) -> dict[int, float] | str:
        """Return the values of a term by repetition, or the reason why there are none."""
        ...


class Values:
    """Values of terms, read from the tables of a run once for each metric.

    folder: of the tables. axes: the plan's swept names in file order.
    """

    def __init__(self, folder: Path, axes: Sequence[str]) -> None:
        self._folder, self._axes = folder, tuple(axes)
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
        return {int(r): v for r, v in zip(sample.repetitions, sample.values, strict=True)}

    def _of_metric(self, metric: str) -> Mapping[Place, Sample]:
        if metric not in self._known:
            try:
                found = samples(self._folder, self._axes, metric, (*self._axes, FLOW, LOAD))
            except UnknownName:
                self._known[metric] = {}
            else:
                self._known[metric] = {_place(s, self._axes): s for s in found.groups}
        return self._known[metric]


def _place(sample: Sample, axes: Sequence[str]) -> Place:
    row = tuple(str(sample.by[name]) for name in axes)
    return row, sample.by[FLOW], sample.by[LOAD]
