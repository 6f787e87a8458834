"""`fairc table`: one metric over groups of cells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from storedcells import AXES, failed, invalid, stored

from fairc.runtime.compare.summary import UnknownName, summarise
from fairc.runtime.store import tables


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """Goodput of flow a: 1..6 without loss (and an invalid cell), 5 once at 1 % (and a failure)."""
    cells = [stored(n, "0%", float(n)) for n in range(1, 7)]
    tables.write(tmp_path, AXES, [*cells, invalid(7, "0%"), stored(8, "1%", 5.0), failed(9, "1%")])
    return tmp_path


def test_a_table_by_axes_and_flow(swept: Path) -> None:
    found = summarise(swept, AXES, "goodput")
    assert found[0] == {
        "metric": "goodput",
        "unit": "bit/s",
        "stat": "median",
        "by": {"loss": "0%", "Cell": "x", "flow": "a"},
        "n": 6,
        "invalid": 1,
        "value": 3.5,
        "ci_low": 1.0,
        "ci_high": 6.0,
        "reason": "",
        "no_interval": "",
    }
    assert [
        (r["by"]["loss"], r["by"]["flow"], r["n"], r["invalid"], r["value"]) for r in found
    ] == [
        ("0%", "a", 6, 1, 3.5),
        ("0%", "b", 6, 1, 35.0),
        ("1%", "a", 1, 1, 5.0),
        ("1%", "b", 1, 1, 50.0),
    ]
    assert found[2]["ci_low"] is found[2]["ci_high"] is None


def test_other_groups_and_statistics(swept: Path) -> None:
    found = summarise(swept, AXES, "goodput", by=("flow",), stat="max")
    assert [(r["by"], r["n"], r["invalid"], r["value"]) for r in found] == [
        ({"flow": "a"}, 7, 2, 6.0),
        ({"flow": "b"}, 7, 2, 60.0),
    ]
    found = summarise(swept, AXES, "goodput", by=(), stat="mean")
    assert [(r["by"], r["n"], r["invalid"]) for r in found] == [({}, 14, 2)]
    found = summarise(swept, AXES, "goodput", by=("repetition", "flow"), stat="p50")
    assert (found[0]["by"], found[0]["value"]) == ({"repetition": "1", "flow": "a"}, 1.0)


def test_cells_can_be_chosen(swept: Path) -> None:
    def where(names: Mapping[str, str]) -> bool:
        return names["loss"] == "1%" or int(names["repetition"]) <= 2

    found = summarise(swept, AXES, "goodput", by=("flow",), where=where)
    assert [(r["n"], r["invalid"], r["value"]) for r in found] == [(3, 1, 2.0), (3, 1, 20.0)]


def test_values_that_are_not_defined_are_not_counted(swept: Path) -> None:
    found = summarise(swept, AXES, "fairness", by=("loss", "flow"))
    assert [(r["metric"], r["by"], r["n"], r["value"]) for r in found] == [
        ("fairness.F", {"loss": "0%", "flow": None}, 0, None),
        ("fairness.F", {"loss": "1%", "flow": None}, 0, None),
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"metric": "godput"}, "no metric is called `godput`; known: fairness.F, goodput"),
        ({"metric": "rtt"}, "no metric of this run is called `rtt`"),
        ({"metric": "goodput", "stat": "mode"}, "no statistic is called `mode`"),
        ({"metric": "goodput", "by": ("lss",)}, "no axis is called `lss`; known: loss, Cell, flow"),
    ],
)
def test_unknown_names(swept: Path, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownName) as caught:
        summarise(swept, AXES, **arguments)
    assert words in str(caught.value)
