"""Middleboxes, classes and a tunnel of an emitted Mininet program, inside the guest of `vm`."""

from __future__ import annotations

from pathlib import Path

import middleboxes
import pytest
from emitted_programs import RUN
from kept_cells import run_alone
from specs import only_cell_of

from fairc.compiler.targets import mininet
from fairc.runtime.engines import guest_job
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import load


def test_each_of_them_works_under_mininet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = only_cell_of(middleboxes.SPEC)
    monkeypatch.setattr(guest_job, "PROGRAM", RUN.format(text=mininet.render(cell)))
    middleboxes.check(load(cell, run_alone(VmEngine(), cell, tmp_path).artefacts))
