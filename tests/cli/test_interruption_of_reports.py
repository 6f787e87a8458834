"""Ctrl-C while tables and a report are made, in libraries, finalizers and at exit: 130, and nothing
half-written.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from representatives import few
from waiting import completed

from fairc.compiler.record import FILES, recorded

TINY = (Path(__file__).parent / "conftest.py").read_text().split('"""')[3]

# What each does before `fairc report` begins; CTRL_C() is the signal, as the kernel delivers it.
BEGINS = """
import atexit, os, signal, sys, threading, time
CTRL_C = lambda: signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
"""
POINTS = {
    "in a figure": """
from matplotlib.figure import Figure
Figure.savefig = lambda *a, **k: CTRL_C()
""",
    "in the file of a figure": """
from pathlib import Path
def half(self, content):
    if content.startswith(b"%PDF"):
        content = content[:9]
    original(self, content)
    if len(content) == 9:
        CTRL_C()
original, Path.write_bytes = Path.write_bytes, half
""",
    "in the file of all figures": """
from matplotlib.backends.backend_pdf import PdfPages
PdfPages.savefig = lambda *a, **k: CTRL_C()
""",
    "in DuckDB": """
import fairc.runtime.store.tables as tables
def fill(connection, *a):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    connection.execute("SELECT sum(a.range * b.range) FROM range(9999999) a, range(9999999) b")
    raise AssertionError("it ran to its end")
tables._insert = fill
""",
    "between two tables": """
from pathlib import Path
def replace(self, target):
    if self.name == "flows.parquet":
        CTRL_C()
    return original(self, target)
original, Path.replace = Path.replace, replace
""",
    "in a finalizer": """
import fairc.runtime.report.build as report
class Finalized:
    def __del__(self):
        CTRL_C()
def build(*a):
    Finalized()
    time.sleep(100)
report.build = build
""",
    "where it is swallowed": """
import fairc.runtime.report.build as report
def build(*a, original=report.build):
    try:
        CTRL_C()
    except BaseException:
        pass
    return original(*a)
report.build = build
""",
    "where it becomes another error": """
import fairc.runtime.report.build as report
def build(*a):
    try:
        CTRL_C()
    except BaseException:
        raise RuntimeError("Query interrupted") from None
report.build = build
""",
    "at exit": "atexit.register(CTRL_C)\n",
    "before the command": """
class Finder:
    def find_spec(self, name, *a):
        if name == "fairc.__main__":
            CTRL_C()
sys.meta_path.insert(0, Finder())
""",
}
COMMAND = "sys.argv[0] = 'fairc'\nfrom fairc.start import main\nmain()\n"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with its tables, figures and report."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "tiny.fexp").write_text(TINY)
    done = call(folder, "", "run", "tiny.fexp", "-q")
    assert done.returncode == 0, done.stderr
    return folder


def call(folder: Path, before: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return completed(
        [sys.executable, "-c", BEGINS + before + COMMAND, *arguments],
        cwd=folder,
        env={**os.environ, "FAIRC_ENGINE": "fake", "XDG_STATE_HOME": str(folder / "state")},
        timeout=120,
    )


REPORT = ("report", "results/tiny", "--format", "html", "--format", "svg", "--format", "pdf")


@pytest.mark.parametrize("point", few(POINTS, "in the file of a figure"))
def test_an_interruption_is_said_and_nothing_is_half_written(
    made: Path, tmp_path: Path, point: str
) -> None:
    folder = tmp_path / "made"
    shutil.copytree(made, folder)
    run = folder / "results/tiny"
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    known = recorded(run)
    assert known
    done = call(folder, POINTS[point], *REPORT)
    assert done.returncode == 130, done.stderr
    assert done.stderr.strip().endswith("interrupted"), done.stderr
    assert "Traceback" not in done.stderr and "ignored" not in done.stderr
    assert "internal" not in done.stderr
    assert not (folder / "state").exists()  # no log of an internal error
    for path in (p for p in run.rglob("*") if p.is_file()):
        if path not in (run / ".lock", run / FILES):
            assert path.read_bytes() == before[path], path  # a new one is equal to the old one
    left = recorded(run)
    assert left
    due = {name for name, file in left.files.items() if file is None}
    assert left.files == {n: None if n in due else file for n, file in known.files.items()}
    assert call(folder, "", *REPORT).returncode == 0
    assert recorded(run) == known
