"""A cell of a golden plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairc.compiler import Cell
from fairc.compiler.plan import parse_cell

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.fixture(scope="session")
def golden_cell() -> Cell:
    """The first cell of the quickstart."""
    return parse_cell((GOLDEN / "quickstart.cell.json").read_text())
