"""What is stored is compared with its hashes: `verify` says it, `run` repairs it, `compare` refuses
it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from representatives import few

Fairc = Callable[..., Any]  # conftest.py
RUN = Path("results/tiny")


@pytest.fixture
def made(ran: Fairc) -> Fairc:
    """A finished run; its report is a page and two figures of a few bytes."""
    return ran


def cell() -> Path:
    return min(RUN.glob("cells/*"))


def contents() -> dict[str, bytes]:
    found = (path for path in RUN.rglob("*") if path.is_file() and path.name != ".lock")
    return {path.relative_to(RUN).as_posix(): path.read_bytes() for path in found}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


def damage_end(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def kind_of(name: str) -> str:
    """Return what the files of all cells of that name have in common, and all tables."""
    folder, _, rest = name.partition("/")
    return {"cells": f"cells/{Path(rest).name}", "tables": "tables"}.get(folder, name)


def cut(path: Path) -> None:
    os.truncate(path, 50)


def earlier(folder: Path) -> None:
    """Have a damaged series, and no hashes."""
    (folder / "files.json").unlink()
    cut(folder / "slots.parquet")


def edit(path: Path) -> None:
    """Change a number, so that the file is as good as before but for its hash."""
    text = path.read_text()
    path.write_text(text.replace('"virtual_s": ', '"virtual_s": 1', 1))
    assert path.read_text() != text


def test_a_run_is_whole(made: Fairc) -> None:
    called = made("verify", RUN).require(0)
    assert called.out.startswith(f"{RUN} is whole: 6 of the plan's 6 cells; ")
    document = json.loads(made("verify", RUN, "--format", "json").out)
    assert (document["whole"], document["cells"], document["damaged"]) == (True, 6, [])
    before = contents()
    kinds = {kind_of(name): name for name in before}
    for name in kinds.values():
        damage_end(RUN / name)
        assert made("verify", RUN).status == 1, name
        (RUN / name).write_bytes(before[name])
    others = {
        name for name in before if name not in kinds.values() and not name.endswith("files.json")
    }
    for name in others:
        damage_end(RUN / name)
    document = json.loads(made("verify", RUN, "--format", "json").out)
    assert {damaged["file"] for damaged in document["damaged"]} == others
    for name in others:
        (RUN / name).write_bytes(before[name])
    assert made("verify", RUN).status == 0


@pytest.mark.parametrize("text", few(["", "{", "[]", "[" * 10**5, '{"claimed": [1]}'], "{"))
def test_a_damaged_lock_is_not_replaced_silently(made: Fairc, text: str) -> None:
    """It knows when metrics were declared, and nothing else does."""
    (RUN / "lock.json").write_text(text)
    called = made("verify", RUN).require(1)
    assert f"rm {RUN}/lock.json; fairc run FILE -o {RUN}" in called.out
    assert made("run", "tiny.fexp", "-o", RUN).status == 2
    (RUN / "lock.json").unlink()
    assert made("run", "tiny.fexp", "-o", RUN).status == 0
    assert made("verify", RUN).status == 0


def test_a_run_in_a_folder_that_is_called_as_one_of_its_files(made: Fairc) -> None:
    run = RUN.rename(RUN.with_name("lock.json"))
    (run / "plan.json").write_text("{")
    called = made("verify", run)
    assert called.status == 1 and "plan.json" in called.out
    assert "rm " not in called.out  # the lock is whole, and nothing else knows what it does


def test_a_damaged_file_of_the_current_folder_is_named(
    made: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    (RUN / "lock.json").write_text("{")
    monkeypatch.chdir(RUN)
    called = made("verify", ".")
    assert called.status == 1 and "rm lock.json;" in called.out


@pytest.mark.parametrize("name", few(["result.json", "slots.parquet"], "result.json"))
def test_what_cannot_be_read_of_an_earlier_version_is_named_and_mended(
    made: Fairc, name: str
) -> None:
    (cell() / "files.json").unlink()
    (cell() / name).write_text("{")
    called = made("verify", RUN)
    assert called.status == 1 and f"{cell().relative_to(RUN)}/files.json" in called.out
    assert made("run", "tiny.fexp").status == 0
    assert made("verify", RUN).status == 0


DERIVED: dict[str, Callable[[Path], object]] = {
    "half of the series": lambda cell: cut(cell / "slots.parquet"),
    "a bit of the series": lambda cell: flip(cell / "slots.parquet"),
    "no series": lambda cell: (cell / "slots.parquet").unlink(),
    "an edited result": lambda cell: edit(cell / "result.json"),
    "no result": lambda cell: (cell / "result.json").unlink(),
    "rubbish for a result": lambda cell: (cell / "result.json").write_text("{"),
    "rubbish for hashes": lambda cell: (cell / "files.json").write_text("[" * 10**5),
    "a series of an earlier version": earlier,
}
BATCHES = [tuple(DERIVED)[:5], tuple(DERIVED)[5:]]
"""Each damages a cell of its own."""


@pytest.mark.parametrize(
    ("command", "what"),
    few(
        [*product(["run", "report", "table"], BATCHES)],
        *product(["run"], BATCHES),
        ("report", BATCHES[0]),
        ("table", BATCHES[1]),
    ),
)
def test_what_is_derived_is_derived_again_from_raw_artefacts(
    made: Fairc, monkeypatch: pytest.MonkeyPatch, command: str, what: tuple[str, ...]
) -> None:
    before = contents()
    cells = sorted(RUN.glob("cells/*"))
    for place, name in zip(cells, what, strict=False):
        DERIVED[name](place)
    found = json.loads(made("verify", RUN, "--format", "json").out)["damaged"]
    named = {Path(one["file"]).parts[1] for one in found if one["file"].startswith("cells/")}
    assert named == {place.name for place in cells[: len(what)]}
    monkeypatch.setenv("FAIRC_FAKE", "fail:6")  # nothing may be run again
    monkeypatch.setattr("fairc_fake.engine.FakeEngine.run", None)
    if command == "table":
        os.utime(RUN / "cells")  # the tables are older now
    arguments = {
        "run": ("run", "tiny.fexp"),
        "report": ("report", RUN),
        "table": ("table", RUN, "goodput"),
    }
    made(*arguments[command]).require(0)
    after = contents()
    assert {
        name for name in before if name.startswith("cells/") and after[name] != before[name]
    } == set()
    assert made("verify", RUN).status == 0


@pytest.mark.parametrize("hurt", [flip, cut])
def test_damaged_raw_artefacts_are_found_and_run_again(
    made: Fairc, hurt: Callable[[Path], None]
) -> None:
    before = contents()
    raw = cell() / "raw.tar.zst"
    hurt(raw)
    document = json.loads(made("verify", RUN, "--format", "json").out)
    (damaged,) = document["damaged"]
    assert damaged["file"] == raw.relative_to(RUN).as_posix()
    for command in (("compare", RUN, RUN), ("compare", RUN, RUN, "--margin", "5%")):
        called = made(*command)
        assert called.status == 2 and "is damaged" in called.err and "fairc verify" in called.err
    remove, run = damaged["repair"].split("; ")
    shutil.rmtree(remove.removeprefix("rm -r "))
    assert made(*run.split()[1:]).status == 0
    assert contents()["cells/" + raw.parent.name + "/raw.tar.zst"] == before[damaged["file"]]
    assert made("verify", RUN).status == 0


def test_a_run_counts_no_cell_whose_raw_artefacts_are_cut_off(made: Fairc) -> None:
    before = (cell() / "raw.tar.zst").read_bytes()
    cut(cell() / "raw.tar.zst")
    called = made("run", "tiny.fexp")
    assert called.status == 0 and "1 cell to run; 5 already done" in called.err
    assert (cell() / "raw.tar.zst").read_bytes() == before


def test_damaged_tables_are_written_anew(made: Fairc) -> None:
    before = made("table", RUN, "goodput").out
    flip(RUN / "tables/metrics.parquet")
    assert "fairc report" in made("verify", RUN).out
    assert made("table", RUN, "goodput").out == before
    assert made("verify", RUN).status == 0


def test_an_edited_plan_is_found(made: Fairc) -> None:
    path = RUN / "plan.json"
    path.write_text(path.read_text().replace("  ", " ", 1))
    called = made("verify", RUN)
    assert called.status == 1 and "plan.json" in called.out and "fairc run FILE" in called.out
    assert made("run", "tiny.fexp").status == 0
    assert made("verify", RUN).status == 0


def test_what_was_removed_on_purpose_is_no_damage(made: Fairc) -> None:
    assert made("clean", "--raw", RUN).status == 0
    called = made("verify", RUN)
    assert called.status == 0 and "6 cells kept no raw artefacts" in called.out
    (cell() / "slots.parquet").unlink()
    called = made("run", "tiny.fexp")  # nothing is there to derive it from
    assert called.status == 0 and "1 cell to run" in called.err


@pytest.mark.parametrize(
    "which", few(["files.json", "cells/*/files.json", "**/files.json"], "**/files.json")
)
def test_a_missing_record_is_damage_that_its_repair_mends(made: Fairc, which: str) -> None:
    """A run of an earlier version has none; its results are derived from raw artefacts again."""
    before = contents()
    for path in RUN.glob(which):
        path.unlink()
    document = json.loads(made("verify", RUN, "--format", "json").out)
    assert {damaged["why"].partition(":")[0] for damaged in document["damaged"]} == {"missing"}
    for repair in dict.fromkeys(damaged["repair"] for damaged in document["damaged"]):
        for command in map(shlex.split, repair.split(";")):
            if command[0] == "fairc":
                assert made(*command[1:]).status == 0
            else:
                subprocess.run(command, check=True)
    assert made("verify", RUN).status == 0
    after = contents()
    if which != "cells/*/files.json":
        assert after["earlier/report.html"] == before["report.html"]
    cells = {name for name in before if name.startswith("cells/")}
    assert {name for name in cells if after[name] != before[name]} == set()


def test_what_is_no_run(made: Fairc) -> None:
    assert made("compile", "tiny.fexp", "--target", "json", "-o", "plan").status == 0
    for name in (".", "plan"):
        called = made("verify", name)
        assert called.status == 2 and "is not a run directory" in called.err
