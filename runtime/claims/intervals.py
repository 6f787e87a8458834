"""The interval of one quantity of a claim at a given level, and the values that it is computed
from.

    one sample                            order statistics (median, percentile), Student (mean)
    two, repetition by repetition         the same on their differences; for a ratio, on their
    log-ratios
    two independent                       sign tests of both; for a ratio, on logarithms; means:
    Welch's
    share of the repetitions              Clopper and Pearson's
    mean over configurations              of the quantity in each repetition; independent means:
    Welch-Satterthwaite

If a range of repetitions stopped depending on its results (`repeat = 8..30`), all of these miss too
often. Then medians, percentiles and shares have confidence sequences, independent samples are
compared pair by pair, and means have no interval.

Where something had not ended, the value of a repetition is known to be between two numbers only
(`bounds`). Then the lower end is that of the smallest values that are possible, and the upper end
that of the largest; an end may be open.

Repetitions are independent of each other, so the means over configurations within each repetition
are one sample, however the configurations depend on each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairc.compiler.plan import ClaimUnit, Contrast
from fairc.dsl.model.expressions import evaluate
from fairc.runtime.repetitions.remarks import merged
from fairc.runtime.statistics.distributions import beta_quantile, student_quantile
from fairc.runtime.statistics.estimates import Estimate, median, skewed
from fairc.runtime.statistics.medians import median_difference
from fairc.runtime.statistics.repeated import FIXED, OF_MEANS, Repeated

from .values import Values

Method = Literal[
    "order statistics",
    "sign tests",
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
Bounds = Mapping[int, tuple[float, float]]
"""Repetition -> between what its value is, where that is not known exactly."""


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


def quantity_of(
    unit: ClaimUnit, values: Values, level: float, *, common: bool, repeated: Repeated
) -> Quantity:
    """Return the quantity of a unit, whose statistics have these values; arguments as of
    `of_unit`.
    """
    known = values.each(unit.terms)
    if isinstance(known, str):
        return nothing(known)
    bounds = [values.bounds(term) for term in unit.terms]
    return of_unit(unit.contrast, known, level, common=common, repeated=repeated, bounds=bounds)


def of_unit(
    unit: Contrast,
    values: Sequence[ByRepetition],
    level: float,
    *,
    common: bool,
    repeated: Repeated = FIXED,
    bounds: Sequence[Bounds] = (),
) -> Quantity:
    """Return the quantity of a unit. values: of each of its terms.

    common: whether the configurations of a repetition draw alike; terms of one configuration always
    do.
    repeated: a fixed number of repetitions, or a range. bounds: of values of each term; none: all
    are exact.
    """

    def of(values: Sequence[ByRepetition]) -> Quantity:
        return _of_unit(unit, values, level, common=common, repeated=repeated)

    if not any(bounds):
        return of(values)
    least, most = (
        None if extreme is None else of(extreme)
        for side in (0, 1)
        for extreme in (_extreme(unit, values, bounds, side),)
    )
    return _between(of(values), least, most)


def _of_unit(
    unit: Contrast,
    values: Sequence[ByRepetition],
    level: float,
    *,
    common: bool,
    repeated: Repeated,
) -> Quantity:
    first = unit.terms[0]
    if len(unit.terms) == 1:
        return _one(unit, tuple(values[0].values()), level, repeated)
    paired = common or repeated.is_range or first.cells == unit.terms[1].cells
    together = by_repetition(unit, values)
    if isinstance(together, str):
        return nothing(together)
    if paired:
        if unit.form == "ratio":
            logs = {r: _log((y - unit.shift) / unit.factors[0]) for r, y in together.items()}
            inner = repeated.median(list(logs.values()), level)
            found = _affine(_exp(inner), unit.factors[0], unit.shift)
            return Quantity(_with_reason(found), tuple(together.values()), 0.5, _ranks(repeated))
        plain = _plain(first.statistic, tuple(together.values()), level, repeated)
        return _contrasted(plain, unit, [[v[r] for r in together] for v in values])
    return _independent(unit, values, level, tuple(together.values()))


def of_mean(
    units: Sequence[Contrast],
    values: Sequence[Sequence[ByRepetition]],
    level: float,
    *,
    common: bool,
    repeated: Repeated = FIXED,
    bounds: Sequence[Sequence[Bounds]] = (),
) -> Quantity:
    """Return the mean over units of their quantities. values, bounds: of each term of each unit."""

    def of(values: Sequence[Sequence[ByRepetition]]) -> Quantity:
        return _of_mean(units, values, level, common=common, repeated=repeated)

    if not any(any(of_terms) for of_terms in bounds):
        return of(values)
    ends: list[Quantity | None] = []
    for side in (0, 1):
        every = [
            _extreme(unit, of_terms, between, side)
            for unit, of_terms, between in zip(units, values, bounds, strict=True)
        ]
        known = [extreme for extreme in every if extreme is not None]
        ends.append(of(known) if len(known) == len(every) else None)
    return _between(of(values), *ends)


def _contrasted(found: Quantity, unit: Contrast, of_terms: Sequence[Sequence[float]]) -> Quantity:
    """Return the median of sums, repetition by repetition, with a remark where the sum of the
    medians is another one: they are the same for distributions of one shape.

    of_terms: the values of each term in these repetitions.
    """
    low, high = found.estimate.low, found.estimate.high
    medians = [median(values).value for values in of_terms]
    if unit.terms[0].statistic != "median" or low is None or high is None or None in medians:
        return found
    own = _combined(unit, [middle or 0.0 for middle in medians])
    if low <= own <= high:
        return found
    remark = (
        "this is the median of what is compared repetition by repetition; the two medians by"
        " themselves would give a value outside of the interval"
    )
    return replace(found, estimate=replace(found.estimate, remark=remark))


def _extreme(
    unit: Contrast,
    values: Sequence[ByRepetition],
    bounds: Sequence[Bounds],
    side: int,
) -> list[dict[int, float]] | None:
    """Return the values of each term that make a unit the smallest (side 0) or the largest (1);
    None where that has no end.
    """
    found = []
    for place, (term, factor, of_term, between) in enumerate(
        zip(unit.terms, unit.factors, values, bounds, strict=True)
    ):
        falls = (factor < 0) != (unit.form == "ratio" and place == 1)
        falls = falls != (term.relation in ("<", "<="))
        end = side if not falls else 1 - side
        extreme = {**of_term, **{r: ends[end] for r, ends in between.items()}}
        if term.statistic == "mean" and not all(map(math.isfinite, extreme.values())):
            return None
        if unit.form == "ratio" and min(extreme.values()) <= 0:
            return None
        found.append(dict(sorted(extreme.items())))
    return found


def _between(seen: Quantity, least: Quantity | None, most: Quantity | None) -> Quantity:
    """Return a quantity with the lower end of one, and the upper end of another; None: open.

    seen: of the values that are known.
    """
    estimate = seen.estimate
    if estimate.value is None and not estimate.n:
        return seen
    low = None if least is None else least.estimate.ends[0]
    high = None if most is None else most.estimate.ends[1]
    if low is not None and high is not None:
        return replace(seen, estimate=replace(estimate, low=low, high=high, reason=""))
    open_ = "upper end" if low is not None else "lower end" if high is not None else "interval"
    reason = f"what had not ended leaves its {open_} open"
    if open_ == "interval" and estimate.low is None:
        reason = "; ".join(filter(None, (estimate.reason, reason)))
    estimate = replace(estimate, low=None, high=None, reason=reason, floor=low, ceiling=high)
    return replace(seen, estimate=estimate, values=())


def _of_mean(
    units: Sequence[Contrast],
    values: Sequence[Sequence[ByRepetition]],
    level: float,
    *,
    common: bool,
    repeated: Repeated,
) -> Quantity:
    statistic = units[0].terms[0].statistic
    if statistic == "mean" and not common:
        found = _satterthwaite(units, values, level)
        return _without(found) if repeated.is_range else found
    each = []
    for unit, of_terms in zip(units, values, strict=True):
        combined = by_repetition(unit, of_terms)
        if isinstance(combined, str):
            return nothing(combined)
        each.append(combined)
    shared = sorted(set.intersection(*(set(combined) for combined in each)))
    if not shared:
        return nothing("no repetition counts in every configuration")
    means = tuple(_sum([m[r] for m in each]) / len(each) for r in shared)
    return _plain(statistic, means, level, repeated)


def by_repetition(unit: Contrast, values: Sequence[ByRepetition]) -> dict[int, float] | str:
    """Return the quantity in each repetition that all its terms have, or why there is none."""
    shared = sorted(set.intersection(*(set(found) for found in values)))
    if not shared:
        return "no repetition counts on both sides"
    if unit.form == "ratio" and min(x for found in values for x in found.values()) <= 0:
        return "a ratio needs positive values, and some are not; a share, A / (A + B), may be 0"
    return {r: _combined(unit, [found[r] for found in values]) for r in shared}


def _combined(unit: Contrast, values: Sequence[float]) -> float:
    """Return what an expression is, given the values of its statistics; NaN if infinite parts
    cancel, which may then be anything.
    """
    known = iter(values)
    return evaluate(unit.expression, {}, lambda _: next(known))


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


def _one(unit: Contrast, values: tuple[float, ...], level: float, repeated: Repeated) -> Quantity:
    term, factor = unit.terms[0], unit.factors[0]
    if term.statistic == "count":
        hits = [float(TESTS[term.relation](x, term.bound)) for x in values]
        interval = share_at_any_time if repeated.is_range else clopper_pearson
        low, high = interval(round(sum(hits)), len(hits), level)
        share = Estimate(len(hits), sum(hits) / len(hits), low, high)
        as_is = (factor, unit.shift) == (1.0, 0.0)
        method: Method = "clopper-pearson" if as_is else "none"
        method = "confidence sequence" if repeated.is_range else method
        return Quantity(_affine(share, factor, unit.shift), tuple(hits), 0.5, method)
    shifted = tuple(_combined(unit, [x]) for x in values)
    if term.statistic == "percentile":
        share_of = term.share if factor >= 0 else 1 - term.share
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
    unit: Contrast,
    values: Sequence[ByRepetition],
    level: float,
    together: tuple[float, ...],
) -> Quantity:
    first, second = unit.factors
    a, b = (list(found.values()) for found in values)
    if unit.form == "ratio":
        found = _exp(median_difference([_log(x) for x in a], [_log(x) for x in b], level))
        above, below = median(a).value, median(b).value
        if found.value is not None and above is not None and below:
            found = replace(found, value=above / below)  # of two middle values the mean, as shown
        found = _affine(found, first, unit.shift)
        return Quantity(found, together, 0.5, "sign tests")
    a, b = [first * x for x in a], [-second * x for x in b]
    if unit.terms[0].statistic == "mean":
        return _satterthwaite([unit], [values], level)
    found = _affine(median_difference(a, b, level), 1.0, unit.shift)
    return Quantity(found, together, 0.5, "sign tests")


def _satterthwaite(
    units: Sequence[Contrast], values: Sequence[Sequence[ByRepetition]], level: float
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
            combined = by_repetition(replace(unit, shift=0.0), of_terms)
            if isinstance(combined, str):
                return nothing(combined)
            samples.append(list(combined.values()))
        else:
            samples += [
                [factor * x for x in found.values()]
                for factor, found in zip(unit.factors, of_terms, strict=True)
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


def _with_reason(estimate: Estimate) -> Estimate:
    """Return an estimate whose reason says what helps where values do not vary."""
    return (
        replace(estimate, reason=CONSTANT) if estimate.reason.startswith("all values") else estimate
    )


def _exp(estimate: Estimate) -> Estimate:
    return _mapped(estimate, math.exp)


def _affine(estimate: Estimate, factor: float, constant: float) -> Estimate:
    found = _mapped(estimate, lambda x: factor * x + constant)
    if factor >= 0:
        return found
    return replace(found, low=found.high, high=found.low, floor=found.ceiling, ceiling=found.floor)


def _mapped(estimate: Estimate, function: Callable[[float], float]) -> Estimate:
    """Return an estimate with a function of its value and of all its ends."""
    value, low, high, floor, ceiling = (
        None if x is None else function(x)
        for x in (
            estimate.value,
            *(estimate.low, estimate.high, estimate.floor, estimate.ceiling),
        )
    )
    return replace(estimate, value=value, low=low, high=high, floor=floor, ceiling=ceiling)
