"""Where an interval lies decides, and nothing else."""

from __future__ import annotations

import pytest

from fairc.runtime.claims.deciding import Verdict, _enough, _verdict
from fairc.runtime.statistics.estimates import Estimate


@pytest.mark.parametrize(
    ("relation", "low", "high", "interval", "verdict"),
    [
        (">", 1.0, None, (1.1, 2.0), "holds"),
        (">", 1.0, None, (1.0, 2.0), "undecided"),
        (">=", 1.0, None, (1.0, 2.0), "holds"),
        (">", 1.0, None, (0.5, 1.0), "fails"),
        (">=", 1.0, None, (0.5, 1.0), "undecided"),
        (">=", 1.0, None, (0.5, 0.9), "fails"),
        ("<", None, 1.0, (0.5, 0.9), "holds"),
        ("<", None, 1.0, (0.5, 1.0), "undecided"),
        ("<=", None, 1.0, (0.5, 1.0), "holds"),
        ("<", None, 1.0, (1.0, 2.0), "fails"),
        ("<=", None, 1.0, (1.0, 2.0), "undecided"),
        ("in", 1.0, 2.0, (1.0, 2.0), "holds"),
        ("in", 1.0, 2.0, (0.9, 1.5), "undecided"),
        ("in", 1.0, 2.0, (0.5, 3.0), "undecided"),
        ("in", 1.0, 2.0, (0.5, 0.9), "fails"),
        ("in", 1.0, 2.0, (2.1, 2.2), "fails"),
    ],
)
def test_an_interval_against_bounds(
    relation: str,
    low: float | None,
    high: float | None,
    interval: tuple[float, float],
    verdict: str,
) -> None:
    estimate = Estimate(10, sum(interval) / 2, *interval)
    assert _verdict(relation, estimate, low, high) == verdict


def test_without_an_interval_nothing_is_decided() -> None:
    assert _verdict(">", Estimate(3, 100.0, reason="few"), 1.0, None) == "undecided"


def test_one_configuration_that_fails_is_enough() -> None:
    assert _enough(["holds", "undecided", "fails"], 3) == "fails"
    assert _enough(["holds", "undecided"], 2) == "undecided"
    assert _enough(["holds", "holds"], 2) == "holds"


@pytest.mark.parametrize(
    ("holds", "undecided", "fails", "verdict"),
    [
        (9, 0, 1, "holds"),
        (9, 1, 0, "holds"),
        (8, 1, 1, "undecided"),
        (8, 0, 2, "fails"),
        (0, 8, 2, "fails"),
    ],
)
def test_of_a_share_undecided_configurations_count_while_they_can_turn_it(
    holds: int, undecided: int, fails: int, verdict: str
) -> None:
    words: tuple[tuple[Verdict, int], ...]
    words = (("holds", holds), ("undecided", undecided), ("fails", fails))
    assert _enough([word for word, number in words for _ in range(number)], 9) == verdict
