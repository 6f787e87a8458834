"""What writes the programs of cells is a part of what a result counts for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import fairc.compiler
from fairc.runtime.engines import base


def test_every_writer_of_programs_is_named() -> None:
    """A new module or template of targets writes programs, or is named here as one that does not."""
    folder = Path(fairc.compiler.__file__).parent / "targets"
    others = {"__init__", "binary", "jobs", "kubernetes", "slurm"}
    modules = {f"targets/{path.name}" for path in folder.glob("*.py") if path.stem not in others}
    templates = {f"targets/templates/{path.name}" for path in folder.glob("templates/*.py.j2")}
    assert modules | templates == {name for name in base.WRITERS if name.startswith("targets/")}


def test_what_writers_use_of_the_compiler_is_named() -> None:
    folder = Path(fairc.compiler.__file__).parent
    used = {
        f"{module.replace('.', '/')}.py"
        for name in base.WRITERS
        if name.startswith("targets/") and name.endswith(".py")
        for module in re.findall(
            r"^from fairc\.compiler\.([\w.]+) ", (folder / name).read_text(), re.MULTILINE
        )
    }
    assert used - {"plan.py"} == {name for name in base.WRITERS if not name.startswith("targets/")}


def test_another_writer_is_another_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    before = base.programs_identity()
    monkeypatch.setattr(base, "WRITERS", base.WRITERS[1:])
    assert base.programs_identity.__wrapped__() != before
