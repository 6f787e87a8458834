"""Stopped at any moment: finished cells are kept, nothing is left running, the run resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import completed, ended, eventually

TINY = (Path(__file__).parent / "conftest.py").read_text().split('"""')[3]


def start(folder: Path, fake: str, *arguments: str) -> subprocess.Popen[str]:
    """Start `fairc run tiny.fexp` on the fake engine, which does what `fake` says."""
    (folder / "tiny.fexp").write_text(TINY)
    # A background job of a script ignores SIGINT, and so would what it starts.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "fairc", "run", "tiny.fexp"]
    return subprocess.Popen(
        [*command, "--jobs", "2", *arguments],
        cwd=folder,
        env={**os.environ, "FAIRC_ENGINE": "fake", "FAIRC_FAKE": fake},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(folder: Path) -> set[str]:
    return {path.parent.name for path in folder.glob("results/tiny/cells/*/result.json")}


def resume(folder: Path, kept: set[str]) -> None:
    """Run again; what was kept is not run again, and everything is there and whole."""
    stamps = {key: inode(folder, key) for key in kept}
    process = start(folder, "")
    out, err = ended(process, 300.0)  # with a report
    assert process.returncode == 0, err
    assert "6 cells: 6 valid" in out
    assert f"{6 - len(kept)} cells to run; {len(kept)} already done" in err.replace(
        "1 cell ", "1 cells "
    )
    assert {key: inode(folder, key) for key in kept} == stamps
    assert len(finished(folder)) == 6
    assert not (folder / "results/tiny/.partial/plan").exists()


def inode(folder: Path, key: str) -> int:
    return (folder / "results/tiny/cells" / key).stat().st_ino


def test_ctrl_c(tmp_path: Path) -> None:
    process = start(tmp_path, "hang:3")  # four cells end, two never do
    eventually(lambda: len(finished(tmp_path)) == 4, process=process)
    process.send_signal(signal.SIGINT)
    out, err = ended(process)
    assert process.returncode == 130, err
    assert "the same command resumes" in err
    assert "Traceback" not in err
    assert out == ""
    kept = finished(tmp_path)
    assert len(kept) == 4
    resume(tmp_path, kept)


@pytest.mark.full
def test_ctrl_c_before_the_first_cell(tmp_path: Path) -> None:
    process = start(tmp_path, "hang:1")
    eventually((tmp_path / "results/tiny/lock.json").exists, process=process)
    process.send_signal(signal.SIGINT)
    _, err = ended(process)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert finished(tmp_path) == set()


@pytest.mark.full
def test_two_runs_on_one_directory(tmp_path: Path) -> None:
    first = start(tmp_path, "hang:1")
    eventually((tmp_path / "results/tiny/lock.json").exists, process=first)
    second = start(tmp_path, "")
    _, err = ended(second)
    assert second.returncode == 2
    assert f"another fairc (process {first.pid})" in err
    first.send_signal(signal.SIGINT)
    ended(first)
    assert first.returncode == 130


def test_an_interruption_of_an_exec_ends_with_the_same_status(tmp_path: Path) -> None:
    """As of one that makes a dataclass: CPython would end `python -m` by SIGINT, though caught."""
    (tmp_path / "program.py").write_text(
        "import sys\n"
        "from fairc.cli.failures import guarded\n"
        "sys.exit(guarded(lambda: exec('raise KeyboardInterrupt')))\n"
    )
    done = completed([sys.executable, "-m", "program"], cwd=tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
