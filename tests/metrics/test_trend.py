"""Tests of a trend, against published tables, SciPy, and every permutation."""

from __future__ import annotations

from itertools import combinations_with_replacement, permutations
from math import factorial

import numpy as np
import pytest
from representatives import few
from scipy.stats import page_trend_test, rankdata

from fairc.runtime.statistics.trend import jonckheere_terpstra, page

RNG = np.random.default_rng(1963)


@pytest.mark.parametrize(
    ("k", "n", "level", "critical"),
    [
        (3, 2, 0.05, 28),
        (3, 3, 0.05, 41),
        (3, 3, 0.01, 42),
        (3, 4, 0.05, 54),
        (3, 4, 0.01, 55),
        (3, 4, 0.001, 56),
        (4, 2, 0.05, 58),
        (4, 2, 0.01, 60),
        (4, 3, 0.05, 84),
        (5, 2, 0.05, 103),
        (5, 2, 0.01, 106),
        (5, 2, 0.001, 109),
    ],
)
def test_critical_values_of_page_1963(k: int, n: int, level: float, critical: int) -> None:
    """L is significant from the value in Page's table 2 on, and not below it."""

    def blocks_of(total: int) -> list[list[float]]:
        one = list(permutations(range(1, k + 1)))
        sums = {sum((i + 1) * r for i, r in enumerate(p)): [float(r) for r in p] for p in one}
        chosen = combinations_with_replacement(sums, n)
        return [sums[one] for one in next(found for found in chosen if sum(found) == total)]

    assert page(blocks_of(critical)).p <= level < page(blocks_of(critical - 1)).p


@pytest.mark.parametrize(("k", "n"), [(3, 5), (4, 8), (6, 4), (7, 3)])
def test_page_is_what_scipy_computes(k: int, n: int) -> None:
    blocks = RNG.random((n, k)) + 0.1 * np.arange(k)
    assert page(blocks.tolist()).p == pytest.approx(page_trend_test(blocks, method="exact").pvalue)


def test_many_levels_take_the_normal_approximation() -> None:
    blocks = RNG.random((12, 12)) + 0.02 * np.arange(12)
    found = page(blocks.tolist())
    assert not found.exact
    # SciPy does not correct for continuity.
    assert found.p == pytest.approx(page_trend_test(blocks, method="asymptotic").pvalue, rel=0.02)


@pytest.mark.parametrize("sizes", [(2, 2, 2), (1, 3, 2), (4, 3)])
def test_jonckheere_terpstra_is_the_share_of_all_permutations(sizes: tuple[int, ...]) -> None:
    values = RNG.permutation(sum(sizes)).astype(float) + np.repeat(range(len(sizes)), sizes)
    ends = np.cumsum(sizes)[:-1]

    def j_of(every: tuple[float, ...]) -> int:
        parts = np.split(np.array(every), ends)
        pairs = [(a, b) for i, a in enumerate(parts) for b in parts[i + 1 :]]
        return sum(int((b[None, :] > a[:, None]).sum()) for a, b in pairs)

    ranks = tuple(float(r) for r in np.argsort(np.argsort(values, kind="stable")))
    found = j_of(ranks)
    hits = sum(j_of(order) >= found for order in permutations(ranks))
    test = jonckheere_terpstra([part.tolist() for part in np.split(np.array(ranks), ends)])
    assert test.exact and test.p == pytest.approx(hits / factorial(sum(sizes)))


def test_large_samples_take_the_normal_approximation() -> None:
    small = [(RNG.random(14) + 0.15 * i).tolist() for i in range(4)]
    exact = jonckheere_terpstra(small)
    assert exact.exact
    more = jonckheere_terpstra([*small, (RNG.random(8) + 0.6).tolist()])
    assert not more.exact and 0 < more.p < exact.p


def test_ties_of_page_are_the_share_of_all_orders() -> None:
    blocks = [[1.0, 1.0, 3.0, 2.0], [5.0, 6.0, 6.0, 6.0]]
    found = page(blocks)

    def doubled(block: tuple[float, ...]) -> int:
        return int(2 * sum(i * r for i, r in enumerate(rankdata(block), 1)))

    sums = [[doubled(order) for order in permutations(block)] for block in blocks]
    least = sum(doubled(tuple(block)) for block in blocks)
    hits = sum(a + b >= least for a in sums[0] for b in sums[1])
    assert found.p == pytest.approx(hits / factorial(4) ** 2)
    assert page([[1.0, 1.0, 1.0]] * 4).p == pytest.approx(1)
    assert page([[1.0, 1.0, 1.0]] * 4).tau == 0
    assert page([[1.0] * 12] * 4).p == pytest.approx(1)


def test_ties_of_independent_samples_count_against_the_trend() -> None:
    assert jonckheere_terpstra([[1.0, 1.0], [1.0, 1.0]]).p == pytest.approx(1)
    tied, broken = jonckheere_terpstra([[1.0, 2.0], [2.0, 3.0]]), [[1.0, 2.1], [2.0, 3.0]]
    assert tied.p == jonckheere_terpstra(broken).p


def test_what_had_not_ended_is_the_largest() -> None:
    endless = [[1.0, 2.0, float("inf")]] * 3
    assert page(endless).p == page([[1.0, 2.0, 3.0]] * 3).p


@pytest.mark.parametrize("values", few([1_000_000, 3], 3), ids=["continuous", "many ties"])
def test_the_level_where_the_name_changes_nothing(values: int) -> None:
    """Of 2000 trials 100 are expected to be below 5 %, and 130 are three deviations more."""
    trials = RNG.integers(values, size=(2000, 8, 4)).astype(float)
    of_page = sum(page(trial.tolist()).p < 0.05 for trial in trials)
    of_jt = sum(jonckheere_terpstra(trial.T.tolist()).p < 0.05 for trial in trials)
    assert max(of_page, of_jt) < 130
    if values > 3:
        assert min(of_page, of_jt) > 60  # and no needlessly strict one
