"""Percentiles of subsets: the exact ranks against every subset there is."""

from __future__ import annotations

from itertools import combinations

import pytest

from fairc.runtime.statistics.estimates import interpolated
from fairc.runtime.statistics.subsets import drawn_ranks, enough


@pytest.mark.parametrize(("n", "k", "q"), [(12, 5, 0.5), (12, 6, 0.1), (13, 4, 0.9), (14, 7, 0.25)])
def test_the_ranks_enclose_the_quantile_of_nearly_all_subsets(n: int, k: int, q: float) -> None:
    low, high = drawn_ranks(n, k, q)
    found = [interpolated(drawn, q) or 0.0 for drawn in combinations(range(1, n + 1), k)]
    within = sum(low <= value <= high for value in found) / len(found)
    assert within >= 0.95
    # No end can move inwards: each side would leave out more than 2.5 % of its order statistic.
    place = (k - 1) * q
    rank = int(place)
    upper = rank + (place > rank)
    below = sum(d[rank] < low + 1 for d in combinations(range(1, n + 1), k)) / len(found)
    above = sum(d[upper] > high - 1 for d in combinations(range(1, n + 1), k)) / len(found)
    assert below > 0.025
    assert above > 0.025


def test_all_of_them_leave_no_spread() -> None:
    assert drawn_ranks(10, 10, 0.5) == (5, 6)
    assert drawn_ranks(11, 11, 0.5) == (6, 6)


def test_enough_is_the_least_size_from_which_on_subsets_agree() -> None:
    values = [v / 100 for v in range(100)]
    needed = enough(values, 0.5, 0.15, 50)
    assert needed is not None
    ordered = sorted(values)
    for k in range(needed, 51):
        low, high = drawn_ranks(100, k, 0.5)
        assert max(0.495 - ordered[low - 1], ordered[high - 1] - 0.495) <= 0.15
    low, high = drawn_ranks(100, needed - 1, 0.5)
    assert max(0.495 - ordered[low - 1], ordered[high - 1] - 0.495) > 0.15
    assert enough(values, 0.5, 0.01, 50) is None
