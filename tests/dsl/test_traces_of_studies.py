"""The synthetic recordings of the studies are what their program makes, and follow its model."""

from __future__ import annotations

import runpy
import statistics
from pathlib import Path
from typing import Any

import pytest

TRACES = Path(__file__).parent.parent.parent / "examples/studies/traces"


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    return runpy.run_path(str(TRACES / "make.py"))


def test_the_files_are_those_of_the_program(program: dict[str, Any]) -> None:
    made = dict(program["recordings"]())
    kept = {file.name for file in TRACES.iterdir() if file.suffix in {".up", ".down", ".csv"}}
    assert kept == set(made)
    for name, text in made.items():
        assert (TRACES / name).read_text(encoding="ascii") == text, name


def test_cellular_links_have_their_means_and_vary(program: dict[str, Any]) -> None:
    for name, (mean_bps, variation, _) in program["CELLULAR"].items():
        times = [int(line) for line in (TRACES / name).read_text().split()]
        seconds = [0] * 120
        for time in times:
            seconds[min((time - 1) // 1000, 119)] += 1
        # The chances are a Poisson process: their number is within 4 standard deviations.
        expected = mean_bps * 120 / (1500 * 8)
        assert abs(len(times) - expected) < 4 * expected**0.5, name
        # A course of 15 correlation times tells the deviation roughly.
        found = statistics.pstdev(seconds) / statistics.mean(seconds)
        assert 0.6 * variation < found < 1.6 * variation, name


def test_the_dish_changes_every_15_seconds() -> None:
    lines = (TRACES / "starlink.csv").read_text().splitlines()
    assert "synthetic" in lines[0]
    rows = [line.split(",") for line in lines[2:]]
    assert [float(row[0]) for row in rows if row[3] == "20"] == [12 + 15 * n for n in range(20)]
