"""Where an interval lies decides, and nothing else."""

from __future__ import annotations

import pytest

from fairc.runtime.claims.deciding import _all, _verdict
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
    assert _all(["holds", "undecided", "fails"]) == "fails"
    assert _all(["holds", "undecided"]) == "undecided"
    assert _all(["holds", "holds"]) == "holds"
