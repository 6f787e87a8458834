"""Intervals that are looked at again and again: how often they miss, counted exactly and
simulated.
"""

from __future__ import annotations

import random
from collections import defaultdict
from fractions import Fraction

import pytest

from fairc.runtime.statistics.estimates import median
from fairc.runtime.statistics.sequential import (
    at_any_time,
    at_interim,
    imprecision,
    kept_counts,
    values_needed,
)
from fairc.words.repetitions import INTERIM_RANKS


def missed_at_interim(looks: dict[int, tuple[int, int]]) -> Fraction:
    """Return the exact probability that any look misses the median of a continuous distribution.

    Each value is below the median with probability 1/2: a walk over the number of those below.
    """
    states: dict[int, Fraction] = {0: Fraction(1)}
    missed = Fraction(0)
    for n in range(1, max(looks) + 1):
        following: dict[int, Fraction] = defaultdict(Fraction)
        for below, chance in states.items():
            following[below] += chance / 2
            following[below + 1] += chance / 2
        if n in looks:
            low, high = looks[n]
            # x_(low) <= median <= x_(high): at least `low` values below it, and fewer than `high`.
            for below in [b for b in following if not low <= b < high]:
                missed += following.pop(below)
        states = following
    return missed


def test_the_four_looks_together_miss_in_about_three_percent() -> None:
    assert float(missed_at_interim(dict(INTERIM_RANKS))) == pytest.approx(0.031, abs=5e-4)


def test_ordinary_intervals_at_every_repetition_miss_far_more_often() -> None:
    from fairc.runtime.statistics.estimates import quantile_ranks

    every = {n: ranks for n in range(6, 31) if (ranks := quantile_ranks(n, 0.5)) is not None}
    assert missed_at_interim(every) > Fraction(10, 100)


@pytest.mark.parametrize("q", [0.5, 0.9])
def test_the_confidence_sequence_misses_at_any_time_in_fewer_than_five_percent(q: float) -> None:
    """Exactly, over 200 repetitions: the walk of the number of values up to the quantile."""
    states = {0: 1.0}
    missed = 0.0
    for n in range(1, 201):
        following: dict[int, float] = defaultdict(float)
        for below, chance in states.items():
            following[below] += chance * (1 - q)
            following[below + 1] += chance * q
        low, high = kept_counts(n, q)
        for below in [b for b in following if not low <= b <= high]:
            missed += following.pop(below)
        states = following
    assert 0.005 < missed < 0.05


def test_it_holds_for_draws_of_a_skewed_distribution_that_stops_when_narrow() -> None:
    """Simulated with a stopping rule: until the interval is narrow."""
    rng, runs, missed = random.Random(1), 400, 0
    for _ in range(runs):
        values: list[float] = []
        while len(values) < 60:
            values.append(rng.expovariate(1.0))
            found = at_any_time(values)
            wide = imprecision(found)
            if wide is not None and wide < 0.5:
                break
        found = at_any_time(values)
        if found.low is not None and found.high is not None:
            missed += not found.low <= 0.6931 <= found.high
    assert missed <= 0.05 * runs


def test_a_look_takes_the_ranks_of_its_number_of_values() -> None:
    values = [float(v) for v in (3, 1, 2, 8, 7, 6, 5, 4, 12, 11, 10, 9)]
    found = at_interim(values)
    assert (found.value, found.low, found.high) == (6.5, 2.0, 11.0)
    with pytest.raises(KeyError):
        at_interim(values[:9])


def test_the_sequence_is_open_until_there_are_enough_values() -> None:
    assert values_needed() == 8
    assert at_any_time([float(v) for v in range(7)]).low is None
    closed = at_any_time([float(v) for v in range(8)])
    assert (closed.low, closed.high) == (0.0, 7.0)


def test_imprecision_is_the_larger_half_and_zero_for_equal_values() -> None:
    assert imprecision(median([1.0, 2.0, 3.0, 4.0, 5.0, 10.0])) == 6.5
    assert imprecision(median([2.0] * 6)) == 0.0
    assert imprecision(median([2.0])) is None
    assert imprecision(median([1.0, 2.0])) is None
