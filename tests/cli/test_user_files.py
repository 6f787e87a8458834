"""A user's files in and around the folders that fairc writes: none is changed, whatever its
name.
"""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from representatives import few

from fairc.compiler.record import FILES, recorded

Fairc = Callable[..., Any]  # conftest.py
MINE = "mine, and nobody else's\n"


def listing(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def put(*paths: str) -> None:
    for path in map(Path, paths):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MINE)


@pytest.fixture
def quick(fairc: Fairc, without_report: None) -> Fairc:
    """The command line with a report of a few bytes."""
    return fairc


@pytest.fixture
def done(quick: Fairc, finished: Path) -> Fairc:
    """The same, where `tiny.fexp` has been run into `run`."""
    shutil.copytree(finished / "run/results/tiny", "run")
    return quick


@pytest.mark.parametrize(
    "name",
    [
        *("spec/notes.txt", "spec/tiny.fexp", "report.html", "report.md", "figures/mine.svg"),
        *("tables/cells.parquet", "cells/mine", "plan.json", "cells.jsonl", "lock.json"),
        *("files.json", "emitted.json", "phase-check/mine", ".lock", ".partial/mine"),
    ],
)
def test_a_folder_that_is_no_run_is_refused_before_anything_is_run(quick: Fairc, name: str) -> None:
    put(f"mine/{name}", "mine/thesis.tex")
    before = listing(Path("mine"))
    called = quick("run", "tiny.fexp", "-o", "mine").require(2)
    assert called.err.startswith(f"error: mine holds {name.split('/')[0]}")
    assert "its own directory with -o" in called.err
    assert listing(Path("mine")) == before
    for command in (("report", "mine"), ("clean", "--raw", "mine"), ("pack", "mine")):
        assert quick(*command).status == 2
        assert listing(Path("mine")) == before


def test_other_files_beside_a_run_stay(quick: Fairc) -> None:
    put("mine/thesis.tex", "mine/.report.html.part", "mine/.files.json.part", "mine/fig/a.svg")
    before = listing(Path("mine"))
    assert quick("run", "tiny.fexp", "-o", "mine").status == 0
    after = listing(Path("mine"))
    assert {name: after[name] for name in before} == before


def test_what_the_user_keeps_in_a_run_stays(done: Fairc) -> None:
    keys = sorted(path.name for path in Path("run/cells").iterdir())
    put(
        *(
            "run/notes.txt",
            "run/spec/notes.txt",
            "run/spec/deep/other.fexp",
            "run/figures/mine.svg",
        ),
        *("run/tables/mine.parquet", "run/tables/.partial/mine", f"run/cells/{keys[0]}/notes.txt"),
        *(f"run/cells/{keys[1]}/deep/raw.tar.zst", "run/cells/mine/raw.tar.zst"),
        *("run/.report.html.part", "run/figures/.rates.svg.part", f"run/cells/{keys[2]}/mine.har"),
    )
    mine = {name: data for name, data in listing(Path("run")).items() if data == MINE.encode()}
    assert len(mine) == 12
    text = Path("tiny.fexp").read_text().replace("[1Mbit/s, 2Mbit/s]", "[1Mbit/s]")
    Path("tiny.fexp").write_text(text)
    for command in (
        ("run", "tiny.fexp", "-o", "run", "--fresh"),
        (
            "report",
            "run",
            *(word for f in ("html", "md", "svg", "csv") for word in ("--format", f)),
        ),
        ("table", "run", "goodput"),
        ("pack", "run", "-o", "run.zip", "--with-raw"),
        ("clean", "--raw", "run"),
    ):
        assert done(*command).status == 0, command
        after = listing(Path("run"))
        assert {name: after.get(name) for name in mine} == mine, command
    with zipfile.ZipFile("run.zip") as zipped:
        assert not [name for name in zipped.namelist() if zipped.read(name) == MINE.encode()]
    assert done("verify", "run").status == 0


@pytest.mark.parametrize(
    "name", few(["report.md", "figures/rates.svg", "figures/all.pdf"], "figures/rates.svg")
)
def test_a_report_does_not_replace_what_the_user_put_there(
    fairc: Fairc, finished: Path, name: str
) -> None:
    shutil.copytree(finished / "run/results/tiny", "run")
    record = json.loads(Path("run/files.json").read_text())
    record["files"].pop(name, None)
    Path("run/files.json").write_text(json.dumps(record))
    put(f"run/{name}")
    called = fairc("report", "run", "--format", name.rpartition(".")[2]).require(2)
    assert f"run/{name} is not a file that fairc wrote" in called.err
    assert Path("run", name).read_text() == MINE


@pytest.mark.full
def test_the_spec_of_a_run_can_be_edited_where_it_is(quick: Fairc) -> None:
    """The workflow of docs/run/sharing.md."""
    assert quick("run", "tiny.fexp", "-o", "one").status == 0
    assert quick("pack", "one", "-o", "one.zip").status == 0
    assert quick("run", "one.zip", "-o", "mine").status == 0
    put("mine/spec/notes.txt")
    spec, other = Path("mine/spec/tiny.fexp"), Path("mine/spec/variant.fexp")
    text = spec.read_text()
    other.write_text(text.replace("repeat  = 3", "repeat  = 4"))
    assert quick("run", other, "-o", "mine").status == 0
    assert spec.exists() is False, "it was fairc's, and the plan comes from another file now"
    spec.write_text(text.replace("repeat  = 3", "repeat  = 5"))
    assert quick("run", spec, "-o", "mine").status == 0
    assert quick("run", spec, "-o", "mine", "--set", "repeat=6").status == 0
    assert spec.read_text() == text.replace("repeat  = 3", "repeat  = 5")
    assert other.read_text() == text.replace("repeat  = 3", "repeat  = 4")
    assert Path("mine/spec/notes.txt").read_text() == MINE
    called = quick("run", "tiny.fexp", "-o", "mine").require(2)
    assert "mine/spec/tiny.fexp is not as fairc wrote it" in called.err
    assert quick("verify", "mine").status == 0
    assert quick("run", other, "-o", "mine").status == 0
    assert "repeat  = 5" in spec.read_text(), "the user's, also when no plan needs it"


def test_a_plan_is_not_continued_with_an_edited_spec(quick: Fairc) -> None:
    assert quick("compile", "tiny.fexp", "-o", "plan", "--target", "json").status == 0
    put("plan/spec/notes.txt")
    assert quick("run", "plan", "-o", "run").status == 0
    assert not Path("run/spec/notes.txt").exists()
    Path("plan/spec/tiny.fexp").write_text(MINE)
    called = quick("run", "plan", "-o", "run").require(2)
    assert "plan/spec/tiny.fexp has changed since the plan" in called.err


def test_a_killed_command_goes_on(quick: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    assert quick("run", "tiny.fexp", "-o", "run").status == 0
    before = recorded(Path("run"))
    assert before is not None
    for name in ("report.html", "tables/cells.parquet", "plan.json", "spec/tiny.fexp"):
        unfinished = before.model_copy(update={"files": {**before.files, name: None}})
        unfinished.write(Path("run"), Path("run/.partial"))
        Path("run", name).write_text("half")
        assert quick("verify", "run").status == 1
        assert quick("run", "tiny.fexp", "-o", "run").status == 0
        assert recorded(Path("run")) == before
    Path("run/plan.json").unlink()
    assert quick("run", "tiny.fexp", "-o", "run").status == 0


@pytest.mark.parametrize("damaged", few([True, False], True))
def test_without_its_record_a_run_keeps_its_results(done: Fairc, damaged: bool) -> None:
    Path("run/files.json").write_text("half") if damaged else Path("run/files.json").unlink()
    called = done("run", "tiny.fexp", "-o", "run").require(2)
    assert "run/report.html is not a file that fairc wrote" in called.err
    Path("run/report.html").unlink()
    shutil.rmtree("run/figures")
    called = done("run", "tiny.fexp", "-o", "run").require(0)
    assert "6 cells to run" not in called.err
    assert done("verify", "run").status == 0
    assert done("pack", "run", "-o", "run.zip").status == 0


def test_a_compiled_plan_leaves_the_user_s_files_alone(quick: Fairc) -> None:
    compile_ = ("compile", "tiny.fexp", "-o", "plan")
    assert quick(*compile_).status == 0
    programs = sorted(Path("plan/cells").glob("*.py"))
    put("plan/notes.txt", "plan/cells/mine.py", "plan/spec/mine.fexp", "plan/logs/1.out")
    mine = {name: data for name, data in listing(Path("plan")).items() if data == MINE.encode()}
    assert quick(*compile_, "--set", "repeat=2").status == 0
    after = listing(Path("plan"))
    assert {name: after.get(name) for name in mine} == mine
    assert len(list(Path("plan/cells").glob("*.py"))) == 2 + 1  # one for each configuration
    left = next(path for path in programs if path.exists())
    left.write_text(MINE)
    before = listing(Path("plan"))
    called = quick(*compile_, "--set", "repeat=3").require(2)
    assert f"{left} is not as fairc wrote it" in called.err
    assert listing(Path("plan")) == before
    left.unlink()
    assert quick(*compile_).status == 0
    shutil.rmtree("plan/cells")
    assert quick(*compile_).status == 0
    (Path("plan") / FILES).unlink()
    assert quick(*compile_).status == 2


def test_a_pack_replaces_only_a_pack_of_the_run(
    done: Fairc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree("run", "two")
    Path("run").rename("one")
    put("mine.zip")
    called = done("pack", "one", "-o", "mine.zip").require(2)
    assert "mine.zip exists, and is not a pack that fairc made of one" in called.err
    assert Path("mine.zip").read_text() == MINE
    assert done("pack", "one", "-o", "a.zip", "--with-raw").status == 0
    assert done("pack", "one", "-o", "b.zip").status == 0
    assert done("pack", "one", "-o", "a.zip").status == 0
    assert Path("a.zip").read_bytes() == Path("b.zip").read_bytes()
    called = done("pack", "two", "-o", "a.zip").require(2)
    assert "a.zip exists, and is not a pack that fairc made of two" in called.err
    before = listing(tmp_path).keys()

    def interrupted(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("fairc.runtime.pack.zipped._add", interrupted)
    assert done("pack", "one", "-o", "a.zip").status == 130
    assert listing(tmp_path).keys() == before
    called = done("pack", "one", "-o", "nowhere/a.zip")
    assert called.status == 2 and "nowhere is not a folder" in called.err


def test_an_image_is_saved_to_a_new_file(fairc: Fairc) -> None:
    put("mine.tar.zst")
    called = fairc("image", "save", "mine.tar.zst").require(2)
    assert "mine.tar.zst exists" in called.err
    assert Path("mine.tar.zst").read_text() == MINE


@pytest.mark.parametrize(
    "arguments",
    [
        *(("run", "tiny.fexp", "-o", "{}"), ("pack", "run", "-o", "{}"), ("pack", "{}")),
        *(("compile", "tiny.fexp", "-o", "{}"), ("report", "{}"), ("check", "{}"), ("clean", "{}")),
    ],
)
@pytest.mark.parametrize("character", ["\n", "\t", "\x1b", "\x7f", "\u202e"])
def test_no_line_break_of_a_path_reaches_the_terminal(
    fairc: Fairc, tmp_path: Path, arguments: tuple[str, ...], character: str
) -> None:
    before = listing(tmp_path)
    called = fairc(*(word.format(f"a{character}b.zip") for word in arguments)).require(2)
    assert "has a control character or a line break" in called.err
    assert f"a{character}b" not in called.out + called.err
    assert listing(tmp_path) == before


@pytest.mark.parametrize(
    "arguments",
    [
        *(
            ("run", "tiny.fexp", "-o", ""),
            ("pack", "run", "-o", ""),
            ("compile", "tiny.fexp", "-o", ""),
        ),
        *(("calibrate", "-o", ""), ("demo", ""), ("report", ""), ("check", ""), ("clean", "")),
        *(("compare", "", ""), ("compare", "a", "--baseline", ""), ("image", "save", "")),
    ],
)
def test_an_empty_path_is_not_the_current_folder(
    fairc: Fairc, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    before = listing(tmp_path)
    called = fairc(*arguments).require(2)
    assert "the path is empty" in called.err
    assert listing(tmp_path) == before


def test_names_that_are_too_long_are_refused(quick: Fairc) -> None:
    for arguments in (("run", "tiny.fexp", "-o"), ("compile", "tiny.fexp", "-o"), ("verify",)):
        called = quick(*arguments, "n" * 256).require(2)
        assert "File name too long" in called.err
    called = quick("run", "tiny.fexp", "-o", "/".join(["n" * 100] * 40)).require(2)
    assert "too long for the files in it" in called.err


def test_without_a_working_directory_a_command_says_so(
    fairc: Fairc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    for arguments in (("check", tmp_path / "tiny.fexp"), ("pack", "run"), ("clean",)):
        called = fairc(*arguments).require(3)
        assert called.err.startswith("error: the working directory has been removed\nhelp: ")
    monkeypatch.chdir(tmp_path)
