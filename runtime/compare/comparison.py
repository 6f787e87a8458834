"""Comparison of two runs, or of the groups of one run, metric by metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypedDict

from fairc.runtime.statistics.estimates import median
from fairc.runtime.statistics.paired import Matched
from fairc.runtime.statistics.verdicts import Comparison, compare
from fairc.runtime.store import tables

from .summary import FLOW, Sample, Where, measured, samples

By = dict[str, str | None]

IDENTICAL, SAME, DIFFERENT, UNDECIDED, MISSING = (
    *("identical", "same", "different", "undecided"),
    "missing",
)
VERDICTS = (IDENTICAL, SAME, DIFFERENT, UNDECIDED, MISSING)


class Compared(TypedDict):
    """The comparison of one value of a metric: medians in SI base units, of n_first and n_second values.

    by: what identifies the value; of both sides where they differ. p, p_holm: of the Mann-Whitney
    test, or of the signed-rank test of pairs, alone and among all that were compared, None without a test;
    cliffs_delta, hedges_g: positive where the first is larger. pairs: how many values were compared pair by
    pair; None: as independent samples. shift, shift_low, shift_high: by how much the second of a pair is
    larger, with its interval; correlation: of the pairs. What the verdicts mean: docs/statistics.md.
    """

    metric: str
    unit: str
    by: By
    by_second: By
    verdict: str
    n_first: int
    n_second: int
    median_first: float | None
    median_second: float | None
    p: float | None
    p_holm: float | None
    cliffs_delta: float | None
    hedges_g: float | None
    pairs: int | None
    shift: float | None
    shift_low: float | None
    shift_high: float | None
    correlation: float | None
    words: str


class Mixture(Exception):
    """A group that was to be tested holds values of several configurations or flows; the message helps."""


@dataclass(frozen=True, slots=True)
class Cells:
    """The numbers of cells that two runs have, share, and share with identical raw artefacts."""

    first: int
    second: int
    both: int
    identical: int


@dataclass(frozen=True, slots=True)
class Side:
    """The values of a metric for one group of one side; None: that side does not have it."""

    first: Sample | None
    second: Sample | None

    @property
    def present(self) -> Sample:
        found = self.first or self.second
        assert found is not None
        return found


def compare_runs(
    first: Path, first_axes: Sequence[str], second: Path, second_axes: Sequence[str]
) -> tuple[Cells, list[Compared]]:
    """Compare two runs, given the folders of their tables and their swept names.

    Groups are keyed by the swept names of either run, and the flow; in the order of the
    first run, then of the second. Raises TableError.
    """
    return _cells(first, second), _compared(sides(first, first_axes, second, second_axes))


def sides(
    first: Path, first_axes: Sequence[str], second: Path, second_axes: Sequence[str]
) -> list[tuple[str, str, Side]]:
    """Return metric, unit and both sides of all measurements of two runs; arguments as of `compare_runs`."""
    names = dict(measured(first)) | measured(second)
    found: list[tuple[str, str, Side]] = []
    for metric, unit in names.items():
        both = (_groups(first, first_axes, metric), _groups(second, second_axes, metric))
        for key in dict.fromkeys((*both[0], *both[1])):
            found.append((metric, unit, Side(both[0].get(key), both[1].get(key))))
    return found


def compare_groups(
    folder: Path,
    axes: Sequence[str],
    metric: str,
    by: Sequence[str] | None = None,
    where: Where | None = None,
    sampled: bool = False,
    common: bool = False,
) -> list[Compared]:
    """Compare every two groups of one run; arguments as of `summary.summarise`.

    Groups of the same cells (their flows, their loads) are compared pair by pair, and so are all where the
    configurations of a repetition draw alike (common). Raises UnknownName, Mixture and TableError.
    """
    name, unit, groups = samples(folder, axes, metric, by, where, sampled)
    if mixed := next((group.mixed for group in groups if group.mixed), ""):
        raise Mixture(f"a mixture cannot be tested: {mixed}")
    pairs = list(combinations(groups, 2))
    return _compared(
        [(name, unit, Side(a, b)) for a, b in pairs],
        [common or not _cells_of(a).isdisjoint(_cells_of(b)) for a, b in pairs],
    )


def _cells_of(sample: Sample) -> set[str]:
    return {origin.cell for origin in sample.origins}


def matched(first: Sample, second: Sample) -> Matched:
    """Return the values of the repetitions that both have, in order; of each sample one a repetition."""
    a, b = (dict(zip(s.repetitions, s.values, strict=True)) for s in (first, second))
    both = [repetition for repetition in a if repetition in b]
    return Matched([a[r] for r in both], [b[r] for r in both])


def _groups(
    folder: Path, axes: Sequence[str], metric: str
) -> dict[frozenset[tuple[str, str | None]], Sample]:
    if metric not in measured(folder):
        return {}
    found = samples(folder, axes, metric, (*axes, FLOW))
    return {frozenset(sample.by.items()): sample for sample in found.groups}


def _compared(
    found: Sequence[tuple[str, str, Side]], paired: Sequence[bool] = ()
) -> list[Compared]:
    """Compare both sides of each; paired: whether pair by pair, by default none."""
    tested: dict[int, tuple[Sequence[float], Sequence[float]] | Matched] = {}
    for place, (_, _, side) in enumerate(found):
        if side.first and side.second and side.first.values and side.second.values:
            if not (paired and paired[place]):
                tested[place] = side.first.values, side.second.values
            elif (pairs := matched(side.first, side.second)).first:
                tested[place] = pairs
    results = dict(zip(tested, compare(tested.values()), strict=True))
    return [
        _row(metric, unit, side, results.get(place))
        for place, (metric, unit, side) in enumerate(found)
    ]


def _row(metric: str, unit: str, side: Side, comparison: Comparison | None) -> Compared:
    first, second = side.first, side.second
    a, b = (sample.values if sample else [] for sample in (first, second))
    verdict, text = _without_values(side) if comparison is None else ("", "")
    shift = comparison.shift if comparison else None
    return Compared(
        metric=metric,
        unit=unit,
        by=(first or side.present).by,
        by_second=(second or side.present).by,
        verdict=comparison.kind if comparison else verdict,
        n_first=len(a),
        n_second=len(b),
        median_first=median(a).value,
        median_second=median(b).value,
        p=comparison.p if comparison else None,
        p_holm=comparison.p_holm if comparison else None,
        cliffs_delta=comparison.delta if comparison else None,
        hedges_g=comparison.g if comparison else None,
        pairs=comparison.pairs if comparison else None,
        shift=shift.value if shift else None,
        shift_low=shift.low if shift else None,
        shift_high=shift.high if shift else None,
        correlation=comparison.correlation if comparison else None,
        words=comparison.text if comparison else text,
    )


def _without_values(side: Side) -> tuple[str, str]:
    """Return verdict and text where a side has no value."""
    if side.first and side.second and not side.first.values and not side.second.values:
        return IDENTICAL, "not defined in either"
    for sample, other, name in (
        (side.first, side.second, "second"),
        (side.second, side.first, "first"),
    ):
        if other is None:
            return MISSING, f"missing in the {name}"
        if sample and sample.values:
            return MISSING, f"without a value in the {name}"
    return UNDECIDED, "not decided: no repetition counts in both runs"


def _cells(first: Path, second: Path) -> Cells:
    a, b = (dict(_hashes(folder)) for folder in (first, second))
    both = a.keys() & b.keys()
    identical = sum(bool(a[cell]) and a[cell] == b[cell] for cell in both)
    return Cells(len(a), len(b), len(both), identical)


def _hashes(folder: Path) -> Iterator[tuple[str, str]]:
    with tables.connect(folder) as connection:
        yield from connection.execute("SELECT cell, result_sha256 FROM cells").fetchall()
