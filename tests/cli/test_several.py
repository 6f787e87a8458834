"""Files with several experiments: each has a run directory, and one page reports all."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from fairc.runtime.host import cores
from fairc.runtime.report import build, place

Fairc = Callable[..., Any]  # conftest.py

SUITE = """fexp 1
template base {
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  sweep { rate = [1Mbit/s, 2Mbit/s] }
  flow a { cca = cubic  workload = file(100kB) }
  repeat  = 2
  measure = [goodput]
  report { line(goodput, x: rate) }
  claim "no faster than the link" { holds = median(goodput(a)) <= rate }
  deviates = "something"
}
experiment second extends base { title = "The second" }
experiment first extends base { title = "The first"  sweep { n = [1]  m = [3] }  flow a { count = n } }
"""


@pytest.fixture(autouse=True)
def file(fairc: Fairc) -> None:
    Path("suite.fexp").write_text(SUITE, encoding="utf-8")


def ids(page: str) -> list[str]:
    return re.findall(r'\bid="([^"]+)"', page)


@pytest.mark.usefixtures("without_drawing")
def test_all_run_and_are_reported_on_one_page(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = build.build
    monkeypatch.setattr(build, "build", lambda path, _=(): real(path))  # the pages alone
    called = fairc("run", "suite.fexp").require(0)
    assert "report of all: results/suite/report.html" in called.out
    page = Path("results/suite/report.html").read_text(encoding="utf-8")
    assert page.index("The second") < page.index("The first")
    found = ids(page)
    assert len(found) == len(set(found)) and {"first", "second"} <= set(found)
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(found)
    for name in ("first", "second"):
        assert f'href="{name}/report.html"' in page
        own = Path("results/suite", name, "report.html").read_text(encoding="utf-8")
        assert f"fairc run suite.fexp:{name} -o results/suite/{name}" in own
    assert "cells to run" not in fairc("run", "suite.fexp:first").err
    Path("results/suite/report.html").unlink()
    again = fairc("report", "results/suite")
    assert again.status == 0 and "results/suite/report.html" in again.out
    assert Path("results/suite/report.html").read_text(encoding="utf-8") == page


def test_what_is_in_the_way_is_said_before_anything_runs(fairc: Fairc) -> None:
    """A user's file where the page of all, or the report of the second experiment, belongs."""
    for name in ("report.html", "files.json", ".partial", "first/report.html"):
        mine = Path("out", name)
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text("mine")
        refused = fairc("run", "suite.fexp", "-o", "out").require(2)
        assert "move or" in refused.err or "give this run its own" in refused.err, refused.err
        assert "cells to run" not in refused.err and not Path("out/second").exists()
        assert mine.read_text() == "mine"
        mine.unlink()


@pytest.mark.usefixtures("without_report")
def test_one_of_them(fairc: Fairc) -> None:
    assert fairc("run", "suite.fexp:first", "-o", "own").status == 0
    plan = json.loads(Path("own/plan.json").read_text())
    assert (plan["experiment"], plan["experiments"]) == ("first", ["second", "first"])
    assert not Path("results").exists()
    assert "template-run" in fairc("run", "suite.fexp:base").err
    assert "did you mean `first`?" in fairc("plan", "suite.fexp:fist").err
    refused = fairc("run", "own", "--set", "repeat=3")
    assert "fairc run own/spec/suite.fexp:first -o own" in refused.err
    assert "name another folder" in fairc("run", "suite.fexp", "-o", "own").err


def test_plan_compile_and_check(fairc: Fairc) -> None:
    out = fairc("plan", "suite.fexp").out
    assert "2 experiments: 8 cells" in out
    found = json.loads(fairc("plan", "suite.fexp", "--format", "json").out)
    assert [each["experiment"] for each in found["experiments"]] == ["second", "first"]
    assert json.loads(fairc("plan", "suite.fexp:first", "--format", "json").out)["cells"] == 4
    assert fairc("compile", "suite.fexp", "-o", "out", "--target", "json").status == 0
    assert {path.name for path in Path("out").iterdir()} == {"first", "second"}
    checked = fairc("check", "suite.fexp")
    assert checked.status == 0 and checked.err.count("warning[unused-name]") == 1
    assert checked.err.count("warning[few-repetitions]") == 1


@pytest.mark.usefixtures("without_report")
def test_where_runs_the_experiments_that_have_its_names(fairc: Fairc) -> None:
    assert fairc("run", "suite.fexp", "--where", "m == 3").status == 0
    assert {path.name for path in Path("results/suite").iterdir() if path.is_dir()} >= {"first"}
    assert not Path("results/suite/second").exists()
    assert "unknown-name" in fairc("run", "suite.fexp", "--where", "k == 3").err


@pytest.mark.full
@pytest.mark.usefixtures("without_report")
def test_a_compiled_plan_a_collection_and_a_pack_of_one_of_them(fairc: Fairc) -> None:
    """All go where `fairc run FILE` would put the experiment."""
    assert fairc("compile", "suite.fexp:first", "-o", "plan", "--target", "json").status == 0
    assert fairc("cell", "plan", "--index", "0-3").status == 0
    assert fairc("run", "plan", "--collect").status == 0
    assert {path.name for path in Path("results").iterdir()} == {"suite"}
    assert "cells to run" not in fairc("run", "suite.fexp:first").err
    assert "cells to run" not in fairc("run", "plan").err
    assert fairc("pack", "results/suite/first", "-o", "first.zip").status == 0
    Path("results").rename("before")
    fairc("verify", "first.zip").require(0)
    assert fairc("report", "first.zip").status == 0
    assert {path.name for path in Path("results").iterdir()} == {"suite"}
    assert Path("results/suite/first/report.html").is_file()


@pytest.mark.usefixtures("without_report")
def test_cells_of_all_are_numbered_and_collected(fairc: Fairc) -> None:
    """One experiment after the other, in the order of the file."""
    assert fairc("compile", "suite.fexp", "-o", "plans", "--target", "json").status == 0
    called = fairc("cell", "plans", "--index", "0,3-6").require(0)
    assert [line.split()[1] for line in called.out.splitlines()] == ["0", "3", "4", "5", "6"]
    assert "there is no index 8: the plan has 8 cells" in fairc("cell", "plans", "--index", 8).err
    collected = fairc("run", "plans", "--collect").require(1)
    assert "help: fairc cell plans/second --index 1-2" in collected.err
    assert "help: fairc cell plans/first --index 3" in collected.err
    assert fairc("cell", "plans", "--index", "1-2,7").status == 0
    collected = fairc("run", "plans", "--collect").require(0)
    assert "report of all: results/suite/report.html" in collected.out
    assert "cells to run" not in fairc("run", "suite.fexp").err
    refused = fairc("run", "plans", "--collect", "-o", "plans")
    assert (refused.status, "separate directory" in refused.err) == (2, True)


@pytest.mark.usefixtures("without_report")
def test_commands_take_the_folder_and_its_pack(
    fairc: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all experiments of a file: what `table`, `verdict`, `compare`, `pack`, `verify` and
    `clean` say of the folder, and of the pack, which leaves nothing behind where it is only read.
    Whatever builds a report takes its turn.
    """

    def require_slot() -> None:
        assert cores._cores("report-")._free.qsize() == len(os.sched_getaffinity(0)) - 1

    def watched(*arguments: Any, **options: Any) -> list[Path]:
        require_slot()
        return built(*arguments, **options)

    def brief(folder: Path, names: Sequence[str]) -> Path:
        require_slot()
        page = f"<html><body>{[*names]}</body></html>"
        return place.record_of_all(folder).write("report.html", page.encode())

    built = build.build
    monkeypatch.setattr(build, "build", watched)
    monkeypatch.setattr(build, "build_all", brief)
    Path("suite.fexp").write_text(SUITE.replace("repeat  = 2", "repeat  = 1"), encoding="utf-8")
    assert fairc("run", "suite.fexp").status == 0
    table = fairc("table", "results/suite", "goodput", "--format", "json")
    rows = json.loads(table.out)
    assert [row["by"]["experiment"] for row in rows] == ["second"] * 2 + ["first"] * 2
    assert {*rows[0]["by"]} == {"experiment", "rate", "n", "m", "flow"}
    assert rows[0]["by"]["m"] is None
    assert rows[2]["by"]["m"] == "3"
    only = fairc("table", "results/suite", "goodput", "--where", "m == 3", "--format", "csv")
    assert only.out.splitlines()[0].startswith("metric,unit,stat,experiment,rate,by.n,m,flow")
    assert len(only.out.splitlines()) == 3
    assert "experiment second is left out: this condition depends on no swept name" in only.err
    unmet = fairc("table", "results/suite", "goodput", "--where", "rate == foo")
    assert unmet.status == 2 and "help: rate: 1Mbit/s, 2Mbit/s" in unmet.err
    verdict = fairc("verdict", "results/suite")
    assert verdict.status == 0 and verdict.out.count("\nexperiment first\n") == 1

    packed = fairc("pack", "results/suite")
    assert packed.status == 0 and "suite.zip" in packed.out
    before = Path("suite.zip").read_bytes()
    assert fairc("pack", "results/suite").status == 0  # it is fairc's own
    assert Path("suite.zip").read_bytes() == before
    shutil.rmtree("results/suite/second")
    assert fairc("table", "suite.zip", "goodput", "--format", "json").out == table.out
    assert fairc("verdict", "suite.zip").out == verdict.out
    assert not Path("results/suite/second").exists()
    compared = fairc("compare", "results/suite", "suite.zip")
    assert compared.status == 1 and "only in suite.zip: second" in compared.out
    assert "experiment first" in compared.out
    found = json.loads(fairc("verify", "suite.zip", "--sample", "1", "--format", "json").out)
    assert found["holds"] and (found["planned"], found["there"]) == (4, 4)
    assert found["again"]["cells"] == 2
    of = {row["experiment"] for row in found["checks"] if row["what"] == "claims"}
    assert of == {"first", "second"}

    lacking = fairc("pack", "results/suite", "-o", "one.zip")
    assert "warning: second of the file's 2 experiments have not been run" in lacking.err
    checked = fairc("verify", "one.zip", "--sample", "0")
    assert checked.status == 1 and "1 of the file's 2 experiments; missing: second" in checked.out
    assert fairc("verify", "results/suite", "--sample", "0").status == 0
    Path("results/suite/report.html").write_text("mine")
    damaged = fairc("verify", "results/suite", "--sample", "0")
    assert damaged.status == 1 and "fairc report results/suite" in damaged.out
    assert fairc("clean", "--raw").status == 0
    assert not [*Path("results").rglob("raw.tar.zst")]
    assert fairc("cell", "results/suite", "--index", "0").status == 0
    assert fairc("run", "suite.zip", "-o", "again").status == 0
    assert {path.name for path in Path("again").iterdir() if path.is_dir()} >= {"first", "second"}
