"""A folder from a stranger: `fairc run` ends in a diagnostic, writes below its run alone, and obeys
nothing.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hostile
import pytest

Fairc = Callable[..., Any]  # conftest.py
SEED = 15
PLANS, LOCKS = 60, 40


@pytest.fixture
def plan(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> Fairc:
    """A compiled plan, `plan`; nothing here reads a report, and writing one takes long."""

    def build(path: Path, formats: object = ()) -> list[Path]:
        return [path / "report.html"]

    monkeypatch.setattr("fairc.runtime.report.build.build", build)
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


def listed(folder: Path) -> set[str]:
    """Return everything below a folder but what runs are for."""
    own = ("bad", "results", "run", "piped", "state")
    return {p.name for p in folder.iterdir() if p.name not in own}


def assert_refused(called: Any, *words: str) -> None:
    assert called.status == 2, called.err
    assert called.err.startswith("error: ")
    assert "\x1b" not in called.out + called.err
    for word in words:
        assert word in called.err


def test_no_header_ends_in_an_internal_error(plan: Fairc, tmp_path: Path) -> None:
    document, rng, before = header(), random.Random(SEED), listed(tmp_path)
    found = list(hostile.mutants(document, rng, 1))
    taken = 0
    for what, mutant in rng.sample(found, PLANS):
        try:
            hurt(plan=mutant)
        except ValueError:  # json cannot write such a number
            continue
        called = plan("run", "bad", "-q")
        assert called.status in (0, 1, 2), f"{what}: {called.err}"
        assert "\x1b" not in called.out + called.err, what
        assert listed(tmp_path) == before, what
        assert {p.name for p in Path("results").glob("*")} <= {"tiny", *mutant_name(mutant)}, what
        taken += called.status != 2
    assert 0 < taken < PLANS / 2


def mutant_name(document: Any) -> set[str]:
    """Return the name that a header gives its run, if it has one that may be."""
    name = document.get("experiment") if isinstance(document, dict) else None
    return {name} if isinstance(name, str) and name.isidentifier() else set()


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


def test_no_lock_ends_in_an_internal_error(plan: Fairc) -> None:
    assert plan("run", "plan", "-o", "run").status == 0
    path = Path("run/lock.json")
    good, rng = json.loads(path.read_text()), random.Random(SEED)
    for what, mutant in rng.sample([*hostile.mutants(good, rng, 2)], LOCKS):
        try:
            path.write_text(json.dumps(mutant))
        except ValueError:
            continue
        called = plan("table", "run", "goodput")
        assert called.status in (0, 1, 2), f"{what}: {called.err}"
        assert "\x1b" not in called.out + called.err, what
    path.write_text(hostile.DEEP)
    for command in (("table", "run", "goodput"), ("report", "run"), ("compare", "run", "run")):
        assert_refused(plan(*command), "lock.json")


def test_no_folder_of_a_job_ends_in_an_internal_error(plan: Fairc, tmp_path: Path) -> None:
    assert plan("cell", "plan", "--index", "0-5").status == 0
    made = min(Path("plan/results").glob("*/made.json"))
    good, rng = json.loads(made.read_text()), random.Random(SEED)
    before = listed(tmp_path)
    for what, mutant in rng.sample([*hostile.mutants(good, rng, 1)], LOCKS // 2):
        try:
            made.write_text(json.dumps(mutant))
        except ValueError:
            continue
        called = plan("run", "plan", "--collect", "-o", "run")
        assert called.status in (0, 1, 2), f"{what}: {called.err}"
        assert "\x1b" not in called.out + called.err, what
        assert listed(tmp_path) == before, what
    made.write_text(hostile.DEEP)
    assert plan("run", "plan", "--collect", "-o", "run").status == 1
    made.write_text(json.dumps(good))
    os.mkfifo(made.with_name("pipe"))
    kept = made.with_name("result.json").read_bytes()
    made.with_name("result.json").unlink()
    os.mkfifo(made.with_name("result.json"))
    assert plan("run", "plan", "--collect", "-o", "piped").status == 1
    made.with_name("result.json").unlink()
    made.with_name("result.json").write_bytes(kept)
    made.with_name("link").symlink_to("/etc/hostname")
    made.with_name("folder").mkdir()
    assert plan("run", "plan", "--collect", "-o", "fresh").status == 0
    taken = {p.name for p in Path("fresh/cells").glob("*/*")}
    assert not {"pipe", "link", "folder"} & taken


@pytest.mark.parametrize(
    "name", [".lock", ".partial", "cells", "tables", "figures", "spec", "tables/cells.parquet"]
)
@pytest.mark.parametrize("command", ["report", "run"])
def test_nothing_is_written_through_a_link_in_a_run_directory(
    fairc: Fairc, tmp_path: Path, name: str, command: str
) -> None:
    assert fairc("run", "tiny.fexp").status == 0
    theirs, place = tmp_path / "canary", Path("results/tiny") / name
    if place.is_dir() or name == ".partial":
        theirs.mkdir()
        (theirs / "mine").write_text("mine")
        shutil.rmtree(place, ignore_errors=True)
    else:
        theirs.write_text("mine")
        place.unlink(missing_ok=True)
    place.symlink_to(theirs)
    called = fairc(command, "results/tiny")
    assert called.status == 2
    assert "is a link" in called.err
    files = [theirs / "mine"] if theirs.is_dir() else [theirs]
    assert [path.read_text() for path in files] == ["mine"]
    assert not theirs.is_dir() or [path.name for path in theirs.iterdir()] == ["mine"]


def test_no_result_of_a_cell_is_written_through_a_link(fairc: Fairc, tmp_path: Path) -> None:
    assert fairc("compile", "tiny.fexp", "-o", "plan").status == 0
    (tmp_path / "canary").mkdir()
    Path("plan/results").symlink_to(tmp_path / "canary")
    called = fairc("cell", "plan", "--index", "0")
    assert called.status == 2
    assert "is a link" in called.err
    assert not list((tmp_path / "canary").iterdir())
