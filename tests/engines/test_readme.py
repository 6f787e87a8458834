"""Who runs the README's file gets the README's numbers."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.full
def test_the_numbers_of_the_readme_are_those_of_its_file(tmp_path: Path) -> None:
    """After a change of the kernel, of `cell/` or of an image they may differ: write them anew,
    here, in docs/learn/examples/quickstart.md and in the pictures (tests/report/screenshot.py).
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    tables = re.findall(r"^    (?:flow   )?median .*\n(?:    .*\n)+", readme, re.MULTILINE)
    assert len(tables) == 2
    spec = ROOT / "examples" / "quickstart.fexp"
    command = [sys.executable, "-m", "fairc", "run", str(spec), "-o", str(tmp_path / "run")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    for table in tables:
        assert re.sub(r"^    ", "", table, flags=re.MULTILINE) in done.stdout
