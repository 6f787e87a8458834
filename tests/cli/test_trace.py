"""`fairc trace`: what the language reads from a recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Fairc = Callable[..., Any]  # conftest.py

LOGGED = "time,rate_mbps,rtt_ms\n11:00:00,4,20\n11:00:01,-,40\n11:00:03,8,30\n"
"""In 5 s: 4 Mbit/s for 3 s where a gap holds, 8 for 2 s; 20 ms for 1 s, 40 for 2 s, 30 for 2 s."""


def test_a_recording_is_shown_as_it_is_read(fairc: Fairc, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOGGED)
    shown = fairc("trace", "log.csv", "missing: hold").require(0)
    for part in (
        "2 `rate_mbps` in mbps, 3 `rtt_ms` in ms",
        "rate: 5 s, 2 steps, then from the start again",
        "mean 5.6 Mbit/s, from 4 Mbit/s to 8 Mbit/s",
    ):
        assert part in shown.out, shown.out
    found = json.loads(fairc("trace", "log.csv", 'column: "rtt_ms"', "--format", "json").out)
    (delay,) = found["followed"]
    assert (delay["what"], delay["unit"], delay["steps"]) == ("delay", "s", 3)
    assert delay["mean"] == pytest.approx((20 + 2 * 40 + 2 * 30) / 5 / 1000)
    assert (delay["p5"], delay["p50"], delay["p95"]) == pytest.approx((0.02, 0.03, 0.04))
    assert sum(delay["course"]) / len(delay["course"]) == pytest.approx(delay["mean"])
    zero = json.loads(fairc("trace", "log.csv", "missing: 0bit/s", "--format", "json").out)
    assert zero["followed"][0]["zero_s"] == 2


def test_a_list_of_times_is_shown_too(fairc: Fairc, tmp_path: Path) -> None:
    (tmp_path / "walk").write_text("".join(f"{ms}\n" for ms in range(1, 1001)))
    shown = fairc("trace", "walk", "every: 500ms")
    assert "Mahimahi's format" in shown.out
    assert "rate: 1 s, 2 steps" in shown.out and "mean 12.1 Mbit/s" in shown.out


def test_what_cannot_be_read_is_said_as_in_an_experiment(fairc: Fairc, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(LOGGED)
    refused = fairc("trace", "log.csv")
    assert refused.status == 2 and "write, for example, `missing: hold`" in refused.err
    assert fairc("trace", "none.csv").status == 2
    assert fairc("trace", "log.csv", "column: ").status == 2
