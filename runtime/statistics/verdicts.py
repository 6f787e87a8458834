"""Two samples compared: tests, effect size, and what they mean as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from .dominance import Dominance, dominance
from .estimates import Estimate, median
from .medians import median_difference
from .paired import Matched, SignedRank, correlation, signed_rank, walsh_shift
from .two_samples import MannWhitney, Welch, cliffs_delta, hedges_g, magnitude, mann_whitney, welch

LEVEL = 0.05

Kind = Literal["identical", "same", "different", "undecided"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two samples.

    kind: identical: the same numbers in the same order. different: the test rejects, or neither
    sample varies and they are not equal. undecided: too few values for any outcome to be
    significant, or significant by itself but not among all comparisons. same: none of these,
    so no difference was found, which is no proof of equality.
    p: of the Mann-Whitney test, or of the signed-rank test of pairs; p_holm: adjusted over all
    comparisons made together; None without a test. delta, g: effect sizes of independent samples
    (Cliff, Hedges), positive where the first is larger. welch: Welch's t-test, or why there is
    none. medians: by how much the first one is larger, of independent samples.
    pairs: how many values were compared pair by pair; None if the samples are independent. shift:
    by how much the second of a pair is larger, with its interval; correlation: of the pairs, None
    where undefined.
    text: the same as a sentence.
    """

    kind: Kind
    first: Estimate
    second: Estimate
    p: float | None = None
    p_holm: float | None = None
    delta: float | None = None
    g: float | None = None
    welch: Welch | str = "not computed"
    dominance: Dominance | None = None
    medians: Estimate | None = None
    pairs: int | None = None
    shift: Estimate | None = None
    correlation: float | None = None
    text: str = ""


def compare(
    pairs: Iterable[tuple[Sequence[float], Sequence[float]] | Matched],
) -> list[Comparison]:
    """Compare the two samples of each pair; p-values are adjusted over all pairs together.

    Matched samples are compared value by value, others as independent ones. Every sample has at
    least one value.
    """
    comparisons = [_matched(p) if isinstance(p, Matched) else _compare(*p) for p in pairs]
    tested = [i for i, (_, test) in enumerate(comparisons) if test is not None]
    p_values = [test.p for _, test in comparisons if test is not None]
    for i, p_holm in zip(tested, holm(p_values), strict=True):
        comparison, test = comparisons[i]
        assert test is not None
        comparisons[i] = _judged(replace(comparison, p_holm=p_holm), test, len(tested)), test
    return [comparison for comparison, _ in comparisons]


Test = MannWhitney | SignedRank


def _matched(pairs: Matched) -> tuple[Comparison, Test | None]:
    both = sum(math.isinf(x) and x == y for x, y in zip(*pairs, strict=True))
    if both == len(pairs.first):
        text = "not decided: in every pair, both values are larger than all that were observed"
        return Comparison("undecided", median(pairs.first), median(pairs.second), text=text), None
    if both:  # by how much they differ is unknown, and which is larger
        kept = [(x, y) for x, y in zip(*pairs, strict=True) if not (math.isinf(x) and x == y)]
        pairs = Matched([x for x, _ in kept], [y for _, y in kept])
    a, b = pairs
    differences = [y - x for x, y in zip(a, b, strict=True)]
    comparison = Comparison(
        "same",
        median(a),
        median(b),
        pairs=len(a),
        shift=walsh_shift(differences),
        correlation=correlation(a, b),
    )
    if not any(differences):
        return replace(comparison, kind="identical", text="identical, pair by pair"), None
    if min(a) == max(a) and min(b) == max(b):
        if len(a) == 1:
            text = "not decided: one pair says nothing about chance"
            return replace(comparison, kind="undecided", text=text), None
        return replace(comparison, kind="different", text=_constant(-differences[0])), None
    test = signed_rank(differences)
    return replace(comparison, p=test.p), test


def _compare(a: Sequence[float], b: Sequence[float]) -> tuple[Comparison, Test | None]:
    first, second = median(a), median(b)
    if list(a) == list(b):
        return Comparison("identical", first, second, text="identical"), None
    if min(a) == max(a) and min(b) == max(b):
        if min(len(a), len(b)) == 1:
            text = "not decided: one value says nothing about chance"
            return Comparison("undecided", first, second, text=text), None
        delta = cliffs_delta(a, b)
        equal = delta == 0
        text = "no difference: all values are equal" if equal else _constant(delta)
        kind: Kind = "same" if equal else "different"
        return Comparison(kind, first, second, delta=delta, text=text), None
    test = mann_whitney(a, b)
    comparison = Comparison(
        "same",
        first,
        second,
        p=test.p,
        delta=cliffs_delta(a, b),
        g=hedges_g(a, b),
        welch=welch(a, b),
        dominance=dominance(a, b),
        medians=median_difference(a, b),
    )
    return comparison, test


def _constant(delta: float) -> str:
    larger = "first" if delta > 0 else "second"
    return f"different: neither varies, and the {larger} is larger"


def _judged(comparison: Comparison, test: Test, compared: int) -> Comparison:
    assert comparison.p_holm is not None
    if test.least_p >= LEVEL:
        kind: Kind = "undecided"
        values = (
            f"values ({comparison.first.n} and {comparison.second.n})"
            if isinstance(test, MannWhitney)
            else f"pairs that differ ({test.n})"
        )
        lead = f"not decided: too few {values}, the clearest outcome has p = {test.least_p:.2g}"
        return replace(comparison, kind=kind, text=lead)
    if comparison.p_holm < LEVEL:
        kind, lead = "different", "different"
    elif test.p < LEVEL:
        most = math.ceil(LEVEL / test.least_p) - 1  # that its clearest outcome would decide
        why = "" if compared <= most else f": so few values decide {most} at most, add repetitions"
        kind, lead = (
            "undecided",
            f"not decided: significant alone, not among {compared} comparisons{why}",
        )
    else:
        kind, lead = "same", "no difference found"
    parts = [lead + _numbers(comparison)]
    if kind != "same" and isinstance(test, MannWhitney):
        parts += [_medians(comparison), _dominates(comparison)]
    return replace(comparison, kind=kind, text="; ".join(filter(None, parts)))


def _numbers(comparison: Comparison) -> str:
    assert comparison.p is not None and comparison.p_holm is not None
    holm_ = "" if comparison.p_holm == comparison.p else f", {_p(comparison.p_holm)} after Holm"
    if comparison.delta is None:
        r = comparison.correlation
        size = f"{comparison.pairs} pairs, correlation {'not defined' if r is None else f'{r:.2f}'}"
        return f" (signed-rank p {_equals(comparison.p)}{holm_}; {size})"
    size = f"Cliff's delta {comparison.delta:+.2f}, {magnitude(comparison.delta)}"
    return f" (Mann-Whitney p {_equals(comparison.p)}{holm_}; {size})"


def _p(p: float) -> str:
    return "< 0.0001" if p < 0.0001 else f"{p:.2g}"


def _equals(p: float) -> str:
    return _p(p) if p < 0.0001 else f"= {_p(p)}"


def _medians(comparison: Comparison) -> str:
    """Return whether the medians differ, by the interval of their difference, as text; empty
    without one.
    """
    found = comparison.medians
    if found is None or found.low is None or found.high is None:
        return ""
    if found.low > 0 or found.high < 0:
        return "medians differ: the 95 % interval of their difference excludes 0"
    return "the 95 % interval of the difference of the medians includes 0"


def _dominates(comparison: Comparison) -> str:
    found = comparison.dominance
    if found is None or found.side == "undecided":
        return "stochastic dominance is not decided"
    if found.side == "crossing":
        return "no stochastic dominance: the distributions cross"
    if found.crossing:
        p = found.p_first if found.side == "first" else found.p_second
        return (
            f"consistent with stochastic dominance: the {found.side} is larger, the samples cross"
            f" by {found.crossing:.2f} (p = {_p(p)})"
        )
    return f"stochastic dominance holds: the {found.side} is larger"


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted by Holm's step-down method, in their order.

    With p_(1) <= ... <= p_(m): adjusted p_(i) = max over j <= i of min(1, (m - j + 1) p_(j)).
    Nothing is assumed about how the tests depend on each other.

    Source: Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6, 1979.
    """
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for step, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = largest
    return adjusted
