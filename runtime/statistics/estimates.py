"""Summaries of repetitions: median, mean, percentiles, and the intervals that they deserve.

A value may be infinite, larger (or smaller) than all that were observed: a page that never loaded.
Medians, percentiles and their intervals count it, and are missing where they fall on it; means
leave it out and say so. NaN stands for a value that may be anything: the difference of two infinite
ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial

from .bootstrap import MIN_VALUES, bca_mean
from .distributions import student_quantile

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A summary of n values. low, high: its confidence interval, both None without one.

    reason: why there is no interval; empty if there is one. remark: what its reader has to know;
    empty if nothing. floor, ceiling: the only end of an interval that is open on its other side.
    """

    n: int
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""
    remark: str = ""
    floor: float | None = None
    ceiling: float | None = None

    @property
    def is_endless(self) -> bool:
        """Whether it is larger than any value that was observed: of a quantile of values, none of
        which may be anything.
        """
        return self.n > 0 and self.value is None

    @property
    def ends(self) -> tuple[float | None, float | None]:
        """The ends of the interval, None where it is open or there is none."""
        return (
            self.floor if self.low is None else self.low,
            self.ceiling if self.high is None else self.high,
        )


@cache
def quantile_ranks(n: int, q: float, level: float = CONFIDENCE) -> tuple[int, int] | None:
    """Return the ranks j < k (from 1) whose order statistics enclose the q-quantile.

    The narrowest pair with at most (1 - level) / 2 on each side; None where even minimum and
    maximum leave more outside (`values_needed`), and for q = 0 and 1. With B ~ Binomial(n, q),
    P(x_(j) <= quantile <= x_(k)) >= P(j <= B <= k - 1), with equality for a continuous
    distribution; only independence and one distribution are assumed.

    Source: Le Boudec, Performance Evaluation of Computer and Communication Systems, theorem 2.1.
    """
    if max(q, 1 - q) >= 1:
        return None
    below, above = _tail_rank(n, q, level), _tail_rank(n, 1 - q, level)
    return (below, n + 1 - above) if below and above else None


def _tail_rank(n: int, q: float, level: float) -> int:
    """Return the largest j with P(B <= j - 1) <= (1 - level) / 2, B ~ Binomial(n, q); 0 if there is
    none.
    """
    tail, j = 0.0, 0
    while j <= n:
        tail += binomial(n, j, q)
        if tail > (1 - level) / 2:
            break
        j += 1
    return j


def binomial(n: int, k: int, q: float) -> float:
    """Return P(B = k) for B ~ Binomial(n, q), 0 < q < 1."""
    if q == 0.5 and n < 1000:
        return float(Fraction(math.comb(n, k), 2**n))
    logs = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logs + k * math.log(q) + (n - k) * math.log1p(-q))


def values_needed(q: float, level: float = CONFIDENCE) -> int:
    """Return the least number of values that give the q-quantile an interval, 0 < q < 1."""
    return math.ceil(math.log((1 - level) / 2) / math.log(max(q, 1 - q)))


def median(values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return the median with its order-statistics interval; below 6 values there is none at
    95 %.
    """
    return percentile(values, 50, level)


def mean(values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return the mean with Student's interval, x +- t_(n-1, (1 + level) / 2) s / sqrt(n).

    It assumes normally distributed values, or many of them: a remark says where they are too few
    for their skewness (`skewed`). Source: Le Boudec,
    Performance Evaluation of Computer and Communication Systems, theorem 2.2 (normal data).
    """

    def ends(known: Sequence[float], value: float) -> tuple[float, float]:
        n = len(known)
        variance = math.fsum((x - value) ** 2 for x in known) / (n - 1)
        half = student_quantile(n - 1, (1 + level) / 2) * math.sqrt(variance / n)
        return value - half, value + half

    return _of_mean(values, ends)


def percentile(values: Sequence[float], p: float, level: float = CONFIDENCE) -> Estimate:
    """Return the p-th percentile, 0 <= p <= 100, with its order-statistics interval.

    The value interpolates linearly; the interval (`quantile_ranks`) is of the distribution's
    percentile. Minimum and maximum (0 and 100) have none.

    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7.
    """
    q = p / 100
    if max(q, 1 - q) >= 1:
        found = of_ranks(values, q, None, "")
        return (
            replace(found, reason="an extreme of the sample has no interval") if found.n else found
        )
    few = f"fewer than {values_needed(q, level)} values"
    return of_ranks(values, q, quantile_ranks(len(values), q, level), few)


def bootstrap(values: Sequence[float], level: float = CONFIDENCE) -> Estimate:
    """Return the mean with its BCa bootstrap interval (bootstrap.py); its remark as for `mean`."""
    return _of_mean(values, lambda known, _: bca_mean(known, level), MIN_VALUES)


def _of_mean(
    values: Sequence[float],
    ends: Callable[[Sequence[float], float], tuple[float, float]],
    least: int = 2,
) -> Estimate:
    """Return the mean of the finite values. ends: returns its interval, given them and it, where
    they vary and are not fewer than `least`.
    """
    known, remark = _finite(values)
    n = len(known)
    if not n:
        return _nothing(remark)
    value = math.fsum(known) / n
    few = f"fewer than {least} values" if n < least else ""
    if reason := no_variance(known) or few:
        return Estimate(n, value, reason=reason, remark=remark)
    return Estimate(n, value, *ends(known, value), remark=_joined(remark, skewed(known)))


def skewed(values: Sequence[float]) -> str:
    """Say so where values are too few for their skewness for an interval of their mean; else "".

    Too few: n < 25 g^2, g = m_3 / m_2^1.5 the sample's skewness, m_k its central moments. The rule
    is made for Student's interval at 95 %. Few values of a skewed distribution often look
    symmetric, so no rule finds all (docs/trust/statistics.md has what this one finds, and what the
    intervals cover).

    Source: Cochran, Sampling Techniques, 3rd edition, 1977, section 2.15.
    """
    n = len(values)
    centre = math.fsum(values) / n
    scale = max(abs(x - centre) for x in values)  # so that no power overflows
    if n < 3 or scale == 0:
        return ""
    off = [(x - centre) / scale for x in values]
    spread = math.fsum(x**2 for x in off) / n
    skewness = math.fsum(x**3 for x in off) / n / spread**1.5
    if n >= 25 * skewness**2:
        return ""
    return (
        f"skewed values (skewness {skewness:.1f}, n = {n}): an interval of their mean covers less"
        " than it says; take the median"
    )


def interpolated(ordered: Sequence[float], q: float) -> float | None:
    """Return the q-quantile of at least one ascending value; None where it falls on one that is not
    finite.

    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996, definition 7.
    """
    place = (len(ordered) - 1) * q
    if (
        abs(place - round(place)) < 1e-9
    ):  # of a rank: the next value takes no part, however large it is
        place = round(place)
    below = math.floor(place)
    part = place - below
    lower, upper = ordered[below], ordered[below + 1] if part else ordered[below]
    if part == 0.5:
        value = (lower + upper) / 2
    else:
        value = lower + part * (upper - lower) if part else lower
    return value if math.isfinite(value) else None


def of_ranks(
    values: Sequence[float], q: float, ranks: tuple[int, int] | None, few: str
) -> Estimate:
    """Return the q-quantile of values with the interval between two ranks; None: there is none, for
    the reason `few`.

    A value that may be anything is as small as can be for what is below, and as large as can be for
    what is above.
    """
    n = len(values)
    if not n:
        return _nothing()
    known = sorted(x for x in values if not math.isnan(x))
    unknown = n - len(known)
    lows, highs = [-math.inf] * unknown + known, known + [math.inf] * unknown
    least, most = interpolated(lows, q), interpolated(highs, q)
    value = least if least == most else None
    if (reason := no_variance(values)) or ranks is None:
        return Estimate(n, value, reason=reason or few)
    low, high = lows[ranks[0] - 1], highs[ranks[1] - 1]
    if not (math.isfinite(low) and math.isfinite(high)):
        beyond = sum(not math.isfinite(x) for x in values)
        reason = f"it would end at one of the {beyond} values beyond all that were observed"
        floor, ceiling = (end if math.isfinite(end) else None for end in (low, high))
        return Estimate(n, value, reason=reason, floor=floor, ceiling=ceiling)
    return Estimate(n, value, low, high)


def _finite(values: Sequence[float]) -> tuple[list[float], str]:
    """Return the finite values, and a remark on how many others a mean of them leaves out."""
    known = [x for x in values if math.isfinite(x)]
    out = len(values) - len(known)
    if not out:
        return known, ""
    return known, f"the mean leaves out {out} of {len(values)} values, which are beyond all others"


def _joined(*remarks: str) -> str:
    return "; ".join(filter(None, remarks))


def _nothing(remark: str = "") -> Estimate:
    return Estimate(0, None, reason="no value", remark=remark)


def no_variance(values: Sequence[float]) -> str:
    """Return why values that do not vary have no interval, else "" (measurement.md, rule 11)."""
    if len(values) == 1:
        return "one value"
    if min(values) != max(values) or any(math.isnan(x) for x in values):
        return ""
    return "all values are equal" if math.isfinite(values[0]) else "no value is finite"


STATISTICS: dict[str, Callable[[Sequence[float]], Estimate]] = {
    "median": median,
    "mean": mean,
    "bootstrap": bootstrap,
    "min": partial(percentile, p=0),
    "max": partial(percentile, p=100),
}
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?)")


def statistic(name: str) -> Callable[[Sequence[float]], Estimate]:
    """Return what `--stat` names: one of STATISTICS, or a percentile such as `p90`.

    Raises KeyError.
    """
    if found := _PERCENTILE.fullmatch(name):
        return partial(percentile, p=float(found[1]))
    return STATISTICS[name]
