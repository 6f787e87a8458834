"""Whether samples agree: the interval of a shift against its test and a published example,
verdicts.
"""

from __future__ import annotations

import numpy as np
import pytest

from fairc.runtime.statistics import agreement as module
from fairc.runtime.statistics.agreement import agreement, shift
from fairc.runtime.statistics.two_samples import mann_whitney

# Hollander and Wolfe, Nonparametric Statistical Methods, 1973, table 4.1: permeability of
# membranes.
TERM = (0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46)
EARLY = (1.15, 0.88, 0.90, 0.74, 1.21)


def test_a_published_example() -> None:
    """R's wilcox.test(TERM, EARLY, conf.int = TRUE) gives 0.305 and -0.15 to 0.76."""
    found = shift(EARLY, TERM)
    assert (found.value, found.low, found.high) == pytest.approx((0.305, -0.15, 0.76))
    back = shift(TERM, EARLY)
    assert (back.value, back.low, back.high) == pytest.approx((-0.305, -0.76, 0.15))


@pytest.mark.parametrize(("n", "m"), [(4, 4), (6, 6), (5, 9), (12, 12), (30, 30)])
def test_the_interval_holds_what_the_test_does_not_reject(n: int, m: int) -> None:
    random = np.random.default_rng(n * 100 + m)
    a, b = random.normal(0, 1, n).tolist(), random.normal(0.5, 1, m)
    found = shift(a, b.tolist())
    assert found.low is not None and found.high is not None
    for theta in (found.low - 1e-6, found.high + 1e-6):
        assert mann_whitney((b - theta).tolist(), a).p < 0.05
    for theta in (found.low + 1e-6, found.high - 1e-6):
        assert mann_whitney((b - theta).tolist(), a).p >= 0.05


def test_many_values_by_the_normal_approximation(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = module._rank(30, 30, 0.025)
    monkeypatch.setattr(module, "EXACT_VALUES", 0)
    assert abs(module._rank(30, 30, 0.025) - exact) <= 1
    assert module._rank(3, 3, 0.025) <= 0


def test_the_interval_covers_the_shift_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    hits = 0
    for _ in range(1000):
        found = shift(random.exponential(1, 8).tolist(), (random.exponential(1, 8) + 0.3).tolist())
        assert found.low is not None and found.high is not None
        hits += found.low <= 0.3 <= found.high
    assert 940 <= hits <= 985  # at least 95 %; 3 standard deviations of luck


@pytest.mark.parametrize(
    ("first", "second", "margin", "verdict"),
    [
        ((10.0, 10.1, 10.2, 9.9, 9.8), (10.1, 10.0, 10.2, 9.8, 9.95), 0.5, "agree"),
        ((10.0, 10.1, 10.2, 9.9, 9.8), (10.1, 10.0, 10.2, 9.8, 9.95), 0.1, "cannot tell"),
        ((10.0, 10.1, 10.2, 9.9, 9.8), (12.0, 12.1, 12.2, 11.9, 11.8), 0.5, "differ"),
        # a difference that any test finds, and that is smaller than what matters
        ((10.0, 10.1, 10.2, 9.9, 9.8), (10.9, 11.0, 11.1, 10.8, 10.7), 2.0, "agree"),
        ((1.0, 2.0, 3.0), (1.0, 2.0, 3.1), 9.0, "cannot tell"),  # 3 and 3 give no interval
        ((1.0, 2.0, 3.0), (1.0, 2.0, 3.0), 0.0, "agree"),  # identical
        ((1.0,), (1.1,), 9.0, "cannot tell"),
        ((1.0, 1.0), (1.1, 1.1), 0.2, "agree"),  # neither varies
        ((1.0, 1.0), (1.1, 1.1), 0.05, "differ"),
    ],
)
def test_verdicts(
    first: tuple[float, ...], second: tuple[float, ...], margin: float, verdict: str
) -> None:
    assert agreement(first, second, margin).verdict == verdict
    assert agreement(second, first, margin).verdict == verdict
