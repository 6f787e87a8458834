"""One cell on the fast engine for a whole module: the experiment is the module's `SPEC`."""

from __future__ import annotations

from pathlib import Path

import pytest
from specs import only_cell_of

from fairc.compiler import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import Measurement, load


@pytest.fixture(scope="module")
def cell(request: pytest.FixtureRequest) -> Cell:
    """The only cell of the module's experiment; files that it names lie in the module's `FOLDER`."""
    name = getattr(request.module, "FOLDER", Path()) / "module.fexp"
    return only_cell_of(request.module.SPEC, str(name))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, cell: Cell) -> Path:
    """The artefacts of the cell, run once."""
    engine = UmlEngine()
    engine.prepare()
    result = engine.run(cell, tmp_path_factory.mktemp("cell"))
    engine.close()
    assert result.error == ""
    return result.artefacts


@pytest.fixture(scope="module")
def measured(cell: Cell, folder: Path) -> Measurement:
    """The cell, measured."""
    return load(cell, folder)
