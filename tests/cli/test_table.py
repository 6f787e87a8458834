"""The forms of `fairc table`, from rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fairc.cli.table import as_csv, as_text

if TYPE_CHECKING:
    from fairc.runtime.repetitions.summaries import Row

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
