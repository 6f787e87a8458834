"""Summaries of repetitions: of a fixed number of them, or of a range that ended when it was precise
enough.

Where the values themselves decide how many there are, ordinary intervals miss too often. So the
summaries of such a run take those of `sequential`: at fixed analyses, or a confidence sequence. A
mean has no interval then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from fairc.compiler.plan import Plan
from fairc.words.repetitions import INTERIM_RANKS, LEAST, has_ranks

from . import estimates
from .estimates import CONFIDENCE, Estimate
from .sequential import at_any_time, at_interim

T = TypeVar("T")

OF_MEANS = "no interval of a mean is valid if the values decide their number"


@dataclass(frozen=True, slots=True)
class Repeated:
    """The number of repetitions of a run: a fixed number of times (both None), or from `least` to
    `most` times.
    """

    least: int | None = None
    most: int | None = None

    @property
    def is_range(self) -> bool:
        """Whether the values decide how many there are."""
        return self.least is not None

    @property
    def uses_ranks(self) -> bool:
        """Whether the interim analyses of the range are only those of `INTERIM_RANKS`."""
        return self.least is not None and self.most is not None and has_ranks(self.least, self.most)

    @property
    def needed(self) -> int:
        """The least number of values whose median has a 95 % interval."""
        return LEAST if self.is_range else estimates.values_needed(0.5)

    @property
    def interval(self) -> str:
        """How intervals of medians are computed."""
        if not self.is_range:
            return "order statistics"
        if self.uses_ranks:
            return "order statistics valid at every interim analysis"
        return "confidence sequence"

    @property
    def interval_of_percentiles(self) -> str:
        """The same for other percentiles, which have no ranks for interim analyses."""
        return "confidence sequence" if self.is_range else self.interval

    def counted(self, values: Sequence[T]) -> Sequence[T]:
        """Return the values that summaries use, in order of repetition: up to the last interim
        analysis that was reached.
        """
        if not self.uses_ranks:
            return values
        reached = [n for n in INTERIM_RANKS if n <= len(values)]
        return values[: max(reached)] if reached else values

    def median(self, values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
        """Return the median of values in order of repetition, with its interval."""
        if not self.is_range:
            return estimates.median(values, level)
        if not self.uses_ranks or level != CONFIDENCE:
            return at_any_time(values, 0.5, level)
        used = self.counted(values)
        if len(used) in INTERIM_RANKS:
            return at_interim(used)
        found = estimates.median(values, level)
        reason = found.reason if found.n < 2 else f"fewer than {LEAST} values"
        return Estimate(found.n, found.value, reason=reason)

    def percentile(self, values: Sequence[float], p: float, level: float = CONFIDENCE) -> Estimate:
        """Return the p-th percentile, 0 <= p <= 100, with its interval."""
        if not self.is_range or not 0 < p < 100:
            return estimates.percentile(values, p, level)
        return at_any_time(values, p / 100, level)

    def mean(self, values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
        """Return the mean, with its interval where the number of values was fixed."""
        return self._alone(estimates.mean(values, level))

    def statistic(self, name: str) -> Callable[[Sequence[float]], Estimate]:
        """Return what `--stat` names (estimates.statistic). Raises KeyError."""
        known = estimates.statistic(name)
        if not self.is_range:
            return known
        if name == "median":
            return self.median
        if name in estimates.STATISTICS:
            return lambda values: self._alone(known(values))
        return lambda values: self.percentile(values, float(name[1:]))

    def _alone(self, found: Estimate) -> Estimate:
        """Return an estimate, without its interval if the values decide their number."""
        if not self.is_range or found.low is None:
            return found
        return replace(found, low=None, high=None, reason=OF_MEANS)


FIXED = Repeated()


def repeated(plan: Plan) -> Repeated:
    """Return how a plan repeats its configurations."""
    return Repeated(plan.precision.least, plan.repeat) if plan.precision else FIXED
