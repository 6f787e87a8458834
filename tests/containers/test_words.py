"""Words of links, hosts and calls in containers, on a kernel that has netem: a cell of them is valid."""

from __future__ import annotations

from pathlib import Path

import docker_machine
import words_elsewhere
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.measurement import load


def test_a_cell_with_words_is_valid(tmp_path: Path) -> None:
    compilation = compilation_of(words_elsewhere.SPEC, engine="docker")
    (cell,) = compilation.cells()
    assert docker_machine.run(compilation, tmp_path) == ""
    assert validity.judge(load(cell, tmp_path)) == ("valid", ())
