"""Trends: verdicts from values, and how often they are wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from representatives import few

from fairc.compiler.plan import ClaimUnit, Contrast, Statistic
from fairc.runtime.claims.trends import OF_TRENDS, UNVARIED, TrendTest, of_trend
from fairc.runtime.statistics.repeated import FIXED, Repeated

RNG = np.random.default_rng(9)
LEVEL = 0.99


def along(terms: tuple[Statistic, ...], low: float | None, high: float | None) -> ClaimUnit:
    expression = Contrast("trend", terms, (1.0,) * len(terms)).expression
    return ClaimUnit(expression=expression, low=low, high=high)


def trend(
    values: Any, *, rises: bool = True, common: bool = True, level: float = LEVEL
) -> TrendTest:
    """Return the trend of values; rows are repetitions."""
    low, high = (0.0, None) if rises else (None, 0.0)
    columns = np.array(values, float).T
    terms = tuple(
        Statistic(statistic="median", metric="goodput", flow="a", cells=(str(i),))
        for i in range(len(columns))
    )
    unit = along(terms, low, high)
    by_repetition = [dict(enumerate(column.tolist(), 1)) for column in columns]
    return of_trend(unit, by_repetition, level, common=common, repeated=FIXED)


def noise(n: int, means: list[float], spread: float = 0.1) -> Any:
    return np.array(means) + spread * RNG.standard_normal((n, len(means)))


@pytest.mark.parametrize("common", [True, False])
def test_what_rises_rises(common: bool) -> None:
    found = trend(noise(10, [1, 2, 3, 4]), common=common)
    assert (found.verdict, found.estimate.value) == ("holds", 1.0)
    assert found.p is not None and found.p < 1e-4
    assert found.method == ("page" if common else "jonckheere-terpstra")
    down = trend(noise(10, [1, 2, 3, 4]), rises=False, common=common)
    assert down.verdict == "fails"


def test_what_falls_falls() -> None:
    found = trend(noise(10, [4, 3, 2, 1]), rises=False)
    assert (found.verdict, found.estimate.value) == ("holds", -1.0)


@pytest.mark.parametrize("common", [True, False])
def test_a_plateau_does_not_contradict(common: bool) -> None:
    assert trend(noise(12, [1, 2, 3, 3, 3]), common=common).verdict == "holds"


def test_one_step_that_falls_contradicts_and_is_named() -> None:
    found = trend(1e6 * noise(12, [1, 2, 3, 4, 3.5]))
    assert found.verdict == "fails" and found.p is not None and found.p < 1e-6
    assert found.remark.startswith("from 3 to 4 it changes by \N{MINUS SIGN}0.")
    assert found.remark.endswith("Mbit/s")


def test_no_trend_is_undecided() -> None:
    found = trend(noise(12, [1, 1, 1]))
    assert found.verdict == "undecided" and "not below" in found.estimate.reason


def test_few_repetitions_leave_it_open_because_no_step_could_contradict() -> None:
    found = trend(noise(5, [1, 2, 3, 4]))
    assert found.p is not None and found.p < 1e-6
    assert found.verdict == "undecided" and "a step has no interval" in found.estimate.reason


def test_repetitions_that_do_not_vary_decide_nothing() -> None:
    found = trend([[1, 2, 3]] * 12)
    assert (found.verdict, found.estimate.reason, found.p) == ("undecided", UNVARIED, None)


def test_a_step_that_is_always_the_same_may_be_flat_but_not_fall() -> None:
    varied = noise(12, [1, 2])
    flat = np.column_stack([varied, varied[:, 1]])
    assert trend(flat).verdict == "holds"
    falls = np.column_stack([varied[:, 0], varied[:, 1], varied[:, 1] - 0.25])
    assert trend(falls).verdict == "undecided"


def test_a_range_of_repetitions_decides_nothing() -> None:
    columns = noise(12, [1, 2]).T
    terms = tuple(
        Statistic(statistic="median", metric="goodput", flow="a", cells=(str(i),)) for i in (0, 1)
    )
    unit = along(terms, 0.0, None)
    values = [dict(enumerate(column.tolist())) for column in columns]
    found = of_trend(unit, values, LEVEL, common=True, repeated=Repeated(8, 30))
    assert (found.verdict, found.estimate.reason) == ("undecided", OF_TRENDS)


@pytest.mark.parametrize("common", few([True, False], True))
def test_how_often_it_is_decided_where_the_name_changes_nothing(common: bool) -> None:
    """A test and three steps, each at 1 - 0.05 / 4: wrong in at most 5 % of the runs."""
    level = 1 - 0.05 / 4
    found = [trend(noise(10, [1, 1, 1, 1]), common=common, level=level) for _ in range(400)]
    wrong = sum(f.verdict != "undecided" for f in found)
    assert wrong <= 33  # 20 are expected at most, and 13 are three deviations
