"""The interval of one quantity of a claim at a given level, and the values that it is computed
from.

    one sample                            order statistics (median, percentile), Student (mean)
    two, repetition by repetition         the same on their differences; for a ratio, on their
    log-ratios
    two independent                       Hodges and Lehmann's; for a ratio, on logarithms; means:
    Welch's
    share of the repetitions              Clopper and Pearson's
    mean over configurations              of the quantity in each repetition; independent means:
    Welch-Satterthwaite

If a range of repetitions stopped depending on its results (`repeat = 8..30`), all of these miss too
often. Then medians, percentiles and shares have confidence sequences, independent samples are
compared pair by pair, and means have no interval.

Repetitions are independent of each other, so the means over configurations within each repetition
are one sample, however the configurations depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairc.compiler.plan import ClaimUnit
from fairc.runtime.repetitions.remarks import merged
from fairc.runtime.statistics.agreement import shift
from fairc.runtime.statistics.distributions import beta_quantile, student_quantile
from fairc.runtime.statistics.estimates import Estimate, skewed
from fairc.runtime.statistics.repeated import FIXED, OF_MEANS, Repeated

Method = Literal[
    "order statistics",
    "hodges-lehmann",
    "student",
    "welch",
    "clopper-pearson",
    "confidence sequence",
    "page",
    "jonckheere-terpstra",
    "none",
]
CONSTANT = "all values are equal; `count` would have an interval"

ByRepetition = Mapping[int, float]


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity with its interval.

    values: one for each repetition, if the quantity has one there; else (independent samples) one
    for each pair of repetitions with the same number. share: the quantile that is estimated.
    method: of the interval.
    """

    estimate: Estimate
    values: tuple[float, ...]
    share: float
    method: Method


def nothing(reason: str) -> Quantity:
    """Return a quantity without a value."""
    return Quantity(Estimate(0, None, reason=reason), (), 0.5, "none")


def of_unit(
    unit: ClaimUnit,
    form: str,
    values: Sequence[ByRepetition],
    level: float,
    *,
    common: bool,
    repeated: Repeated = FIXED,
) -> Quantity:
    """Return the quantity of a unit. values: of each of its terms; form: sum or ratio, as in the
    plan.

    common: whether the configurations of a repetition draw alike; terms of one configuration always
    do.
    repeated: a fixed number of repetitions, or a range.
    """
    first = unit.terms[0]
    if len(unit.terms) == 1:
        return _one(unit, tuple(values[0].values()), level, repeated)
    paired = common or repeated.is_range or first.cells == unit.terms[1].cells
    together = by_repetition(unit, form, values)
    if isinstance(together, str):
        return nothing(together)
    if paired:
        if form == "ratio":
            logs = {r: _log((y - unit.shift) / first.factor) for r, y in together.items()}
            inner = repeated.median(list(logs.values()), level)
            found = _affine(_exp(inner), first.factor, unit.shift)
            return Quantity(_with_reason(found), tuple(together.values()), 0.5, _ranks(repeated))
        return _plain(first.statistic, tuple(together.values()), level, repeated)
    return _independent(unit, form, values, level, tuple(together.values()))


def of_mean(
    units: Sequence[ClaimUnit],
    form: str,
    values: Sequence[Sequence[ByRepetition]],
    level: float,
    *,
    common: bool,
    repeated: Repeated = FIXED,
) -> Quantity:
    """Return the mean over units of their quantities. values: of each term of each unit."""
    statistic = units[0].terms[0].statistic
    if statistic == "mean" and not common:
        found = _satterthwaite(units, values, level)
        return _without(found) if repeated.is_range else found
    each = []
    for unit, of_terms in zip(units, values, strict=True):
        combined = by_repetition(unit, form, of_terms)
        if isinstance(combined, str):
            return nothing(combined)
        each.append(combined)
    shared = sorted(set.intersection(*(set(combined) for combined in each)))
    if not shared:
        return nothing("no repetition counts in every configuration")
    means = tuple(_sum([m[r] for m in each]) / len(each) for r in shared)
    return _plain(statistic, means, level, repeated)


def by_repetition(
    unit: ClaimUnit, form: str, values: Sequence[ByRepetition]
) -> dict[int, float] | str:
    """Return the quantity in each repetition that all its terms have, or why there is none."""
    shared = sorted(set.intersection(*(set(found) for found in values)))
    if not shared:
        return "no repetition counts on both sides"
    if form == "ratio":
        top, bottom = values
        if min(*top.values(), *bottom.values()) <= 0:
            return "a ratio needs positive values, and some are not; a share, A / (A + B), may be 0"
        return {r: unit.shift + unit.terms[0].factor * top[r] / bottom[r] for r in shared}
    return {
        r: unit.shift + _sum([t.factor * v[r] for t, v in zip(unit.terms, values, strict=True)])
        for r in shared
    }


def _sum(parts: Sequence[float]) -> float:
    """Return a sum; NaN if infinite parts cancel, which may then be anything."""
    return math.fsum(parts) if len({x for x in parts if math.isinf(x)}) < 2 else math.nan


def _log(x: float) -> float:
    """Return the logarithm of a ratio, x >= 0: that of a number over an infinite one is minus
    infinity.
    """
    return math.log(x) if x else -math.inf


def clopper_pearson(hits: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of a share, given `hits` of n, 0 <= hits <= n, n >= 1.

    Source: Clopper and Pearson, The use of confidence or fiducial limits illustrated in the case of
    the binomial, Biometrika 26, 1934.
    """
    tail = (1 - level) / 2
    low = beta_quantile(hits, n - hits + 1, tail) if hits else 0.0
    high = beta_quantile(hits + 1, n - hits, 1 - tail) if hits < n else 1.0
    return low, high


def share_at_any_time(hits: int, n: int, level: float) -> tuple[float, float]:
    """Return the interval of a share that is valid at all times simultaneously (sequential.py,
    `kept_counts`).

    A share p is kept while B(k + 1, n - k + 1) / (p^k (1 - p)^(n - k)) < 1 / (1 - level).
    Source: Robbins, Statistical methods related to the law of the iterated logarithm, 1970.
    """
    beta = math.lgamma(hits + 1) + math.lgamma(n - hits + 1) - math.lgamma(n + 2)

    def kept(p: float) -> bool:
        likelihood = (hits * math.log(p) if hits else 0.0) + (
            (n - hits) * math.log1p(-p) if hits < n else 0.0
        )
        return beta - likelihood < -math.log(1 - level)

    def edge(outside: float, inside: float) -> float:
        for _ in range(60):
            middle = (outside + inside) / 2
            outside, inside = (outside, middle) if kept(middle) else (middle, inside)
        return inside

    seen = min(max(hits / n, 1e-12), 1 - 1e-12)
    return (edge(0.0, seen) if hits else 0.0), (edge(1.0, seen) if hits < n else 1.0)


TESTS = {
    "<": lambda x, bound: x < bound,
    "<=": lambda x, bound: x <= bound,
    ">": lambda x, bound: x > bound,
    ">=": lambda x, bound: x >= bound,
}


def _one(unit: ClaimUnit, values: tuple[float, ...], level: float, repeated: Repeated) -> Quantity:
    term = unit.terms[0]
    if term.statistic == "count":
        hits = [float(TESTS[term.relation](x, term.bound)) for x in values]
        interval = share_at_any_time if repeated.is_range else clopper_pearson
        low, high = interval(round(sum(hits)), len(hits), level)
        share = Estimate(len(hits), sum(hits) / len(hits), low, high)
        as_is = (term.factor, unit.shift) == (1.0, 0.0)
        method: Method = "clopper-pearson" if as_is else "none"
        method = "confidence sequence" if repeated.is_range else method
        return Quantity(_affine(share, term.factor, unit.shift), tuple(hits), 0.5, method)
    shifted = tuple(unit.shift + term.factor * x for x in values)
    if term.statistic == "percentile":
        share_of = term.share if term.factor >= 0 else 1 - term.share
        found = _with_reason(repeated.percentile(shifted, 100 * share_of, level))
        return Quantity(found, shifted, share_of, _ranks(repeated))
    return _plain(term.statistic, shifted, level, repeated)


def _ranks(repeated: Repeated) -> Method:
    """Return the method of the interval of a median or a percentile."""
    return "confidence sequence" if repeated.is_range else "order statistics"


def _plain(statistic: str, values: tuple[float, ...], level: float, repeated: Repeated) -> Quantity:
    if statistic == "mean":
        return Quantity(_with_reason(repeated.mean(values, level)), values, 0.5, "student")
    return Quantity(_with_reason(repeated.median(values, level)), values, 0.5, _ranks(repeated))


def _independent(
    unit: ClaimUnit,
    form: str,
    values: Sequence[ByRepetition],
    level: float,
    together: tuple[float, ...],
) -> Quantity:
    first, second = unit.terms
    a, b = (list(found.values()) for found in values)
    if form == "ratio":
        logs = shift([_log(x) for x in b], [_log(x) for x in a], level)
        found = _affine(_exp(logs), first.factor, unit.shift)
        return Quantity(_with_reason(found), together, 0.5, "hodges-lehmann")
    a, b = [first.factor * x for x in a], [-second.factor * x for x in b]
    if first.statistic == "mean":
        return _satterthwaite([unit], [values], level)
    return Quantity(
        _with_reason(_affine(shift(b, a, level), 1.0, unit.shift)), together, 0.5, "hodges-lehmann"
    )


def _satterthwaite(
    units: Sequence[ClaimUnit], values: Sequence[Sequence[ByRepetition]], level: float
) -> Quantity:
    """Return the mean over units of sums of means of independent samples.

    (sum c_k m_k) +- t(df) sqrt(sum v_k), v_k = c_k^2 s_k^2 / n_k, df = (sum v_k)^2 / sum(v_k^2 /
    (n_k - 1)). Terms of one configuration are combined first, because they are not independent.

    Source: Satterthwaite, An approximate distribution of estimates of variance components,
    Biometrics 2, 1946; Welch, The generalization of Student's problem when several different
    population variances are involved, Biometrika 34, 1947.
    """
    value, parts = 0.0, []
    remarks: list[str] = []
    for unit, of_terms in zip(units, values, strict=True):
        value += unit.shift / len(units)
        samples: list[list[float]] = []
        if len(unit.terms) == 2 and unit.terms[0].cells == unit.terms[1].cells:
            combined = by_repetition(replaced(unit), "sum", of_terms)
            if isinstance(combined, str):
                return nothing(combined)
            samples.append(list(combined.values()))
        else:
            samples += [
                [t.factor * x for x in found.values()]
                for t, found in zip(unit.terms, of_terms, strict=True)
            ]
        for every in samples:
            sample = [x for x in every if math.isfinite(x)]
            n = len(sample)
            if n < len(every):
                left_out = f"the mean leaves out {len(every) - n} of {len(every)} values"
                remarks.append(f"{left_out}, which are beyond all others")
            if n < 2:
                return nothing("a mean needs at least 2 repetitions")
            remarks.append(skewed(sample))
            centre = math.fsum(sample) / n
            value += centre / len(units)
            variance = math.fsum((x - centre) ** 2 for x in sample) / (n - 1)
            parts.append((variance / n / len(units) ** 2, n - 1))
    total = math.fsum(v for v, _ in parts)
    n = min(free for _, free in parts) + 1
    remark = "; ".join(merged(filter(None, remarks)))
    if total == 0:
        return Quantity(Estimate(n, value, reason=CONSTANT, remark=remark), (), 0.5, "welch")
    freedom = total**2 / math.fsum(v**2 / free for v, free in parts)
    half = student_quantile(freedom, (1 + level) / 2) * math.sqrt(total)
    return Quantity(Estimate(n, value, value - half, value + half, remark=remark), (), 0.5, "welch")


def _without(found: Quantity) -> Quantity:
    """Return a mean without its interval, which is valid only for a fixed number of repetitions."""
    estimate = replace(found.estimate, low=None, high=None, reason=OF_MEANS)
    return replace(found, estimate=estimate, method="none")


def replaced(unit: ClaimUnit) -> ClaimUnit:
    """Return a unit without its constant."""
    return unit.model_copy(update={"shift": 0.0})


def _with_reason(estimate: Estimate) -> Estimate:
    """Return an estimate whose reason says what helps where values do not vary."""
    return (
        replace(estimate, reason=CONSTANT) if estimate.reason.startswith("all values") else estimate
    )


def _exp(estimate: Estimate) -> Estimate:
    value, low, high = (
        None if x is None else math.exp(x) for x in (estimate.value, estimate.low, estimate.high)
    )
    return replace(estimate, value=value, low=low, high=high)


def _affine(estimate: Estimate, factor: float, constant: float) -> Estimate:
    value, low, high = (
        None if x is None else factor * x + constant
        for x in (estimate.value, estimate.low, estimate.high)
    )
    return (
        replace(estimate, value=value, low=low, high=high)
        if factor >= 0
        else replace(estimate, value=value, low=high, high=low)
    )
