"""Faults of the environment: exit 3 with what is missing, no cell is burnt, and the same command
resumes.
"""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from representatives import few
from waiting import completed

from fairc.runtime.host import faults
from fairc_fake.engine import FakeEngine

Fairc = Callable[..., Any]  # conftest.py
Usage = namedtuple("Usage", "total used free")
TINY = (Path(__file__).parent / "conftest.py").read_text().split('"""')[3]


@pytest.fixture
def quick(fairc: Fairc, without_report: None) -> Fairc:
    """The command line with a report of a few bytes."""
    return fairc


def statuses() -> list[str]:
    texts = [path.read_text() for path in Path("results/tiny/cells").glob("*/result.json")]
    return sorted("failed" if '"status": "failed"' in text else "ok" for text in texts)


FAULTS = {
    "disk": (OSError(errno.ENOSPC, "No space left", "/tmp/x"), "/tmp/x: no space left on device"),
    "size": (OSError(errno.EFBIG, "File too large"), "ulimit -f"),
    "files": (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
    "memory": (MemoryError(), "ulimit -v"),
    "memory for a library": (
        ImportError("x.so: failed to map segment from shared object"),
        "ulimit -v",
    ),
    "processes": (BlockingIOError(errno.EAGAIN, "fork"), "ulimit -u"),
    "threads": (RuntimeError("can't start new thread"), "ulimit -u"),
}


@pytest.mark.parametrize(
    ("where", "what"),
    few(
        [("running", "disk"), ("analysing", "memory"), *(("storing", what) for what in FAULTS)],
        *(("running", "disk"), ("analysing", "memory"), ("storing", "threads")),
    ),
)
def test_the_sweep_stops_and_resumes(
    quick: Fairc, monkeypatch: pytest.MonkeyPatch, what: str, where: str
) -> None:
    error, said = FAULTS[what]
    target = {
        "running": "fairc_fake.engine.FakeEngine.run",
        "analysing": "fairc.runtime.run.analyst.analyse",
        "storing": "fairc.runtime.host.archive.pack",
    }[where]
    module, _, name = target.rpartition(".")
    original = pytest.importorskip(module) if where != "running" else FakeEngine
    whole, calls = getattr(original, name), [0]

    def breaks(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] >= 3:
            raise error
        return whole(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(target, breaks)
        called = quick("run", "tiny.fexp", "--jobs", "1")
    assert called.status == 3, called.err
    assert said in called.err and "the same command resumes" in called.err
    assert "--engine" not in called.err
    assert calls[0] <= 4 and statuses() == ["ok", "ok"]
    called = quick("run", "tiny.fexp")
    assert called.status == 0 and "4 cells to run; 2 already done" in called.err


@pytest.mark.parametrize("free_bytes", [4096, 50 << 20])
def test_a_cell_that_fails_on_a_full_disk_is_not_burnt(
    free_bytes: int, quick: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """50 MiB are left where each of two cells at once needed 60."""
    monkeypatch.setenv("FAIRC_FAKE", "fail:2")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, free_bytes))
        called = quick("run", "tiny.fexp", "--jobs", "1")
    assert called.status == 3 and "no space left on device" in called.err
    assert "failed" not in statuses()
    called = quick("run", "tiny.fexp")  # the cell's own failure, with room
    assert called.status == 1 and "failed" in statuses()


@pytest.mark.parametrize(
    ("limit", "value", "said"),
    few(
        [("RLIMIT_FSIZE", 3000, "ulimit -f"), ("RLIMIT_NOFILE", 8, "ulimit -n")],
        ("RLIMIT_NOFILE", 8, "ulimit -n"),
    ),
)
def test_a_limit_of_this_process(tmp_path: Path, limit: str, value: int, said: str) -> None:
    (tmp_path / "tiny.fexp").write_text(TINY)
    begin = f"import resource; resource.setrlimit(resource.{limit}, ({value}, {value}))\n"
    environment = {**os.environ, "FAIRC_ENGINE": "fake", "XDG_STATE_HOME": str(tmp_path / "state")}

    code = f"import sys; sys.argv[0] = 'fairc'\n{begin}from fairc.start import main; main()"
    done = completed(
        [sys.executable, "-c", code, "run", "tiny.fexp"], cwd=tmp_path, env=environment, timeout=120
    )
    assert done.returncode == 3, done.stderr
    assert said in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "full", "status"),
    few(
        [
            ("show", ("stdout",), 3),
            ("show", ("stderr",), 0),
            ("show", ("stdout", "stderr"), 3),
            ("check nowhere.fexp", ("stderr",), 2),
        ],
        ("show", ("stdout",), 3),
        ("check nowhere.fexp", ("stderr",), 2),
    ),
)
def test_output_that_cannot_be_written(
    tmp_path: Path, command: str, full: tuple[str, ...], status: int
) -> None:
    with Path("/dev/full").open("wb") as nowhere:
        done = subprocess.run(
            [sys.executable, "-m", "fairc", *command.split()],
            cwd=tmp_path,
            timeout=60,
            check=False,
            stdout=nowhere if "stdout" in full else subprocess.PIPE,
            stderr=nowhere if "stderr" in full else subprocess.PIPE,
        )
    assert done.returncode == status
    if full == ("stdout",):
        assert b"no space left on device" in done.stderr


def test_streams_that_are_closed_take_no_file(tmp_path: Path) -> None:
    (tmp_path / "tiny.fexp").write_text(TINY)
    command = f"exec {sys.executable} -m fairc compile tiny.fexp --target json -o out <&- >&- 2>&-"
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=60, check=False)
    assert done.returncode == 0
    assert (tmp_path / "out/plan.json").read_text().startswith("{")


def test_what_cells_in_virtual_time_need(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_NOFILE: (20, 20)}
    get = resource.getrlimit
    monkeypatch.setattr(resource, "getrlimit", lambda which: limits.get(which, get(which)))
    with pytest.raises(faults.MachineFault, match="only 20 files may be open"):
        faults.require(1 << 20, 1 << 20)
    limits[resource.RLIMIT_NOFILE] = (4096, 4096)
    faults.require(1 << 20, 1 << 20)
    limits[resource.RLIMIT_FSIZE] = (1 << 20, 1 << 20)
    with pytest.raises(faults.MachineFault, match="a file may have only 1 MiB"):
        faults.require(2 << 20, 1 << 20)
    del limits[resource.RLIMIT_FSIZE]
    limits[resource.RLIMIT_AS] = (300 << 20, 300 << 20)
    with pytest.raises(faults.MachineFault, match="only 300 MiB, and a cell needs 1280 MiB"):
        faults.require(1 << 20, 1 << 30)
    del limits[resource.RLIMIT_AS]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, 5 << 20))
    with pytest.raises(faults.MachineFault, match="has 5 MiB of room"):
        faults.require(1 << 20, 1 << 20)


@pytest.mark.parametrize("home", ["/dev/null", "/proc/nowhere"])
def test_a_home_that_cannot_be_written_makes_no_library_talk(tmp_path: Path, home: str) -> None:
    """A report's figures need matplotlib, which keeps files of its own there."""
    names = ("MPLCONFIGDIR", "XDG_CACHE_HOME", "XDG_CONFIG_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    code = (
        "from fairc.runtime.report import render\n"
        "print(render.render_all([], svg=True, pdf=True))\n"
        "from matplotlib.backends.backend_pdf import PdfPages; print(PdfPages.__module__)"
    )
    done = completed(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment | {"HOME": home, "TMPDIR": str(tmp_path)},
        timeout=120,
    )
    assert done.stdout.splitlines()[1:] == ["matplotlib.backends.backend_pdf"]
    assert (done.returncode, done.stderr) == (0, "")
