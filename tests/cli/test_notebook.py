"""The example notebook, run cell by cell in a kernel of Jupyter."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.full
def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="make setup-all installs it")
    nbclient = pytest.importorskip("nbclient", reason="make setup-all installs it")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    shutil.copy(EXAMPLES / "quickstart.fexp", tmp_path)
    folder = tmp_path / "notebook"
    shutil.copytree(EXAMPLES / "notebook", folder)
    notebook = nbformat.read(folder / "quickstart.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(
        notebook, timeout=600, resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs: list[dict[str, Any]] = [
        output.get("data", {"text/plain": output.get("text", "")})
        for cell in notebook.cells
        for output in cell.get("outputs", [])
    ]
    shown = "\n".join(str(output) for output in outputs)
    assert "6 valid" in shown
    assert "bbr: 1" in shown and "cubic: 1" in shown
    assert "[(6,)]" in shown
    assert any("image/png" in output for output in outputs), "the plot"
    assert "data:image/svg+xml" in shown, "the report's figure"
    assert not any("Traceback" in str(output) for output in outputs)
