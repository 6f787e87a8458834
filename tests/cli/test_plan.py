"""`fairc plan`: what is counted, and estimates from some of many configurations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fairc.cli.plan import LOOKED_AT

from .conftest import Fairc

GRID = """fexp 1

experiment grid {
  sweep { size = (1..40) * 100kB  cca = [cubic, bbr, reno]  n = 1..10 }
  topology = bottleneck(rate: 10Mbit/s, rtt: 50ms)
  flow a { cca = cca  count = n  workload = file(size) }
  SAMPLE
  repeat  = 5
  measure = [goodput]
}
"""


def planned(fairc: Fairc, tmp_path: Path, sample: str) -> dict[str, float]:
    (tmp_path / "grid.fexp").write_text(GRID.replace("SAMPLE", sample))
    called = fairc("plan", "grid.fexp", "--format", "json", "--jobs", "1")
    assert called.status == 0
    found: dict[str, float] = json.loads(called.out)
    return found


def test_an_estimate_of_many_configurations(fairc: Fairc, tmp_path: Path) -> None:
    whole = planned(fairc, tmp_path, "# all")
    assert whole["configurations"] == 1200 > LOOKED_AT
    assert whole["cells"] == 6000
    # Files of 2.05 MB on average, 5.5 connections: 9.4 s with their headers at 10 Mbit/s.
    assert whole["virtual_s"] == pytest.approx(
        6000 * 2.05e6 * 5.5 * 8 / 1e7 * 1514 / 1448, rel=0.05
    )
    assert "evenly spread" in fairc("plan", "grid.fexp").out


def test_a_sample_is_counted(fairc: Fairc, tmp_path: Path) -> None:
    part = planned(fairc, tmp_path, "sample = 10 per cca  exclude n > 5")
    assert (part["configurations"], part["cells"]) == (30, 150)
    assert (part["excluded"], part["unsampled"]) == (3000, 2850)
    out = fairc("plan", "grid.fexp").out
    assert "cells not drawn   2850" in out and "repetitions       5" in out
