"""Call the command line in this process, with the fake engine and folders of the test's own."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from invented_cells import InventedCells
from pictures import without_drawing

from fairc.__main__ import main
from fairc.cli import console, interruption
from fairc.compiler.record import Record
from fairc.runtime.repetitions.reading import measured
from fairc.runtime.store.folder import read_plan
from fairc_fake.engine import FakeEngine

__all__ = ["without_drawing"]
RUN = "results/tiny"
TINY = """fexp 1
experiment tiny {
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  sweep { rate = [1Mbit/s, 2Mbit/s] }
  flow a { cca = cubic   workload = file(100kB) }
  flow b { cca = bbr     workload = file(100kB) }
  repeat  = 3
  measure = [fairness, goodput]
}
"""


@dataclass(frozen=True)
class Called:
    """How a call of the command line ended."""

    status: int
    out: str
    err: str

    def require(self, status: int) -> Called:
        """Return this; it must have ended with this status."""
        assert self.status == status, self.out + self.err
        return self


Fairc = Callable[..., Called]


@pytest.fixture(scope="session")
def invented(tmp_path_factory: pytest.TempPathFactory) -> InventedCells:
    """The cells that the tests of this process have run."""
    return InventedCells(tmp_path_factory.mktemp("invented"))


@pytest.fixture
def fairc(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    invented: InventedCells,
) -> Fairc:
    """Return a function that calls `fairc ARGUMENTS...` in an empty folder with `tiny.fexp`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(interruption, "begin", lambda: None)  # Ctrl-C is for the tests themselves
    monkeypatch.setattr(FakeEngine, "run", lambda *each: invented.run(*each))
    monkeypatch.setenv("FAIRC_ENGINE", "fake")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("FAIRC_FAKE", raising=False)
    monkeypatch.delenv("FAIRC_DEBUG", raising=False)
    (tmp_path / "tiny.fexp").write_text(TINY)

    def call(*arguments: object) -> Called:
        monkeypatch.setattr(console, "_quiet", False)
        monkeypatch.setattr(sys, "argv", ["fairc", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main()
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        assert isinstance(end.value.code, int)
        return Called(int(end.value.code), captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `run` and `packed`: `tiny.fexp` when it has been run, and also been packed.

    Its report is brief (`without_report`). Tests that begin with a run copy it.
    """
    folder = tmp_path_factory.mktemp("finished")
    (folder / "tiny.fexp").write_text(TINY)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairc.runtime.report.build.build", brief_report())
        patch.setattr(interruption, "begin", lambda: None)
        patch.setenv("FAIRC_ENGINE", "fake")
        patch.setenv("XDG_STATE_HOME", str(folder / "state"))
        patch.delenv("FAIRC_FAKE", raising=False)
        patch.chdir(folder)
        for arguments, place in ((("run", "tiny.fexp"), "run"), (("pack", RUN), "packed")):
            patch.setattr(sys, "argv", ["fairc", *arguments])
            with pytest.raises(SystemExit) as end:
                main()
            assert end.value.code == 0
            shutil.copytree(folder / "results", folder / place / "results")
    shutil.copy(folder / "tiny.zip", folder / "packed")
    return folder


@pytest.fixture
def ran(fairc: Fairc, finished: Path, without_report: None, tmp_path: Path) -> Fairc:
    """The command line, where `tiny.fexp` has been run."""
    shutil.copytree(finished / "run", tmp_path, dirs_exist_ok=True)
    return fairc


@pytest.fixture
def packed(fairc: Fairc, finished: Path, without_report: None, tmp_path: Path) -> Fairc:
    """The command line, where `tiny.fexp` has been run and packed."""
    shutil.copytree(finished / "packed", tmp_path, dirs_exist_ok=True)
    return fairc


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test of a module keeps the run that all others copy."""
    return tmp_path_factory.mktemp("kept") / "one"


def packed_once(fairc: Fairc, kept: Path, status: int) -> Fairc:
    """Run and pack `tiny.fexp` for the first test of a module, and copy that for all others.

    status: that of the run.
    """
    if not kept.exists():
        assert fairc("run", "tiny.fexp").status == status
        assert fairc("pack", RUN).status == 0
        shutil.copytree("results", kept / "results")
        shutil.copy("tiny.zip", kept)
    else:
        shutil.copytree(kept / "results", "results")
        shutil.copy(kept / "tiny.zip", ".")
    return fairc


@pytest.fixture
def plan(
    fairc: Fairc, without_report: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Fairc:
    """A compiled plan, `plan`; nothing here reads a report."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setattr("tempfile.tempdir", None)
    Path("scratch").mkdir()
    fairc(
        "compile", "tiny.fexp", "-o", "plan", "--target", "slurm", "--target", "kubernetes"
    ).require(0)
    return fairc


def brief_report() -> Callable[..., list[Path]]:
    """Return what builds a report in place of `build.build`: its texts, and for page and figures a
    few bytes that depend on the cells, too.
    """
    from fairc.runtime.report import build

    real = build.build

    def brief(path: Path, formats: Sequence[str] = (), *, warmup: bool = False) -> list[Path]:
        texts = [name for name in formats if name in ("csv", "md", "tex")]
        written = real(path, texts, warmup=warmup) if texts else []
        values = [value.number for value in measured(path / "tables", read_plan(path)).values()]
        record = Record(path, path / ".partial")
        record.write("figures/one.svg", f"<svg>{values}</svg>".encode())
        record.write("figures/one.pdf", f"0 0 obj {values}".encode())
        page = record.write("report.html", f"<html><body>{values}</body></html>".encode())
        return [page, *written]

    return brief


@pytest.fixture
def without_report(monkeypatch: pytest.MonkeyPatch, without_drawing: None) -> None:
    """Drawing a report takes longer than all the rest: it is brief, and one of all experiments of
    a file has empty pictures.
    """
    monkeypatch.setattr("fairc.runtime.report.build.build", brief_report())
