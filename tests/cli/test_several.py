"""Files with several experiments: each has a run directory, and one page reports all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

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


def test_all_run_and_are_reported_on_one_page(fairc: Fairc) -> None:
    called = fairc("run", "suite.fexp")
    assert called.status == 0
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
    called = fairc("verify", "first.zip")
    assert called.status == 0, called.err
    assert fairc("report", "first.zip").status == 0
    assert {path.name for path in Path("results").iterdir()} == {"suite"}
    assert Path("results/suite/first/report.html").is_file()
