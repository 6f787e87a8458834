"""The example of continuous integration runs quic-go, which has several threads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from fairc import dsl
from fairc.compiler import compile
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import load
from fairc.runtime.validity import judge

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci-quic"


@pytest.mark.full
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go, as the example says")
def test_two_runs_of_quic_go_have_equal_bytes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "ci")
    subprocess.run(["make", "-C", tmp_path / "ci"], check=True, capture_output=True)
    experiment, found = dsl.load(dsl.read(tmp_path / "ci" / "ci.fexp"))
    assert experiment is not None, found
    cells = compile(experiment).cells()
    cell = next(c for c in cells if len(c.flows) == 2 and "1%" in str(c.bindings))
    engine = UmlEngine()
    engine.allow_programs, engine.program_files = True, tmp_path / "ci"
    engine.prepare()
    contents = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        raw = engine.run(cell, tmp_path / name)
        assert raw.error == ""
        assert judge(load(cell, raw.artefacts)) == ("valid", ())
        paths = sorted(raw.artefacts.iterdir())
        contents.append({path.name: path.read_bytes() for path in paths if path.is_file()})
    engine.close()
    assert contents[0] == contents[1]
    assert b'"download"' in contents[0]["quic.client.file.transfer.json"]
