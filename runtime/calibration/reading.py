"""One reading of a calibration: what was measured, and what theory says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fairc.runtime.measurement import Measurement


@dataclass(frozen=True, slots=True)
class Reading:
    """A measured number and the expected one.

    quantity: what it is. setting: the swept values that it holds for. expected: by theory or by the
    plan. low, high: the accepted range. unit: SI symbol, `1` for a ratio. source: where the
    expectation comes from. n: how many cells (or packets, where the reading says so) it comes from.
    """

    quantity: str
    setting: str
    measured: float
    expected: float
    low: float
    high: float
    unit: str
    source: str
    n: int = 1

    @property
    def holds(self) -> bool:
        """Whether the measured number lies in the accepted range."""
        return bool(self.low <= self.measured <= self.high)


def near(
    quantity: str,
    setting: str,
    measured: float,
    expected: float,
    *,
    within: float,
    unit: str,
    source: str,
    n: int = 1,
) -> Reading:
    """Return a reading that is accepted within an absolute distance of the expected number."""
    low, high = expected - within, expected + within
    return Reading(quantity, setting, measured, expected, low, high, unit, source, n)


Read = Callable[[str, Sequence[Measurement]], Iterable[Reading]]
"""Returns the readings of a setting, given as text, from its measured repetitions."""
