"""How many repetitions would decide: the numbers against simulation."""

from __future__ import annotations

import random

import pytest

from fairc.runtime.claims import power
from fairc.runtime.claims.intervals import CONSTANT, Quantity
from fairc.runtime.statistics.estimates import Estimate, median


def of(values: list[float], level: float = 0.95) -> Quantity:
    return Quantity(median(values, level), tuple(values), 0.5, "order statistics")


@pytest.mark.parametrize("share", [0.7, 0.8, 0.95])
def test_so_many_repetitions_do_decide_with_the_power_that_is_said(share: float) -> None:
    n = power._order_statistics(share, 0.5, 0.95)
    assert n is not None
    draw = random.Random(1)

    def decided(size: int) -> float:
        tries = 4000
        hits = 0
        for _ in range(tries):
            found = median([draw.random() - (1 - share) for _ in range(size)])
            hits += found.low is not None and found.low > 0
        return hits / tries

    assert decided(n) > power.POWER - 0.02
    assert decided(n - 1) < power.POWER + 0.02


def test_a_share_of_a_half_is_never_decided() -> None:
    assert power._order_statistics(0.5, 0.5, 0.95) is None


def test_the_width_of_a_difference_of_independent_medians_says_how_many() -> None:
    """0.5 [-0.1, 1.1] of 20: the lower end passes 0 at about (0.6 / 0.5 (1 + 0.84 / 1.96))^2 n, and
    sooner if the difference is as large as it may be.
    """
    found = Quantity(Estimate(20, 0.5, -0.1, 1.1), (0.0,) * 20, 0.5, "sign tests")
    start, end = power.needed(found, 0.0, None, 0.95) or (0, 0)
    assert end is None and start == 21
    near = Quantity(Estimate(20, 0.1, -0.5, 0.7), (0.0,) * 20, 0.5, "sign tests")
    assert power.needed(near, 0.0, None, 0.95) == (31, None)


def test_the_range_has_an_end_only_where_the_share_is_known_well_enough() -> None:
    few = [1.0, 2.0, 3.0, -1.0, 4.0, 5.0, -2.0, 6.0]
    assert power.needed(of(few), 0.0, None, 0.95) == (9, None)
    many = [*few] * 12
    start, end = power.needed(
        of([*many, *[x + 0.001 for x in many]], 1 - 1e-12), 0.0, None, 1 - 1e-12
    )  # type: ignore[misc]
    assert end is not None and start < end


def test_more_claims_need_more_repetitions() -> None:
    alone = power._order_statistics(0.8, 0.5, 0.95)
    together = power._order_statistics(0.8, 0.5, 1 - 0.05 / 20)
    assert alone is not None and together is not None and together > alone


def test_outside_a_range_the_nearer_bound_matters() -> None:
    values = [3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 1.5, 3.6]
    assert power._open(of(values), 1.0, 2.0) == [2.0]


def test_nobody_knows_what_one_repetition_needs() -> None:
    assert power.needed(of([1.0]), 0.0, None, 0.95) is None


def test_all_open_units_decide_together() -> None:
    assert power.together([(10, 20), (15, None)]) == (15, None)
    assert power.together([(10, 20), (15, 18)]) == (15, 20)
    assert power.together([(10, 20), None]) is None


def test_no_number_decides_where_all_values_are_equal() -> None:
    """More values like them have no interval either, so a number would mislead."""
    equal = Quantity(Estimate(10, 0.0, reason=CONSTANT), (0.0,) * 10, 0.5, "order statistics")
    assert power.needed(equal, None, 0.01, 0.95) is None
