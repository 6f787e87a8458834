"""Folders, packs and texts of strangers: commands end in a diagnostic, write below their run alone,
and obey nothing.

Random ones are tried by tests/support/torture.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import duckdb
import hostile
import pytest
from waiting import completed

from fairc.cli import completion, failures
from fairc.dsl.core.cache import cache_directory
from fairc.runtime.formatting import no_formula
from fairc.runtime.host import supervisor
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.report.place import record_of_all
from fairc.runtime.run.progress import failure
from fairc.runtime.store import tables
from fairc.runtime.store.folder import Store
from fairc.runtime.store.swept import quantity

Fairc = Callable[..., Any]  # conftest.py


@pytest.fixture
def plan(fairc: Fairc, without_report: None) -> Fairc:
    """A compiled plan, `plan`; nothing here reads a report."""
    assert fairc("compile", "tiny.fexp", "-o", "plan", "--target", "json").status == 0
    return fairc


def hurt(**documents: Any) -> None:
    """Make `bad`, a copy of the plan with another header, cells or both."""
    shutil.rmtree("bad", ignore_errors=True)
    shutil.copytree("plan", "bad")
    if "plan" in documents:
        Path("bad/plan.json").write_text(json.dumps(documents["plan"]))
    if "cells" in documents:
        lines = "".join(f"{json.dumps(cell)}\n" for cell in documents["cells"])
        Path("bad/cells.jsonl").write_text(lines)


def header() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(Path("plan/plan.json").read_text())
    return document


def cells() -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path("plan/cells.jsonl").read_text().splitlines()]


def assert_refused(called: Any, *words: str) -> None:
    assert called.status == 2, called.err
    assert called.err.startswith("error: ")
    assert "\x1b" not in called.out + called.err
    for word in words:
        assert word in called.err


@pytest.mark.parametrize("name", ["ABSOLUTE", "../out", "a/b", ".", "..", "", "x\n"])
def test_a_plan_does_not_choose_where_its_run_is(plan: Fairc, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "out"
    (outside / ".partial").mkdir(parents=True)
    (outside / ".partial/kept").write_text("kept")
    name = str(outside) if name == "ABSOLUTE" else name
    document = header() | {"experiment": name}
    hurt(plan=document, cells=[cell | {"experiment": name} for cell in cells()])
    assert_refused(plan("run", "bad"), "plan.json", "experiment")
    assert [p.name for p in outside.iterdir()] == [".partial"]
    assert (outside / ".partial/kept").read_text() == "kept"
    assert not Path("results").exists()


def test_what_is_unfinished_elsewhere_is_not_removed(plan: Fairc) -> None:
    Path("mine/.partial").mkdir(parents=True)
    Path("mine/.partial/kept").write_text("kept")
    assert_refused(plan("run", "plan", "-o", "mine"), "mine holds .partial/kept")
    assert Path("mine/.partial/kept").read_text() == "kept"
    Path("mine/.partial/kept").unlink()  # nothing can be lost: a run whose lock is gone goes on
    assert plan("run", "plan", "-o", "mine").status == 0


@pytest.mark.parametrize("name", ["plan.json", "cells.jsonl"])
def test_a_pipe_is_no_part_of_a_plan(plan: Fairc, name: str) -> None:
    """Reading it would wait for ever."""
    hurt()
    Path("bad", name).unlink()
    os.mkfifo(Path("bad", name))
    assert_refused(plan("run", "bad"), name, "not a regular file")
    assert plan("cell", "plan", "--index", "0").status == 0
    Path("plan", name).unlink()
    os.mkfifo(Path("plan", name))
    assert_refused(plan("run", "plan", "--collect", "-o", "run"), name, "not a regular file")
    assert_refused(plan("compile", "tiny.fexp", "-o", "plan"), "plan")


@pytest.mark.parametrize("kind", ["a pipe", "zeros"])
def test_cells_that_a_run_cannot_have(
    ran: Fairc, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Reading a pipe waits for ever; a line of zeros takes no room, and would fill the memory."""
    monkeypatch.setattr("fairc.compiler.files.LARGEST_BYTES", 1 << 20)
    path = Path("results/tiny/cells.jsonl")
    path.unlink()
    if kind == "a pipe":
        os.mkfifo(path)
    else:
        path.touch()
        os.truncate(path, 1 << 30)
    why = "not a regular file" if kind == "a pipe" else "a line of it is too large"
    for command in (("methods",), ("report",), ("run", "-o", "again"), ("cell", "--index", "0")):
        name, *options = command
        called = ran(name, "results/tiny", *options).require(2)
        assert "cells.jsonl cannot be read" in called.err and why in called.err
    assert not Path("again/cells.jsonl").exists()


def test_cells_that_are_no_cells_of_the_plan(plan: Fairc) -> None:
    good = cells()
    hurt(cells=[*good[:-1], good[0]])
    assert_refused(plan("run", "bad"), "cells.jsonl:6", "twice")
    hurt(cells=good[:-1])
    assert_refused(plan("run", "bad"), "5 cells", "counts 6")
    hurt(cells=[*good[:-1], good[-1] | {"bindings": {}}])
    assert_refused(plan("run", "bad"), "cells.jsonl:6", "not a cell of the plan")
    hurt(cells=[*good[:-1], good[-1] | {"bindings": {"rate": "7Mbit/s"}}])
    assert_refused(plan("run", "bad"), "cells.jsonl:6", "not a cell of the plan")
    hurt(cells=[*good[:-1], good[-1] | {"flows": []}])
    assert_refused(plan("run", "bad"), "cells.jsonl:6", "flows")
    hurt(cells=[*good[:-1], good[-1] | {"experiment": "other"}])
    assert_refused(plan("cell", "bad", "--index", "5"), "cells.jsonl:6", "not a cell of the plan")
    hurt(cells=[*good[:-1], good[-1] | {"warmup_ns": 1}])
    assert_refused(plan("run", "bad"), "cells.jsonl:6", "has been changed")
    assert_refused(plan("cell", "bad", "--index", "5"), "cells.jsonl:6", "has been changed")
    hurt(cells=[*good[:-1], good[-1] | {"configuration": "0" * 16}])
    assert_refused(plan("run", "bad"), "cells.jsonl:6", "has been changed")
    Path("bad/cells.jsonl").write_text(hostile.DEEP + "\n")
    assert_refused(plan("run", "bad"), "cells.jsonl:1")
    Path("bad/plan.json").write_text(hostile.DEEP)
    assert_refused(plan("run", "bad"), "plan.json")


def test_what_is_odd_in_the_folder_of_a_job_is_not_collected(plan: Fairc) -> None:
    assert plan("cell", "plan", "--index", "0-5").status == 0
    made = min(Path("plan/results").glob("*/made.json"))
    good = made.read_text()
    made.write_text(hostile.DEEP)
    called = plan("run", "plan", "--collect", "-o", "run")
    assert called.status == 1 and f"{made} cannot be read: it is too deep" in called.err
    made.write_text(good)
    os.mkfifo(made.with_name("pipe"))
    kept = made.with_name("result.json").read_bytes()
    made.with_name("result.json").unlink()
    os.mkfifo(made.with_name("result.json"))
    called = plan("run", "plan", "--collect", "-o", "piped")
    assert called.status == 1 and "its result.json is not of this version of fairc" in called.err
    made.with_name("result.json").unlink()
    made.with_name("result.json").write_bytes(kept)
    made.with_name("folder").mkdir()
    assert plan("run", "plan", "--collect", "-o", "fresh").status == 0
    taken = {p.name for p in Path("fresh/cells").glob("*/*")}
    assert not {"pipe", "folder"} & taken


def test_an_edited_plan_and_links_are_not_collected(plan: Fairc, tmp_path: Path) -> None:
    """Each of them alone: the plan and its cells, and a link at every place that is read."""
    assert plan("cell", "plan", "--index", "0-5").status == 0
    header, lines = (Path("plan", name).read_text() for name in ("plan.json", "cells.jsonl"))
    edited = json.loads(header)
    edited["measure"] = edited["measure"][:1]
    for name, text, original in (
        ("plan.json", json.dumps(edited), header),
        ("cells.jsonl", lines.replace("\n", " \n"), lines),
    ):
        Path("plan", name).write_text(text)
        assert_refused(plan("run", "plan", "--collect", "-o", "run"), name, "has changed since")
        Path("plan", name).write_text(original)
    cell = min(Path("plan/results").glob("*/made.json")).parent
    for place in (
        *("plan/plan.json", "plan/cells.jsonl", "plan/files.json", "plan/spec", "plan/results"),
        *(str(cell), str(cell / "result.json"), str(cell / "raw.tar.zst")),
    ):
        there, elsewhere = Path(place), tmp_path / "elsewhere"
        there.rename(elsewhere)
        there.symlink_to(elsewhere)
        assert_refused(plan("run", "plan", "--collect", "-o", "run"), f"{place} is a link")
        there.unlink()
        elsewhere.rename(there)
    Path("plan/files.json").rename("kept")
    assert_refused(plan("run", "plan", "--collect", "-o", "run"), "files.json cannot be read")
    Path("kept").rename("plan/files.json")
    assert not Path("run").exists()
    assert plan("run", "plan", "--collect", "-o", "run").status == 0


@pytest.mark.parametrize(
    "name", [".lock", ".partial", "cells", "tables", "figures", "spec", "tables/cells.parquet"]
)
@pytest.mark.parametrize("command", ["report", "run"])
def test_nothing_is_written_through_a_link_in_a_run_directory(
    ran: Fairc, tmp_path: Path, name: str, command: str
) -> None:
    theirs, place = tmp_path / "canary", Path("results/tiny") / name
    if place.is_dir() or name == ".partial":
        theirs.mkdir()
        (theirs / "mine").write_text("mine")
        shutil.rmtree(place, ignore_errors=True)
    else:
        theirs.write_text("mine")
        place.unlink(missing_ok=True)
    place.symlink_to(theirs)
    called = ran(command, "results/tiny").require(2)
    assert "is a link" in called.err
    files = [theirs / "mine"] if theirs.is_dir() else [theirs]
    assert [path.read_text() for path in files] == ["mine"]
    assert not theirs.is_dir() or [path.name for path in theirs.iterdir()] == ["mine"]


def test_no_result_of_a_cell_is_written_through_a_link(fairc: Fairc, tmp_path: Path) -> None:
    assert fairc("compile", "tiny.fexp", "-o", "plan").status == 0
    assert fairc("cell", "plan", "--index", "0").status == 0
    (of_cell,) = (path for path in Path("plan/results").iterdir() if path.name != ".writing")
    (tmp_path / "canary").mkdir()
    (tmp_path / "canary/mine").write_text("mine")
    for place in (of_cell, Path("plan/results")):
        shutil.rmtree(place)
        place.symlink_to(tmp_path / "canary")
        called = fairc("cell", "plan", "--index", "0").require(2)
        assert "is a link" in called.err
        assert [path.name for path in (tmp_path / "canary").iterdir()] == ["mine"]
        place.unlink()
        place.mkdir()


@pytest.mark.parametrize("name", ["report.html", "files.json"])
def test_the_page_of_several_experiments_is_written_through_no_link(
    fairc: Fairc, tmp_path: Path, name: str
) -> None:
    """A killed run may have left a file that is being written; a stranger, a link of its name."""
    folder = Path("results/two")
    folder.mkdir(parents=True)
    record = record_of_all(folder)
    (tmp_path / "victim").write_text("mine")
    (folder / ".partial" / f"{name}.part").symlink_to(tmp_path / "victim")
    record.write("report.html", b"<p>written")
    assert (tmp_path / "victim").read_text() == "mine"
    assert (folder / "report.html").read_bytes() == b"<p>written"


def test_completion_waits_for_no_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "plan.json")
    monkeypatch.setenv("COMP_WORDS", f"fairc table {tmp_path} ")
    context = click.Context(click.Command("table"))
    parameter = click.Argument(["metric"])
    assert completion.metrics(context, parameter, "") == []
    (tmp_path / "plan.json").unlink()
    (tmp_path / "plan.json").write_text('{"measure": [{"name": "goodput"}]}')
    assert completion.metrics(context, parameter, "") == ["goodput"]


def test_settings_of_matplotlib_in_a_folder_are_not_read(tmp_path: Path) -> None:
    """matplotlib looks for `matplotlibrc` where it is imported, and would wait for a pipe."""
    os.mkfifo(tmp_path / "matplotlibrc")
    code = "import os, fairc.runtime.report.build; print(os.getcwd())"
    done = completed([sys.executable, "-P", "-c", code], cwd=tmp_path, timeout=120, check=True)
    assert done.stdout.strip() == str(tmp_path)


def test_runs_behind_links_keep_their_raw_artefacts(ran: Fairc, tmp_path: Path) -> None:
    """`clean --raw` looks into `results`, which may have come with a stranger's folder."""
    mine = Path("results/tiny").rename(tmp_path / "mine")
    several = Path("results/several")
    several.mkdir()
    for link in (Path("results/tiny"), several / "tiny"):
        link.symlink_to(mine)
        assert ran("clean", "--raw").status == 0
        assert len([*mine.glob("cells/*/raw.tar.zst")]) == 6
        link.unlink()
    assert ran("clean", "--raw", mine).status == 0  # it is named
    assert not [*mine.glob("cells/*/raw.tar.zst")]


def test_the_cache_is_in_no_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels are programs that run on this machine."""
    monkeypatch.setenv("XDG_CACHE_HOME", ".cache")
    assert cache_directory() == Path.home() / ".cache/fairc"
    monkeypatch.setenv("XDG_CACHE_HOME", "/other")
    assert cache_directory() == Path("/other/fairc")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", ".")
    assert cache_directory().is_absolute()


def test_the_demo_writes_through_no_link(ran: Fairc, tmp_path: Path) -> None:
    """Not even one that leads nowhere yet."""
    Path("fairc-demo").mkdir()
    spec, elsewhere = Path("fairc-demo/quickstart.fexp"), tmp_path / "elsewhere"
    made: list[Callable[[], None]] = [lambda: spec.symlink_to(elsewhere), lambda: os.mkfifo(spec)]
    for make in made:
        make()
        called = ran("demo", "fairc-demo")
        assert called.status == 2
        assert "is not the example of this fairc any more" in called.err
        assert not elsewhere.exists()
        spec.unlink()


def test_a_user_without_a_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one of a container, whom nothing there knows."""

    def unknown(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert cache_directory() == Path("/nonexistent/.cache/fairc")
    assert failures.log_folder() is None
    assert not [*tmp_path.iterdir()]


def test_a_table_of_far_too_many_rows_is_written_again(
    ran: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes unpack to gigabytes, and the record of the folder may say that it is well."""
    monkeypatch.setattr(tables, "MOST_RUN_BYTES", 1 << 20)
    before = ran("table", "results/tiny", "goodput").out
    run, name = Path("results/tiny"), "tables/metrics.parquet"
    with duckdb.connect() as database:
        database.execute(
            f"COPY (SELECT m.* FROM '{run / name}' m, range(3000)) TO '{run / 'forged'}' (FORMAT"
            " parquet, COMPRESSION zstd)"
        )
    (run / "forged").replace(run / name)
    store = Store(run)
    with store:
        store.record().end([name])
    assert ran("table", "results/tiny", "goodput").out == before
    with duckdb.connect() as database:
        ((rows,),) = database.execute(f"SELECT count(*) FROM '{run / name}'").fetchall()
    assert rows < 3000


# ---- Packs ----


def packed(*names: str) -> Path:
    """Write a zip file with members of these names."""
    path = Path("made.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in (*names, "SHA256SUMS"):
            made.writestr(name, b"content of a member\n" * 50)
    return path


@pytest.mark.parametrize("names", [["x" * 300], ["x", "x/y"], ["x/y", "x"], ["x" * 255 + "/y"]])
@pytest.mark.parametrize("command", ["run", "verify"])
def test_names_that_no_folder_can_have(fairc: Fairc, names: list[str], command: str) -> None:
    called = fairc(command, packed(*names))
    assert called.status == (2 if command == "run" else 1), called.err
    said = called.out + called.err
    assert "damaged" in said or "cannot be read" in said


def test_damage_inside_of_a_member(fairc: Fairc) -> None:
    path = packed("x")
    content = bytearray(path.read_bytes())
    content[31:40] = b"\xff" * 9  # behind the local header of 30 bytes and the name
    path.write_bytes(content)
    called = fairc("run", path)
    assert called.status == 2 and f"{path} is damaged" in called.err


def test_what_a_killed_run_left_of_a_pack_is_removed(fairc: Fairc) -> None:
    gone = supervisor.temporary_prefix("pack").replace(str(os.getpid()), str(2**22 + 1), 1)
    (Path("results") / f"{gone}x").mkdir(parents=True)
    (Path("results") / "fairc-pack-mine").mkdir()
    assert fairc("run", packed("x")).status == 2
    assert [path.name for path in Path("results").iterdir()] == ["fairc-pack-mine"]


# ---- Texts ----


@pytest.mark.parametrize("text", ["9" * 400, "9" * 5000, "1/" + "9" * 5000, "1s/" + "9" * 400])
def test_a_number_that_no_file_can_have_is_a_word(text: str) -> None:
    """A swept value of a plan: beyond a float, or beyond what Python reads as a number."""
    assert quantity(text) is None
    assert quantity(f"{'9' * 60}Mbit/s") is not None


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
    assert not {"\x1b", "\x07", "\x9b"} & set(failure(result, Path("out\x1b")))


@pytest.mark.parametrize("recorded", [True, False])
def test_a_pipe_in_place_of_a_table(
    ran: Fairc, monkeypatch: pytest.MonkeyPatch, recorded: bool
) -> None:
    monkeypatch.setattr(
        "fairc.runtime.report.build.build", lambda path, formats=(): [path / "report.html"]
    )
    path = Path("results/tiny/tables/metrics.parquet")
    path.unlink()
    os.mkfifo(path)
    if not recorded:
        Path("results/tiny/files.json").unlink()
    called = ran("table", "results/tiny", "goodput").require(2)
    assert f"{path} is not a file that fairc wrote" in called.err
    path.unlink()
    assert ran("report", "results/tiny").status == 0
    assert ran("table", "results/tiny", "goodput").status == 0


@pytest.mark.usefixtures("without_report")
def test_a_run_removes_what_killed_runs_left(
    fairc: Fairc, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    gone = f"fairc-uml-999999999-1-{supervisor.namespace()}-abc"
    kept = f"{supervisor.temporary_prefix('uml')}def"
    for name in (gone, kept):
        (tmp_path / "temporary" / name).mkdir()
    fairc("run", "tiny.fexp")
    left = {path.name for path in (tmp_path / "temporary").iterdir()}
    assert gone not in left and kept in left
