"""One cell on the fast engine for a whole module: the experiment is the module's `SPEC`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from specs import compilation_of, only_cell_of

from fairc.compiler import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.host import supervisor
from fairc.runtime.measurement import Measurement, load


@pytest.fixture(scope="module")
def cell(request: pytest.FixtureRequest) -> Cell:
    """The only cell of the module's experiment; files that it names lie in the module's
    `FOLDER`.
    """
    name = getattr(request.module, "FOLDER", Path()) / "module.fexp"
    return only_cell_of(request.module.SPEC, str(name))


@pytest.fixture(scope="module")
def cells(request: pytest.FixtureRequest) -> tuple[Cell, ...]:
    """All cells of the module's experiment."""
    return tuple(compilation_of(request.module.SPEC).cells())


@pytest.fixture(scope="module")
def each_measured(
    cells: tuple[Cell, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Measurement, ...]:
    """All cells of the module's experiment, each run once on the fast engine, measured."""
    engine, found = UmlEngine(), []
    engine.prepare()
    for cell in cells:
        result = engine.run(cell, tmp_path_factory.mktemp("cell"))
        assert result.error == ""
        found.append(load(cell, result.artefacts))
    engine.close()
    return tuple(found)


@pytest.fixture
def hog() -> Iterator[None]:
    """Keep every core busy twice over."""
    busy = [supervisor.start([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def folder(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, cell: Cell
) -> Path:
    """The artefacts of the cell, run once on the module's `ENGINE`, or on the fast one."""
    engine = getattr(request.module, "ENGINE", UmlEngine)()
    engine.prepare()
    result = engine.run(cell, tmp_path_factory.mktemp("cell"))
    engine.close()
    assert result.error == ""
    return result.artefacts


@pytest.fixture(scope="module")
def measured(cell: Cell, folder: Path) -> Measurement:
    """The cell, measured."""
    return load(cell, folder)
