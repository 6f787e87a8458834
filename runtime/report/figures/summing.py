"""How a figure sums up the cells of a group: a statistic with its interval, and what is said about
both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairc.compiler.plan import FigureRequest
from fairc.runtime.formatting import counted, listed, one_line
from fairc.runtime.repetitions.samples import Sample
from fairc.runtime.statistics import Estimate
from fairc.runtime.statistics.repeated import FIXED

from .cases import Cases, mixture, number_of, replicates


@dataclass(frozen=True, slots=True)
class Summing:
    """How the cells of a group are summed up; level: of the interval.

    of_cases: what the groups are of.
    """

    stat: str
    level: float
    of_cases: Cases
    percentile: float | None = None

    def __call__(self, cases: Sequence[Sample]) -> Estimate:
        """Return the estimate over the cells, each the mean over its flows; of a mixture no
        interval.
        """
        add = mixture(cases, self.of_cases.swept, self.of_cases.sampled)
        found = self.of(replicates(cases), mixed=bool(add))
        if add:
            reason = f"mixes {listed([*map(one_line, add)])}"
            return replace(found, low=None, high=None, reason=reason)
        return found

    def of(self, values: Sequence[float], mixed: bool = False) -> Estimate:
        """Return the estimate over independent values; mixed: they are of several
        configurations.
        """
        repeats = FIXED if mixed else self.of_cases.repeats
        if self.percentile is not None:
            return repeats.percentile(values, self.percentile, self.level)
        return {"median": repeats.median, "mean": repeats.mean}[self.stat](values, self.level)

    def remark(self, names: Sequence[str]) -> str:
        """Say in how many groups by these names means are biased, or their intervals; empty if in
        none.
        """
        groups = [self(found) for _, found in self.of_cases.groups(names)]
        biased = [found.remark for found in groups if found.remark]
        if not biased:
            return ""
        return (
            f" In {len(biased)} of {counted(len(groups), 'group')}:"
            f" {listed([*dict.fromkeys(biased)], 2)}."
        )

    @property
    def what(self) -> str:
        """Name it: `median`, `10th percentile`."""
        return self.stat if self.percentile is None else ordinal(self.percentile)

    @property
    def interval(self) -> str:
        """Name the interval and how it is made."""
        repeats = self.of_cases.repeats
        ranks = repeats.interval if self.percentile is None else repeats.interval_of_percentiles
        how = "Student's t" if self.what == "mean" else ranks
        return f"{100 * self.level:g} % interval ({how})"


def summing(request: FigureRequest, cases: Cases) -> Summing:
    """Return how a figure's options sum up a group."""
    percentile = request.options.get("percentile")
    assert percentile is None or isinstance(percentile, float)
    return Summing(str(request.options["stat"]), number_of(request, "ci"), cases, percentile)


def ordinal(percentile: float) -> str:
    """Return `10th percentile`."""
    text = f"{percentile:g}"
    last = text[-1] if "." not in text and text[-2:] not in ("11", "12", "13") else ""
    return f"{text}{({'1': 'st', '2': 'nd', '3': 'rd'}).get(last, 'th')} percentile"
