"""Words of links, hosts and calls in the virtual machine: a cell of all of them is valid."""

from __future__ import annotations

import words_elsewhere

from fairc.runtime import validity
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import Measurement

ENGINE, SPEC = VmEngine, words_elsewhere.SPEC


def test_a_cell_with_words_is_valid(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())
