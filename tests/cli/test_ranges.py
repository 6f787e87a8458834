"""A range of repetitions that ends when values are precise enough, with the fake engine."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest

from fairc.runtime.pack.readme import readme
from fairc.runtime.ranges.cells import endings
from fairc.runtime.run import phase
from fairc.runtime.statistics.sequential import at_interim, imprecision
from fairc.runtime.store.folder import Store, StoreError, read_plan

pytestmark = pytest.mark.usefixtures("without_report")

Fairc = Callable[..., Any]  # conftest.py

RANGES = """fexp 1

experiment ranges {
  sweep { rate = [1Mbit/s, 2Mbit/s] }
  topology = bottleneck(rate: rate, rtt: 50ms, queue: fifo(2bdp))
  flow a { cca = cubic  workload = file(100kB) }
  flow b { cca = bbr    workload = file(100kB) }
  repeat = 8..20
  precision per (rate) { goodput = 16% }
  measure = [fairness, goodput]
}
"""
ENDS = {"1Mbit/s": 12, "2Mbit/s": 8}
"""Where the ranges end with what the fake engine invents; `test_it_ends...` looks at the values
themselves.
"""


@pytest.fixture
def ran(fairc: Fairc, kept: Path) -> Fairc:
    """A run of `ranges.fexp` in the folder `one`."""
    Path("ranges.fexp").write_text(RANGES)
    if kept.exists():
        shutil.copytree(kept, "one")
    else:
        assert fairc("run", "ranges.fexp", "-o", "one").status == 0
        shutil.copytree("one", kept)
    return fairc


def cells(run: str) -> dict[str, list[int]]:
    """Return the repetitions in the tables of a run, by rate."""
    with duckdb.connect() as connection:
        query = (
            f"SELECT rate, list(repetition ORDER BY repetition) FROM '{run}/tables/cells.parquet'"
        )
        return dict(connection.execute(f"{query} GROUP BY rate ORDER BY rate").fetchall())


def numbers(run: str) -> list[Any]:
    """Return everything that a run has measured."""
    with duckdb.connect() as connection:
        query = f"SELECT * FROM '{run}/tables/metrics.parquet' ORDER BY ALL"
        return connection.execute(query).fetchall()


def goodputs(run: str, rate: str) -> list[list[float]]:
    """Return the goodput of both flows, in order of repetition."""
    with duckdb.connect() as connection:
        query = (
            f"SELECT list(value ORDER BY repetition) FROM '{run}/tables/metrics.parquet'"
            f" JOIN (SELECT cell, repetition FROM '{run}/tables/cells.parquet') USING (cell)"
            f" WHERE metric = 'goodput' AND rate = '{rate}' GROUP BY flow ORDER BY flow"
        )
        return [values for (values,) in connection.execute(query).fetchall()]


def precise(values: list[float]) -> bool:
    """Whether the goal is reached, by hand."""
    found = at_interim(values)
    half = imprecision(found)
    assert half is not None and found.value
    return half / found.value <= 0.16


def test_it_ends_at_the_first_look_that_finds_every_value_precise_enough(ran: Fairc) -> None:
    assert cells("one") == {rate: list(range(1, end + 1)) for rate, end in ENDS.items()}
    assert len(list(Path("one/cells").iterdir())) == sum(ENDS.values())
    for rate, end in ENDS.items():
        for look in (n for n in (8, 12) if n <= end):
            found = [precise(values[:look]) for values in goodputs("one", rate)]
            assert all(found) == (look == end)
    assert [(e.values, e.repetitions, e.why) for e in endings(Store(Path("one")))] == [
        (("1Mbit/s",), 12, "reached"),
        (("2Mbit/s",), 8, "reached"),
    ]


def test_its_intervals_are_those_of_the_looks(ran: Fairc) -> None:
    rows = json.loads(ran("table", "one", "goodput", "--format", "json").out)
    for row in rows:
        values = goodputs("one", row["by"]["rate"])["ab".index(row["by"]["flow"])]
        found = at_interim(values)
        assert (row["n"], row["ci_low"], row["ci_high"]) == (len(values), found.low, found.high)
    (first, *_) = json.loads(
        ran("table", "one", "goodput", "--stat", "mean", "--format", "json").out
    )
    assert first["ci_low"] is None and "the values decide" in first["no_interval"]


@pytest.mark.full
def test_a_pack_expects_the_intervals_of_the_looks(ran: Fairc) -> None:
    text = readme(Store(Path("one")), raw=True, image=False).decode()
    expected = text.partition("| metric | rate |")[2]
    for rate in ENDS:
        for flow, values in zip("ab", goodputs("one", rate), strict=True):
            found = at_interim(values)
            assert found.low is not None and found.high is not None
            (row,) = (
                line for line in expected.splitlines() if f"| goodput | {rate} | {flow} |" in line
            )
            low, high = map(float, row.split("|")[5].split(" to "))
            unit = 1e3 if "kbit/s" in row else 1e6
            assert [low * unit, high * unit] == pytest.approx([found.low, found.high], rel=1e-3)


@pytest.mark.full
def test_the_phase_check_is_compared_with_the_intervals_of_the_looks(ran: Fairc) -> None:
    assert ran("run", "ranges.fexp", "-o", "one", "--phase-check").status == 0
    found = phase.findings(Path("one"))
    assert found is not None
    of_goodput = [result for result in found.results if result.metric == "goodput"]
    assert len(of_goodput) == 2 * len(ENDS)
    for result in of_goodput:
        rate, flow = result.by["rate"], result.by["flow"]
        look = at_interim(goodputs("one", str(rate))["ab".index(str(flow))])
        assert (result.before.low, result.before.high) == (look.low, look.high)


def test_a_run_that_lost_cells_ends_where_it_ended(ran: Fairc) -> None:
    before = numbers("one")
    for path in sorted(Path("one/cells").iterdir())[::2]:
        shutil.rmtree(path)
    ran("run", "ranges.fexp", "-o", "one").require(0)
    assert numbers("one") == before
    assert len(list(Path("one/cells").iterdir())) == sum(ENDS.values())


def test_nothing_runs_twice_when_the_range_changes(ran: Fairc) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in Path("one/cells").iterdir()}
    assert ran("run", "ranges.fexp", "-o", "one", "--set", "repeat=8..12").status == 0
    assert ran("run", "ranges.fexp", "-o", "one", "--set", "repeat=12").status == 0
    now = {path.name: path.stat().st_mtime_ns for path in Path("one/cells").iterdir()}
    assert now.items() > before.items()
    assert len(now) == 24


@pytest.mark.full
def test_what_was_run_beyond_the_end_does_not_count(ran: Fairc) -> None:
    expected = numbers("one")
    called = ran("run", "ranges.fexp", "-o", "one", "--set", "repeat=12")
    assert "precision-ignored" in called.err
    assert cells("one") == {key: list(range(1, 13)) for key in ENDS}
    called = ran("run", "ranges.fexp", "-o", "one")
    assert called.status == 0 and "to run" not in called.err
    assert "20 cells: 20 valid" in called.out
    assert numbers("one") == expected


def test_configurations_that_are_compared_end_together(ran: Fairc) -> None:
    text = RANGES.replace("precision per (rate)", "precision").replace("8..20", "8..12")
    Path("ranges.fexp").write_text(text)
    called = ran("run", "ranges.fexp", "-o", "one").require(0)
    assert cells("one") == {key: list(range(1, 13)) for key in ENDS}
    assert "after 8 repetitions: none of 2 configurations are precise enough" in called.err
    assert "after 12 repetitions: 2 of 2 configurations are precise enough" in called.err


def test_a_range_that_is_used_up_says_what_is_missing(ran: Fairc) -> None:
    Path("ranges.fexp").write_text(RANGES.replace("16%", "15%").replace("8..20", "8..12"))
    assert ran("run", "ranges.fexp", "-o", "one").status == 0
    one, two = endings(Store(Path("one")))
    assert (one.repetitions, one.why, two.repetitions, two.why) == (12, "used up", 8, "reached")
    (missed,) = one.result.imprecise
    assert (missed.goal.metric, missed.flow) == ("goodput", "a")
    assert missed.imprecision is not None and 0.15 < missed.imprecision < 0.16


def test_a_cell_that_failed_gives_no_value(fairc: Fairc, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("ranges.fexp").write_text(RANGES.replace("8..20", "8..8"))
    monkeypatch.setenv("FAIRC_FAKE", "fail:3")
    called = fairc("run", "ranges.fexp", "-o", "one").require(1)
    assert "16 cells: 14 valid, 0 flagged, 0 invalid, 2 failed" in called.out
    assert "fewer than 8 values" in called.out
    assert {ending.why for ending in endings(Store(Path("one")))} == {"used up"}


@pytest.mark.full
def test_the_cells_of_a_cluster_end_where_the_run_ends(
    ran: Fairc, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    ran("compile", "ranges.fexp", "-o", "plan", "--target", "json")
    assert ran("cell", "plan", "--index", "0-15").status == 0
    called = ran("run", "plan", "--collect", "-o", "two")
    # One rate has ended after 8 repetitions; the other one needs its next four.
    assert called.status == 1
    assert "missing: 4 of 40: 16,18,20,22" in called.err
    assert ran("cell", "plan", "--index", "16-23").status == 0
    called = ran("run", "plan", "--collect", "-o", "two").require(0)
    assert "20 cells: 20 valid" in called.out
    assert numbers("two") == numbers("one")


def test_a_plan_has_the_span_of_its_cost(ran: Fairc) -> None:
    found = json.loads(ran("plan", "ranges.fexp", "--format", "json", "--jobs", "1").out)
    assert (found["cells"], found["least"]["cells"], found["looks"]) == (40, 16, [8, 12, 20])
    for key in ("virtual_s", "wall_s"):
        assert found[key] == pytest.approx(20 / 8 * found["least"][key], rel=0.01)
    out = ran("plan", "ranges.fexp").out
    assert "repetitions       8 to 20\ncells             16 to 40\n" in out


@pytest.mark.full
def test_the_phases_of_what_was_run_are_checked(ran: Fairc) -> None:
    called = ran("run", "ranges.fexp", "-o", "one", "--phase-check").require(0)
    assert (
        "rerunning 18 cells of 2" in called.err
    )  # of each rate 10 repetitions, or those that it took


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"least": 21}, "above the most"),
        ({"per": ["rtt"]}, "not an axis"),
        ({"goals": [{"metric": "utilization", "within": 0.1, "relative": True}]}, "not measured"),
        ({"goals": [{"metric": "goodput", "within": 0.1, "relative": True}] * 2}, "two precisions"),
        ({"goals": [{"metric": "goodput", "within": 0.0, "relative": True}]}, "greater than 0"),
        ({"goals": []}, "nothing ends its repetitions"),
        ({"claims": True}, "it has none"),
    ],
)
def test_a_plan_that_contradicts_itself_is_refused(
    ran: Fairc, change: dict[str, Any], words: str
) -> None:
    path = Path("one/plan.json")
    plan = json.loads(path.read_text())
    plan["precision"] |= change
    path.write_text(json.dumps(plan))
    with pytest.raises(StoreError, match=words):
        read_plan(Path("one"))
    called = ran("report", "one")
    assert called.status == 2 and words in called.err


def test_a_fixed_number_leaves_the_plan_as_it_was(fairc: Fairc) -> None:
    fairc("compile", "tiny.fexp", "-o", "plan", "--target", "json")
    assert "precision" not in json.loads(Path("plan/plan.json").read_text())
