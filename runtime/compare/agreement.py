"""Do two runs of one spec, for example on different engines, agree metric by metric?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

from fairc.runtime.repetitions.reading import Measurements
from fairc.runtime.statistics.agreement import AGREE, OPEN, Agreement, agreement
from fairc.runtime.statistics.estimates import median

from .comparison import By, Side, remarks, sides

MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Margin:
    """The margin within which values agree: a share of the first run's median, or a number (SI)."""

    value: float
    relative: bool

    def of(self, typical: float) -> float:
        """Return the margin in the metric's own unit. typical: the first run's median."""
        return self.value * abs(typical) if self.relative else self.value


class AgreementRow(TypedDict):
    """Whether one value of a metric agrees; numbers in SI base units, None without values.

    shift: of the second against the first, with its 95 % interval (statistics/agreement.py).
    left_out_first, left_out_second: cells that are not valid. verdict: agree, differ, cannot tell;
    missing: a side has no value.
    """

    metric: str
    unit: str
    by: By
    verdict: str
    n_first: int
    n_second: int
    left_out_first: int
    left_out_second: int
    median_first: float | None
    median_second: float | None
    shift: float | None
    shift_low: float | None
    shift_high: float | None
    margin: float | None
    words: str


def agree(
    first: Measurements, second: Measurements, margin: Margin, margins: Mapping[str, Margin]
) -> list[AgreementRow]:
    """Judge every value of two runs.

    margins: those of single metrics, by their full names. Raises TableError.
    """
    return [
        _agreed(metric, unit, side, margins.get(metric, margin))
        for metric, unit, side in sides(first, second)
    ]


def _agreed(metric: str, unit: str, side: Side, margin: Margin) -> AgreementRow:
    a, b = side.values
    left_out = [sample.left_out if sample else 0 for sample in (side.first, side.second)]
    found: Agreement | None = None
    verdict, reason = MISSING, "no valid value in the " + ("second" if a else "first")
    if a and b:
        typical = median(a).value
        if typical is None:
            verdict, reason = OPEN, "the median of the first is larger than all that were observed"
        else:
            found = agreement(a, b, margin.of(typical))
            verdict, reason = found.verdict, found.reason
    elif not a and not b and not sum(left_out):
        verdict, reason = AGREE, "not defined in either"
    elif not a and not b:
        reason = "no valid value in either"
    return AgreementRow(
        metric=metric,
        unit=unit,
        by=side.present.by,
        verdict=verdict,
        n_first=len(a),
        n_second=len(b),
        left_out_first=left_out[0],
        left_out_second=left_out[1],
        median_first=median(a).value,
        median_second=median(b).value,
        shift=found.shift.value if found else None,
        shift_low=found.shift.low if found else None,
        shift_high=found.shift.high if found else None,
        margin=found.margin if found else None,
        words="; ".join(filter(None, (reason, *remarks(side)))),
    )
