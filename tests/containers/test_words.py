"""Words of links, hosts and calls in containers, on a kernel that has netem.

A cell of them does what its plan says, though the emulated processor that 22 containers share takes
samples late.
"""

from __future__ import annotations

from pathlib import Path

import docker_machine
import words_elsewhere
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.measurement import load


def test_a_cell_with_words_is_that_of_its_plan(tmp_path: Path) -> None:
    compilation = compilation_of(words_elsewhere.SPEC, engine="docker")
    (cell,) = compilation.cells()
    assert docker_machine.run(compilation, tmp_path) == ""
    _, reasons = validity.judge(load(cell, tmp_path))
    assert [each for each in reasons if "took a sample" not in each] == []
