"""Comparison of two runs, or of the groups of one run, metric by metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypedDict

from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.repetitions.samples import FLOW, Group, Where, matched, samples
from fairc.runtime.statistics.estimates import median
from fairc.runtime.statistics.paired import Matched
from fairc.runtime.statistics.verdicts import Comparison, compare

By = dict[str, str | None]

IDENTICAL, SAME, DIFFERENT, UNDECIDED, MISSING = (
    *("identical", "same", "different", "undecided"),
    "missing",
)
VERDICTS = (IDENTICAL, SAME, DIFFERENT, UNDECIDED, MISSING)


class ComparisonRow(TypedDict):
    """The comparison of one value of a metric: medians in SI base units, of n_first and n_second
    values.

    by, by_second: what identifies the value on each side. p, p_holm: of the Mann-Whitney test, or
    of the signed-rank test of pairs, by itself and after Holm's correction for all comparisons;
    None without a test.
    cliffs_delta, hedges_g: positive if the first is larger. pairs: how many values were compared
    pair by pair; None: as independent samples. shift, shift_low, shift_high: by how much the second
    of a pair is larger, with its interval; correlation: of the pairs. What the verdicts mean:
    docs/trust/statistics.md.
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
    """A group that was to be tested holds values of several configurations or flows; the message
    helps.
    """


@dataclass(frozen=True, slots=True)
class Cells:
    """The numbers of cells that two runs have, share, and share with identical raw artefacts."""

    first: int
    second: int
    both: int
    identical: int


@dataclass(frozen=True, slots=True)
class Side:
    """The values of a metric for one group, on both sides; None: that side does not have it.

    paired: whether they are compared pair by pair.
    """

    first: Group | None
    second: Group | None
    paired: bool = False

    @property
    def values(self) -> tuple[Sequence[float], Sequence[float]]:
        """The values that are compared: of pairs all, else those that summaries use."""
        first, second = (
            () if group is None else group.values if self.paired else group.used
            for group in (self.first, self.second)
        )
        return first, second

    @property
    def present(self) -> Group:
        found = self.first or self.second
        assert found is not None
        return found


def compare_runs(first: Measurements, second: Measurements) -> tuple[Cells, list[ComparisonRow]]:
    """Compare two runs.

    Groups are keyed by the swept names of either run, and the flow; in the order of the
    first run, then of the second. Raises TableError.
    """
    return _cells(first, second), _compared(sides(first, second))


def sides(first: Measurements, second: Measurements) -> list[tuple[str, str, Side]]:
    """Return metric, unit and both sides of all measurements of two runs, in the order of
    `compare_runs`.
    """
    found: list[tuple[str, str, Side]] = []
    for metric, unit in {**first.units, **second.units}.items():
        both = _groups(first, metric), _groups(second, metric)
        for key in dict.fromkeys((*both[0], *both[1])):
            found.append((metric, unit, Side(both[0].get(key), both[1].get(key))))
    return found


def compare_groups(
    measured: Measurements,
    metric: str,
    by: Sequence[str] | None,
    where: Where | None = None,
) -> list[ComparisonRow]:
    """Compare every two groups of one run; arguments as for `repetitions.summaries.summarise`.

    Groups of the same cells (their flows, their loads) are compared pair by pair, and so are all
    groups if the configurations of a repetition draw alike. Raises UnknownName, Mixture and
    TableError.
    """
    name, unit, groups = samples(measured, metric, by, where)
    if mixed := next((group.mixed for group in groups if group.mixed), ""):
        raise Mixture(f"a mixture cannot be tested: {mixed}")
    found: list[tuple[str, str, Side]] = []
    for a, b in combinations(groups, 2):
        paired = bool(measured.plan.common) or not _cells_of(a).isdisjoint(_cells_of(b))
        found.append((name, unit, Side(a, b, paired)))
    return _compared(found)


def _cells_of(group: Group) -> set[str]:
    return {outcome.cell for outcome in group.outcomes}


def _groups(measured: Measurements, metric: str) -> dict[frozenset[tuple[str, str | None]], Group]:
    if metric not in measured.units:
        return {}
    found = samples(measured, metric, (*measured.axes, FLOW)).groups
    return {frozenset(group.by.items()): group for group in found}


def _compared(found: Sequence[tuple[str, str, Side]]) -> list[ComparisonRow]:
    """Compare both sides of each."""
    tested: dict[int, tuple[Sequence[float], Sequence[float]] | Matched] = {}
    for place, (_, _, side) in enumerate(found):
        if side.first and side.second and side.first.values and side.second.values:
            if not side.paired:
                tested[place] = side.values
            elif (pairs := matched(side.first.by_repetition, side.second.by_repetition)).first:
                tested[place] = pairs
    results = dict(zip(tested, compare(tested.values()), strict=True))
    return [
        _row(metric, unit, side, results.get(place))
        for place, (metric, unit, side) in enumerate(found)
    ]


def _row(metric: str, unit: str, side: Side, comparison: Comparison | None) -> ComparisonRow:
    first, second = side.first, side.second
    a, b = side.values
    verdict, text = _without_values(side) if comparison is None else ("", "")
    words = comparison.text if comparison else text
    words = "; ".join(filter(None, (words, *remarks(side))))
    shift = comparison.shift if comparison else None
    return ComparisonRow(
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
        words=words,
    )


def remarks(side: Side) -> Iterator[str]:
    """Yield what the values of each side leave out."""
    for name, group in (("first", side.first), ("second", side.second)):
        if group and (text := group.remark):
            yield f"{name}: {text}"


def _without_values(side: Side) -> tuple[str, str]:
    """Return verdict and text where a side has no value."""
    if side.first and side.second and not side.first.values and not side.second.values:
        return IDENTICAL, "not defined in either"
    for group, other, name in (
        (side.first, side.second, "second"),
        (side.second, side.first, "first"),
    ):
        if other is None:
            return MISSING, f"missing in the {name}"
        if group and group.values:
            return MISSING, f"without a value in the {name}"
    return UNDECIDED, "not decided: no repetition counts in both runs"


def _cells(first: Measurements, second: Measurements) -> Cells:
    a, b = ({o.cell: o.result_sha256 for o in run.outcomes} for run in (first, second))
    both = a.keys() & b.keys()
    identical = sum(bool(a[cell]) and a[cell] == b[cell] for cell in both)
    return Cells(len(a), len(b), len(both), identical)
