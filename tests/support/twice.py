"""A cell with programs of its own, run twice."""

from __future__ import annotations

from pathlib import Path

from specs import compile_spec

from fairc.compiler import Cell
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge


def cells_of(spec: Path) -> tuple[Cell, ...]:
    """Return the cells of a file."""
    return tuple(compile_spec(spec).cells())


def equal_artefacts(cell: Cell, programs: Path, place: Path) -> dict[str, bytes]:
    """Run a cell twice on `uml`, each time valid; return its artefacts by name, which are equal.

    programs: the folder of its file. place: where both runs leave theirs.
    """
    engine = UmlEngine()
    engine.allow_programs, engine.program_files = True, programs
    engine.prepare()
    contents = []
    for name in ("one", "two"):
        (place / name).mkdir()
        raw = engine.run(cell, place / name)
        assert raw.error == ""
        assert judge(load(cell, raw.artefacts)) == ("valid", ())
        paths = sorted(raw.artefacts.iterdir())
        contents.append({path.name: path.read_bytes() for path in paths if path.is_file()})
    engine.close()
    assert contents[0] == contents[1]
    return contents[0]
