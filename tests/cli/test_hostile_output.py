"""What strangers wrote reaches neither a terminal, nor a spreadsheet, nor a reader that waits for
ever.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.runtime.host import supervisor
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.run.progress import failure
from fairc.runtime.store.spreadsheet import no_formula

Fairc = Callable[..., Any]  # conftest.py


@pytest.mark.parametrize("text", ["=1+1", "+cmd|' /C calc'!A0", "-2+3+cmd", "@SUM(A1)", "\t=1"])
def test_no_cell_of_a_csv_file_is_a_formula(text: str) -> None:
    assert no_formula(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", None, "cubic", "-5", "-1.5e-3", "+2ms", "a=b", "1Mbit/s"])
def test_what_is_no_formula_stays(text: str | None) -> None:
    assert no_formula(text) == text


def test_an_error_of_a_guest_is_shown_and_not_obeyed() -> None:
    result = CellResult(
        cell="c",
        key="k",
        status="failed",
        error="bad \x1b]0;owned\x07 \x9b31m",
        virtual_s=0.0,
        wall_s=0.0,
        engine="fake",
        image="i",
    )
    assert not {"\x1b", "\x07", "\x9b"} & set(failure(result))


@pytest.mark.parametrize("recorded", [True, False])
def test_a_pipe_in_place_of_a_table(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    monkeypatch.setattr(
        "fairc.runtime.report.build.build", lambda path, formats=(): [path / "report.html"]
    )
    assert fairc("run", "tiny.fexp").status == 0
    path = Path("results/tiny/tables/metrics.parquet")
    path.unlink()
    os.mkfifo(path)
    if not recorded:
        Path("results/tiny/files.json").unlink()
    called = fairc("table", "results/tiny", "goodput")
    assert called.status == 2
    assert f"{path} is not a file that fairc wrote" in called.err
    path.unlink()
    assert fairc("report", "results/tiny").status == 0
    assert fairc("table", "results/tiny", "goodput").status == 0


def test_a_run_removes_what_killed_runs_left(
    fairc: Fairc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    gone = f"fairc-uml-999999999-1-{supervisor.namespace()}-abc"
    kept = f"{supervisor.temporary_prefix('uml')}def"
    for name in (gone, kept):
        (tmp_path / "temporary" / name).mkdir()
    fairc("run", "tiny.fexp")
    left = {path.name for path in (tmp_path / "temporary").iterdir()}
    assert gone not in left and kept in left
