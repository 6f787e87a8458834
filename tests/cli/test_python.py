"""fairc from Python: what docs/run/python.md says, on the engine fake."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from waiting import completed

import fairc as package
from fairc.cli.failures import UsageError
from fairc.dsl.core.diagnostics import CompileError

PAGE = Path(__file__).parents[2] / "docs" / "run" / "python.md"

pytestmark = pytest.mark.usefixtures("fairc", "without_report")


def test_the_page_runs() -> None:
    """Every line of it, and what it says of columns."""
    Path("quickstart.fexp").write_text(Path("tiny.fexp").read_text())
    found: dict[str, Any] = {}
    lines = "\n".join(
        re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    )
    for line in lines.splitlines():
        code = line.replace('fexp")', 'fexp", "one", engine="fake")')
        if "run.figure(" not in line:  # none is drawn here
            exec(code, found)  # noqa: S102  the page is ours
    run = found["run"]
    assert run.path == Path("one")
    assert set(run.cells.columns) >= {"cell", "rate", "repetition", "verdict", "reasons"}
    assert set(run.series("cwnd").columns) >= {"cell", "flow", "t_s", "value", "rate"}
    assert len(run.cells) == 6
    (goodput, unit), *_ = run.sql(
        "SELECT value, unit FROM metrics WHERE metric = 'goodput'"
    ).fetchall()
    assert unit == "bit/s" and goodput > 0


def test_a_run_says_what_its_commands_say() -> None:
    first = package.run("tiny.fexp", "one", engine="fake", jobs=1)
    again = package.load("one")
    assert repr(again) == "<fairc run of tiny: 6 cells: 6 valid, 0 flagged, 0 invalid, 0 failed>"
    assert "6 valid" in again._repr_html_() and "report.html" in again._repr_html_()
    assert first.table("goodput") == again.table("goodput")
    assert {row["by"]["rate"] for row in again.table("goodput", by="rate")} == {
        "1Mbit/s",
        "2Mbit/s",
    }
    only = again.table("goodput", where="rate == 1Mbit/s")
    assert {row["by"]["rate"] for row in only} == {"1Mbit/s"}


def test_a_figure_is_shown_as_an_image_in_which_nothing_runs(tmp_path: Path) -> None:
    """A run directory may be a stranger's, and a notebook runs what stands in its page."""
    run = package.run("tiny.fexp", "one", engine="fake", jobs=1)
    place = Path("one/figures/<b>.svg")
    place.parent.mkdir(exist_ok=True)
    place.write_text('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
    shown = run.figure("<b>")._repr_html_()
    assert not hasattr(run.figure("<b>"), "_repr_svg_")
    assert re.fullmatch(
        r'<img src="data:image/svg\+xml;base64,[\w+/=]+" alt="&lt;b&gt;">', shown, re.ASCII
    )
    (tmp_path / "mine").write_text("mine")
    for link in (True, False):  # a pipe would be waited for
        place.unlink()
        if link:
            place.symlink_to(tmp_path / "mine")
        else:
            os.mkfifo(place)
        with pytest.raises(OSError, match=str(place)):
            run.figure("<b>")._repr_html_()


def test_wrong_words() -> None:
    run = package.run("tiny.fexp", "one", engine="fake", jobs=1)
    with pytest.raises(UsageError, match="no series is called 'speed'"):
        run.series("speed")
    with pytest.raises(UsageError, match="no figure is called 'speed'"):
        run.figure("speed")
    Path("wrong.fexp").write_text("fexp 1\nexperiment wrong { }\n")
    assert [d.code for d in package.check("wrong.fexp").errors]
    with pytest.raises(CompileError):
        package.run("wrong.fexp", engine="fake")
    with pytest.raises(AttributeError, match="no attribute 'speed'"):
        _ = package.speed


def test_several_experiments() -> None:
    one = Path("tiny.fexp").read_text()
    Path("two.fexp").write_text(
        one + one.partition("\n")[2].replace("experiment tiny", "experiment other")
    )
    assert [each["experiment"] for each in package.plan("two.fexp")] == ["tiny", "other"]
    with pytest.raises(UsageError, match=r"two\.fexp has several experiments: tiny, other"):
        package.run("two.fexp", engine="fake")
    assert package.run("two.fexp:other", "there", engine="fake").plan.experiment == "other"


def test_importing_it_imports_nothing_else() -> None:
    code = "import sys, fairc; print(*(n for n in sys.modules if n.startswith('fairc')))"
    done = completed([sys.executable, "-c", code], check=True)
    assert done.stdout.split() == ["fairc"]
