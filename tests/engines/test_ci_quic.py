"""The example of continuous integration runs quic-go and quinn, which have several threads."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from twice import cells_of, equal_artefacts

EXAMPLE = Path(__file__).parents[2] / "examples" / "ci-quic"


@pytest.mark.full
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go, as the example says")
def test_two_runs_of_quic_go_have_equal_bytes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "ci")
    subprocess.run(["make", "-C", tmp_path / "ci"], check=True, capture_output=True)
    cells = cells_of(tmp_path / "ci" / "ci.fexp")
    cell = next(c for c in cells if len(c.flows) == 2 and "1%" in str(c.bindings))
    kept = equal_artefacts(cell, tmp_path / "ci", tmp_path)
    assert b'"download"' in kept["quic.client.file.transfer.json"]


@pytest.mark.full
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs Rust, as the example says")
def test_two_runs_of_quinn_have_equal_bytes(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "ci")
    command = ["make", "-C", str(tmp_path / "ci"), "ci-quinn"]
    subprocess.run(command, check=True, capture_output=True)
    cells = cells_of(tmp_path / "ci" / "quinn.fexp")
    cell = next(c for c in cells if "bbr" in str(c.bindings) and "1%" in str(c.bindings))
    kept = equal_artefacts(cell, tmp_path / "ci", tmp_path)
    assert b'"download"' in kept["quic.client.file.transfer.json"]
