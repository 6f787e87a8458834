"""Harm and fair shares: baselines are cells like any other; with the fake engine, whose flows share by
a formula.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fairc.runtime.ranges.cells import endings
from fairc.runtime.store.folder import Store, read_cells

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py

FILE = """fexp 1

experiment harmed {{
  sweep {{
    old = [cubic, reno]
    new = [old, bbr]
  }}
  topology = bottleneck(rate: 2Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow victim {{ cca = old  workload = {load} }}
  {rival}
  duration = 10s
  warmup   = 1s
  {repeat}
  measure  = [{measure}]
  {more}
}}
"""
RIVAL = "flow rival { cca = new  workload = bulk }"
LOAD = "file(400kB)  start = 2s"
CLAIM = (
    'claim "it takes something" { holds = median(harm.goodput(victim)) > 10% }'
    ' claim "bbr takes less than 90 %" { where = old == cubic'
    "  holds = median(harm.goodput(victim), where: new == bbr) < 90% }"
)


def write(
    rival: str = RIVAL,
    measure: str = "harm(victim), goodput, fct",
    repeat: str = "repeat = 3",
    more: str = "",
    load: str = "requests(size: pareto(20kB, 1.5), every: exponential(200ms))",
    name: str = "harmed.fexp",
) -> str:
    text = FILE.format(rival=rival, measure=measure, repeat=repeat, more=more, load=load)
    Path(name).write_text(text)
    return name


def rows(run: str, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for path in Path(run, "tables").glob("*.parquet"):
            connection.execute(f"CREATE VIEW {path.stem} AS FROM '{path}'")
        return connection.execute(query).fetchall()


def values(run: str, metric: str, flow: str = "victim") -> dict[tuple[Any, ...], float]:
    """Return the values of a metric by swept names and repetition."""
    query = (
        "SELECT cells.old, cells.new, repetition, value FROM metrics JOIN cells USING (cell)"
        f" WHERE metric = '{metric}' AND flow = '{flow}'"
    )
    return {(old, new, n): value for old, new, n, value in rows(run, query)}


def test_harm_is_what_two_runs_by_hand_give(fairc: Fairc) -> None:
    """A file without the rival, run by itself, has the values of the baselines to the last bit."""
    assert fairc("run", write(load=LOAD), "-o", "both").status == 0
    write(rival="", measure="goodput, fct", load=LOAD)
    text = Path("harmed.fexp").read_text().replace("new = [old, bbr]", "new = [old]")
    Path("alone.fexp").write_text(text)
    assert fairc("run", "alone.fexp", "-o", "alone").status == 0
    for metric, harm, more in (("goodput", "goodput", True), ("fct.mean", "fct", False)):
        solo = {(old, n): value for (old, _, n), value in values("alone", metric).items()}
        beside, found = values("both", metric), values("both", f"harm.{harm}")
        assert len(found) == 2 * 2 * 3
        for place, value in found.items():
            a, b = solo[place[0], place[2]], beside[place]
            assert value == pytest.approx((a - b) / a if more else (b - a) / b, abs=1e-12)
    assert min(values("both", "harm.fct").values()) > 0


def test_baselines_are_shared_stored_and_no_rows(fairc: Fairc) -> None:
    told = fairc("plan", write())
    assert "cells             18" in told.out
    assert "baselines         6 cells of these, of 2 configurations without other flows" in told.out
    document = json.loads(fairc("plan", "harmed.fexp", "--format", "json").out)
    assert document["baselines"]["configurations"] == 2 and document["cells"] == 18
    called = fairc("run", "harmed.fexp", "-o", "run")
    assert "18 cells: 18 valid" in called.out
    assert rows("run", "SELECT count(*) FROM cells") == [(12,)]
    assert rows("run", "SELECT count(DISTINCT baseline) FROM baselines") == [(6,)]
    query = "SELECT DISTINCT flows, flow, verdict, reason FROM baselines WHERE value IS NOT NULL"
    assert rows("run", query) == [("victim", "victim", "valid", "")]
    assert "18 of the plan's 18 cells" in fairc("verify", "run").out


@pytest.mark.full
def test_what_is_missing_is_run_again_and_only_that(fairc: Fairc) -> None:
    fairc("run", write(), "-o", "run")
    store = Store(Path("run"))
    cell, folder = next((cell, folder) for cell, folder in store.ran() if cell.baseline)
    shutil.rmtree(folder)
    assert "1 cells have no result" in fairc("verify", "run").out
    table = fairc("report", "run").status, fairc("table", "run", "harm")
    assert table[0] == 0
    query = "SELECT count(*) FROM metrics WHERE metric = 'harm.goodput' AND value IS NULL AND reason = 'alone: its baseline has not been run'"
    assert rows("run", query) == [(2,)]
    assert "1 cell to run" in fairc("run", "harmed.fexp", "-o", "run").err
    assert rows("run", query) == [(0,)]
    assert cell.repetition == 1


def test_a_condition_runs_the_baselines_that_it_needs(fairc: Fairc) -> None:
    write()
    told = fairc("run", "harmed.fexp", "-o", "run", "--where", "old == cubic and new == bbr")
    assert "6 cells: 6 valid" in told.out
    assert rows("run", "SELECT DISTINCT old, new FROM cells") == [("cubic", "bbr")]
    assert None not in values("run", "harm.goodput").values()


@pytest.mark.full
def test_claims_ranges_and_clusters(fairc: Fairc) -> None:
    """Claims about harm end a range, by the baselines of its rounds; a cluster gives the same."""
    write(repeat="repeat = 8..16\n  precision { claims = decided  harm.goodput = 0.9 }", more=CLAIM)
    called = fairc("run", "harmed.fexp", "-o", "run").require(0)
    (ending,) = endings(Store(Path("run")))
    assert ending.why == "reached" and ending.repetitions < 16
    total = (4 + 2) * ending.repetitions
    assert f"{total} cells: {total} valid" in called.out
    claims = json.loads(fairc("verdict", "run", "--format", "json").out)["claims"]
    assert [claim["verdict"] for claim in claims] == ["holds", "holds"]
    fairc("compile", "harmed.fexp", "-o", "plan", "--target", "json")
    there = [
        n
        for n, cell in enumerate(read_cells(Path("plan")))
        if cell.repetition <= ending.repetitions
    ]
    fairc("cell", "plan", "--index", f"{there[0]}-{there[-1]}")
    collected = fairc("run", "plan", "--collect", "-o", "collected").require(0)
    assert f"{total} cells: {total} valid" in collected.out
    for name in ("metrics", "baselines"):
        one, other = (Path(run, "tables", f"{name}.parquet") for run in ("run", "collected"))
        assert one.read_bytes() == other.read_bytes()


@pytest.mark.full
def test_a_pack_is_rebuilt_with_its_baselines(fairc: Fairc) -> None:
    fairc("run", write(more=CLAIM), "-o", "run")
    assert fairc("pack", "run").status == 0
    (pack,) = Path().glob("*.zip")
    checked = fairc("verify", pack).require(0)
    assert "18 cells" in checked.out


@pytest.mark.full
def test_the_phase_check_has_baselines_of_its_own(fairc: Fairc) -> None:
    fairc("run", write(), "-o", "run", "--phase-check").require(0)
    assert rows("run/phase-check", "SELECT count(*) FROM cells") == [(12,)]
    query = "SELECT count(*) FROM metrics WHERE metric = 'harm.goodput' AND value IS NOT NULL"
    assert rows("run/phase-check", query) == [(12,)]


def test_who_has_no_rival_has_no_harm(fairc: Fairc) -> None:
    """0 by definition, without a baseline, where a rival is absent; nothing of absent victims."""
    rival = "flow rival when new == bbr { cca = bbr  workload = bulk }"
    fairc("run", write(rival=rival, measure="harm, goodput", repeat="repeat = 1"), "-o", "run")
    found = values("run", "harm.goodput")
    assert found["cubic", "cubic", 1] == 0 and found["cubic", "bbr", 1] > 0
    assert ("cubic", "cubic", 1) not in values("run", "harm.goodput", "rival")
    baselines = [cell for cell in read_cells(Path("run")) if cell.baseline]
    alone = sorted(tuple(flow.name for flow in cell.flows) for cell in baselines)
    assert alone == [("rival",), ("victim",), ("victim",)]  # the rival's is the same for any `old`


@pytest.mark.full
def test_fair_shares_beside_pages(fairc: Fairc) -> None:
    """What a page load gets alone, half a link at least, bounds nobody: fair is an equal share."""
    load = "load(page(html: 400kB, objects: 10 of 200kB), client: plain, loads: 5, idle: 0s)"
    own = "metric own = share.fair(rival)"
    told = fairc("plan", write(load=load, measure="own, throughput", repeat="repeat = 1", more=own))
    assert "2 cells of these, of 2 configurations without other flows" in told.out
    called = fairc("run", "harmed.fexp", "-o", "run")
    assert "0 invalid, 0 failed" in called.out
    query = "SELECT DISTINCT flows, metric, value > 1e6 FROM baselines"
    assert rows("run", query) == [("victim", "throughput", True)]
    rates, shares = values("run", "throughput", "rival"), values("run", "own", "rival")
    assert len(shares) == 4
    assert shares == {place: pytest.approx(rate / 1e6) for place, rate in rates.items()}
    assert fairc("table", "run", "own").status == 0
    assert fairc("pack", "run").status == 0
    (pack,) = Path().glob("*.zip")
    assert fairc("verify", pack).status == 0
