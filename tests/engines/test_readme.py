"""Who runs the README's file gets the README's numbers."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from waiting import completed

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^ *(cubic|bbr|) +[0-9.]+ +([0-9.]+) \.\. ([0-9.]+) +6$", re.MULTILINE)


def intervals(text: str) -> list[tuple[str, float, float]]:
    """Return the flow and the interval of each row of the tables."""
    return [(flow, float(low), float(high)) for flow, low, high in ROW.findall(text)]


@pytest.mark.full
def test_the_numbers_of_the_readme_are_those_of_its_file(tmp_path: Path) -> None:
    """Equal digits need the same kernel and the same packages in its image, which Debian updates;
    with others the intervals overlap. If not: write the numbers anew, here, in
    docs/learn/examples/quickstart.md and in the pictures (tests/support/screenshot.py).
    """
    shown = intervals((ROOT / "README.md").read_text(encoding="utf-8"))
    spec = ROOT / "examples" / "quickstart.fexp"
    command = [sys.executable, "-m", "fairc", "run", str(spec), "-o", str(tmp_path / "run")]
    done = completed(command, check=True)
    found = intervals(done.stdout)
    assert [flow for flow, *_ in shown] == [flow for flow, *_ in found] == ["cubic", "bbr", ""]
    for (_, low, high), (_, least, most) in zip(shown, found, strict=True):
        assert low <= most and least <= high
