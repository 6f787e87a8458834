"""A run with nothing to do keeps its report; what differs has it built again."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairc.compiler.record import recorded
from fairc.runtime.report import build, place

Fairc = Callable[..., Any]  # conftest.py
RUN = Path("results/tiny")


@pytest.mark.usefixtures("without_drawing")
def test_a_report_is_built_again_only_if_something_differs(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a run of the same file; with a figure that was removed; with another title, which
    changes the plan and no cell; after `report` with another warm-up. Tables, plan and lock are not
    written again either.
    """
    built = []
    real = build.build

    def counted(*arguments: Any, **options: Any) -> list[Path]:
        built.append(arguments)
        return real(*arguments, **options)

    def built_by_run() -> int:
        built.clear()
        called = fairc("run", "tiny.fexp")
        assert "report: results/tiny/report.html" in called.out + called.err
        assert "figures, as SVG and PDF: results/tiny/figures" in called.out + called.err
        return len(built)

    def written_at() -> dict[Path, int]:
        files = [*RUN.glob("tables/*"), RUN / "plan.json", RUN / "lock.json"]
        return {path: path.stat().st_mtime_ns for path in files}

    monkeypatch.setattr(build, "build", counted)
    assert built_by_run() == 1
    page, written = (RUN / "report.html").read_bytes(), written_at()
    assert built_by_run() == 0
    assert written_at() == written
    known = recorded(RUN)
    assert known is not None and known.report == place.made_of(RUN, known)
    next((RUN / "figures").glob("*.svg")).unlink()
    assert place.current(RUN) == []
    assert built_by_run() == 1
    assert (RUN / "report.html").read_bytes() == page

    file = Path("tiny.fexp")
    file.write_text(file.read_text().replace("experiment tiny {", 'experiment tiny { title = "T"'))
    assert built_by_run() == 1
    assert b"<title>T" in (RUN / "report.html").read_bytes()
    monkeypatch.setattr(place, "_program", lambda: "another version")
    assert place.current(RUN) == []


def test_nothing_that_draws_is_imported_for_it() -> None:
    """Neither by `run` nor by what it ends with."""
    code = (
        "import sys\n"
        "import fairc.cli.run\n"
        "drawing = {'matplotlib', 'fontTools', 'fairc.runtime.report.build'} & sys.modules.keys()\n"
        "sys.exit(str(drawing) if drawing else 0)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
