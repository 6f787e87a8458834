"""The bytecode of what every machine runs: compiled once, by the Python that runs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fairc.compiler.targets import runner
from fairc.runtime.host.faults import EngineUnavailable
from fairc.runtime.uml import bytecode, kernel, machine
from fairc.runtime.vm import image, recipe


def compiled(modules: dict[str, bytes]) -> dict[str, bytes]:
    return bytecode.compiled(kernel.require(), image.require(recipe.UML), modules)


def refused(*_: Any, **__: Any) -> Any:
    raise AssertionError("no machine should be needed")


def test_each_module_is_compiled_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytecode, "cache_directory", lambda: tmp_path)
    modules = {**runner.files(), "alone.py": b"x = 1\n"}
    found = compiled(modules)
    names = {name.rpartition("/")[2].partition(".")[0] for name in found}
    assert names == {Path(name).stem for name in modules} and len(found) == len(modules)
    # Of the form that Python does not compare with its source (PEP 552).
    assert all(code[4:8] == b"\x01\0\0\0" for code in found.values())

    run = machine.run_script
    monkeypatch.setattr(machine, "run_script", refused)
    assert compiled(modules) == found
    (kept,) = (tmp_path / bytecode.FOLDER).iterdir()
    kept.write_bytes(kept.read_bytes()[:-1])
    with pytest.raises(AssertionError):
        compiled(modules)
    monkeypatch.setattr(machine, "run_script", run)
    assert compiled(modules) == found


def test_a_module_that_python_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bytecode, "cache_directory", lambda: tmp_path)
    with pytest.raises(EngineUnavailable, match=r"broken\.py"):
        compiled({"broken.py": b"def\n"})
    assert not (tmp_path / bytecode.FOLDER).exists()
