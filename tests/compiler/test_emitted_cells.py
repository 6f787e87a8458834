"""A cell that is written as source is the cell of the plan: containers set up all that it says."""

from __future__ import annotations

from typing import Any

import plan_corpus
import pytest

from fairc.cell.expansion import expand
from fairc.compiler import Cell
from fairc.compiler.targets import code


def made(source: code.Code) -> Cell:
    """The value of an expression, with the classes that it names."""
    names: dict[str, Any] = {kind.__name__: kind for kind in source.classes}
    value = eval(source.text(), names)
    assert isinstance(value, Cell)
    return value


@pytest.mark.parametrize("name", plan_corpus.corpus())
def test_what_is_written_runs_as_the_plan_does(name: str) -> None:
    _, cell = plan_corpus.corpus()[name]
    assert expand(made(code.code(cell))) == expand(cell)
