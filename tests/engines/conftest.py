"""Cells that run once for a whole module: those of its `SPEC`, on its `ENGINE` or the fast one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import kept_cells
import pytest
from specs import compilation_of, only_cell_of

from fairc.compiler import Cell
from fairc.runtime.engines.base import Engine
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


@pytest.fixture(scope="session")
def uml() -> Iterator[Engine]:
    """The fast engine, prepared."""
    made = UmlEngine()
    made.prepare()
    yield made
    made.close()


@pytest.fixture(scope="module")
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """The module's `ENGINE`, or the fast one, prepared."""
    if not hasattr(request.module, "ENGINE"):
        yield request.getfixturevalue("uml")
        return
    made: Engine = request.module.ENGINE()
    made.prepare()
    yield made
    made.close()


@pytest.fixture(scope="module")
def each_measured(
    engine: Engine, cells: tuple[Cell, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Measurement, ...]:
    """All cells of the module's experiment, each run once, measured."""
    return tuple(
        kept_cells.measured(engine, cell, tmp_path_factory.mktemp("cell")) for cell in cells
    )


@pytest.fixture(scope="module")
def runs(
    request: pytest.FixtureRequest, engine: Engine, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[Measurement]]:
    """The cells of the module's experiments, `SPECS`, measured, by the name of each."""
    return {
        name: [
            kept_cells.measured(engine, cell, tmp_path_factory.mktemp(name))
            for cell in compilation_of(text, f"{name}.fexp").cells()
        ]
        for name, text in request.module.SPECS.items()
    }


@pytest.fixture
def hog() -> Iterator[None]:
    """Keep every core busy twice over."""
    busy = [supervisor.start([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    yield
    for process in busy:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def folder(engine: Engine, cell: Cell, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artefacts of the cell, run once."""
    return kept_cells.artefacts(engine, cell, tmp_path_factory.mktemp("cell"))


@pytest.fixture(scope="module")
def measured(cell: Cell, folder: Path) -> Measurement:
    """The cell, measured."""
    return load(cell, folder)
