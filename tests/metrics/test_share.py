"""Shares of flows, by hand and of what is known of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from computed import results, values
from madeartefacts import RATE_BPS, hand_made
from madecell import FULL

from fairc.compiler.plan import Cell, MetricRequest
from fairc.runtime.measurement import load
from fairc.runtime.measurement.record import Window
from fairc.runtime.metrics import METRICS

MS = 10**6


def test_shares_by_hand_add_up(tmp_path: Path) -> None:
    """Of ten frames, nine are those of a."""
    made = hand_made("aaaaaaaaab" * 40)
    for number, names in enumerate([(), ("a", "b")]):
        found = values(made, tmp_path / str(number), "share", *names)
        assert found["share", "a"] == pytest.approx(0.9, abs=0.003)
        assert sum(found["share", name] or 0 for name in "ab") == pytest.approx(1)
    # One name: of what all got.
    assert values(made, tmp_path / "one", "share", "b")["share", "b"] == pytest.approx(
        0.1, abs=3e-3
    )


def test_a_window_has_shares_of_its_own(tmp_path: Path) -> None:
    """Frames take 10 ms: first a alone, then both in turn, then nobody."""
    made = hand_made("a" * 20 + "ab" * 20)
    measured = load(made.cell, made.write(tmp_path))
    request = MetricRequest(name="share", sessions=())

    def share(begin_s: float, end_s: float) -> list[float | None]:
        found = METRICS["share"].compute(measured.within(Window(begin_s, end_s)), request)
        return [value.value for value in found if value.metric == "share"]

    assert share(0.0, 0.15) == [1.0, 0.0]
    assert share(0.3, 0.5) == pytest.approx([0.5, 0.5], abs=0.03)
    assert share(100.0, 101.0) == [None, None]


def test_the_fair_share_of_greedy_flows_is_an_equal_one(tmp_path: Path) -> None:
    found = values(hand_made("aaaaaaaaab" * 40), tmp_path, "share")
    assert found["share.fair", "a"] == pytest.approx(1.8, rel=0.02)
    assert found["share.fair", "b"] == pytest.approx(0.2, rel=0.05)


def test_a_flow_that_wants_little_has_its_fair_share(tmp_path: Path) -> None:
    made = hand_made("aaaaaaaaab" * 40)
    a, b = made.cell.flows
    limited = replace(b, rate_bps=round(0.1 * RATE_BPS * (FULL - 14) / FULL))
    made.cell = replace(made.cell, flows=(a, limited))
    found = values(made, tmp_path, "share")
    assert found["share.fair", "a"] == pytest.approx(1, rel=0.03)
    assert found["share.fair", "b"] == pytest.approx(1, rel=0.03)
    assert found["share", "b"] == pytest.approx(0.1, abs=0.003)


def test_a_starved_flow_has_zero_and_nobody_has_a_share_of_nothing(tmp_path: Path) -> None:
    found = values(hand_made("a" * 40), tmp_path, "share")
    assert (found["share", "a"], found["share", "b"]) == (1.0, 0.0)
    late = results(load(*_late(tmp_path)), "share")
    assert {v.value for v in late} == {None}


def _late(folder: Path) -> tuple[Cell, Path]:
    """A cell whose warm-up lasts until its flows have ended."""
    made = hand_made("ab" * 10, warmup_ns=10_000 * MS)
    return made.cell, made.write(folder / "late")
