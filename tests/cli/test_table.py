"""The forms of `fairc table`, from rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

import pytest

from fairc.cli.table import as_csv, as_text
from fairc.runtime.ranges.cells import finished
from fairc.runtime.store import tables
from fairc.runtime.store.folder import Store

if TYPE_CHECKING:
    from fairc.runtime.repetitions.summaries import Row

Fairc = Callable[..., Any]  # conftest.py

CROWD = """fexp 1
experiment crowd {
  topology = bottleneck(rate: 10Mbit/s, rtt: 50ms, queue: fifo(2bdp))
  flow q[i] for i in 1..%d { cca = cubic   workload = bulk }
  flow alone { cca = bbr   workload = bulk }
  duration = 3s
  repeat   = 2
  measure  = [goodput]
}
"""

ROW: Row = {
    "metric": "goodput",
    "unit": "bit/s",
    "stat": "median",
    "by": {"n": "2", "value": "x", "flow": "a"},
    "n": 6,
    "invalid": 0,
    "censored": 0,
    "value": 1.5,
    "ci_low": 1.0,
    "ci_high": 2.0,
    "reason": "",
    "no_interval": "",
    "remark": "",
}


def test_no_two_columns_of_the_csv_form_are_called_the_same() -> None:
    assert list(as_csv([ROW])) == [
        "metric,unit,stat,by.n,by.value,flow,n,invalid,censored,value,ci_low,ci_high,reason,no_interval,remark",
        "goodput,bit/s,median,2,x,a,6,0,0,1.5,1.0,2.0,,,",
    ]


def test_rows_without_a_value_say_why_once() -> None:
    nothing: Row = {
        **ROW,
        "value": None,
        "ci_low": None,
        "ci_high": None,
        "reason": "too few cells",
    }
    lines = list(as_text([ROW, nothing, nothing]))
    assert lines[-1] == "without a value: too few cells"
    assert sum("too few" in line for line in lines) == 1


@pytest.mark.usefixtures("without_report")
def test_many_flows_of_one_index_are_one_row_for_people(fairc: Fairc) -> None:
    """Of each cell the mean of theirs, whose median over the cells the row has, with the lowest and
    the highest flow; `--by flow`, --where and the forms for programs have each.
    """
    Path("crowd.fexp").write_text(CROWD % 13)
    run = fairc("run", "crowd.fexp").require(0)
    (line,) = (line for line in run.out.splitlines() if line.startswith("q"))
    each = json.loads(fairc("table", "results/crowd", "goodput", "--format", "json").out)
    flows = {row["by"]["flow"]: row["value"] for row in each}
    assert list(flows) == [*(f"q[{i}]" for i in range(1, 14)), "alone"]
    by_cell = json.loads(
        fairc(
            "table", "results/crowd", "goodput", "--by", "flow,repetition", "--format", "json"
        ).out
    )
    means = [
        fmean(
            row["value"]
            for row in by_cell
            if row["by"] == {**row["by"], "repetition": number} and row["by"]["flow"] != "alone"
        )
        for number in ("1", "2")
    ]
    lowest, *_, highest = sorted(value for flow, value in flows.items() if flow != "alone")
    name, flows_, _, value, *_ = line.split()
    shown = [float(word) * 1e6 for word in (value, line.split()[-3], line.split()[-1])]
    assert (name, flows_) == ("q", "(13")
    assert shown == pytest.approx([median(means), lowest, highest], rel=0.01)

    table = fairc("table", "results/crowd", "goodput").out
    assert table.splitlines()[1] == line
    assert len([row for row in table.splitlines() if row.startswith(("q", "alone"))]) == 2
    assert "each of them: --by flow" in table
    apart = fairc("table", "results/crowd", "goodput", "--by", "flow").out
    assert apart.count("q[") == 13
    chosen = fairc("table", "results/crowd", "goodput", "--where", "flow == q[2]").out
    assert "q[2]" in chosen
    assert "several flows" not in apart + chosen


@pytest.mark.usefixtures("without_report")
def test_few_flows_of_one_index_have_a_row_each(fairc: Fairc) -> None:
    Path("crowd.fexp").write_text(CROWD % 12)
    assert fairc("run", "crowd.fexp").out.count("q[") == 12


def test_the_rows_of_many_cells_are_read_in_parts(
    ran: Fairc, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are the same to the byte, in however many parts their rows are read."""
    store = Store(Path("results/tiny"))
    monkeypatch.setattr(tables, "_BATCH", 4)
    tables.write_of(finished(store), Path("parts"), store.plan)
    names = sorted(path.name for path in Path("parts").glob("*.parquet"))
    assert {"slots.parquet", "samples.parquet"} <= {*names}
    for name in names:
        whole = Path("results/tiny/tables", name).read_bytes()
        assert Path("parts", name).read_bytes() == whole, name
