"""`fairc table`: one metric over groups of cells."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from storedcells import AXES, failed, invalid, of, stored

from fairc.compiler.plan import Precision
from fairc.runtime.compare.comparison import compare_groups, compare_runs
from fairc.runtime.repetitions.reading import UnknownName
from fairc.runtime.repetitions.summaries import summarise
from fairc.runtime.store import tables


@pytest.fixture
def swept(tmp_path: Path) -> Path:
    """Goodput of flow a: 1..6 without loss (and an invalid cell), 5 once at 1 % (and a failure)."""
    cells = [stored(n, "0%", float(n)) for n in range(1, 7)]
    tables.write(tmp_path, AXES, [*cells, invalid(7, "0%"), stored(8, "1%", 5.0), failed(9, "1%")])
    return tmp_path


def test_a_table_by_axes_and_flow(swept: Path) -> None:
    found = summarise(of(swept, AXES), "goodput")
    assert found[0] == {
        "metric": "goodput",
        "unit": "bit/s",
        "stat": "median",
        "by": {"loss": "0%", "Cell": "x", "flow": "a"},
        "n": 6,
        "invalid": 1,
        "censored": 0,
        "value": 3.5,
        "ci_low": 1.0,
        "ci_high": 6.0,
        "reason": "",
        "no_interval": "",
        "remark": "",
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
    found = summarise(of(swept, AXES), "goodput", by=("flow",), stat="max")
    assert [(r["by"], r["n"], r["invalid"], r["value"]) for r in found] == [
        ({"flow": "a"}, 7, 2, 6.0),
        ({"flow": "b"}, 7, 2, 60.0),
    ]
    found = summarise(of(swept, AXES), "goodput", by=(), stat="mean")
    assert [(r["by"], r["n"], r["invalid"]) for r in found] == [({}, 14, 2)]
    found = summarise(of(swept, AXES), "goodput", by=("repetition", "flow"), stat="p50")
    assert (found[0]["by"], found[0]["value"]) == ({"repetition": "1", "flow": "a"}, 1.0)


def test_cells_can_be_chosen(swept: Path) -> None:
    def where(names: Mapping[str, str]) -> bool:
        return names["loss"] == "1%" or int(names["repetition"]) <= 2

    found = summarise(of(swept, AXES), "goodput", by=("flow",), where=where)
    assert [(r["n"], r["invalid"], r["value"]) for r in found] == [(3, 1, 2.0), (3, 1, 20.0)]


def test_values_that_are_not_defined_are_not_counted(swept: Path) -> None:
    found = summarise(of(swept, AXES), "fairness", by=("loss", "flow"))
    assert [(r["metric"], r["by"], r["n"], r["value"]) for r in found] == [
        ("fairness.F", {"loss": "0%", "flow": None}, 0, None),
        ("fairness.F", {"loss": "1%", "flow": None}, 0, None),
    ]


def test_a_range_of_repetitions_has_the_values_up_to_its_look_everywhere(tmp_path: Path) -> None:
    """Of 12 repetitions one is invalid: 11 values, of which a range that looks at 8 and at 12 uses
    8.
    """
    cells = [stored(n, "0%", float(n)) for n in range(1, 12)]
    cells += [invalid(12, "0%"), *(stored(n, "1%", float(n)) for n in range(21, 32))]
    tables.write(tmp_path, AXES, [*cells, invalid(32, "1%")])
    ranged = of(tmp_path, AXES, precision=Precision(least=8, goals=()), repeat=30)
    by = ("loss", "flow")
    for measured, n in ((ranged, 8), (of(tmp_path, AXES), 11)):
        rows = summarise(measured, "goodput", by)
        assert {row["n"] for row in rows} == {n}
        medians = {frozenset(row["by"].items()): row["value"] for row in rows}
        for compared in (
            compare_groups(measured, "goodput", by),
            compare_runs(measured, measured)[1],
        ):
            apart = [c for c in compared if c["metric"] == "goodput" and c["pairs"] is None]
            assert apart and {(c["n_first"], c["n_second"]) for c in apart} == {(n, n)}
            for c in apart:
                key = frozenset((k, v) for k, v in c["by"].items() if k in by)
                assert c["median_first"] == medians[key]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"metric": "godput"},
            "no metric is called `godput`; did you mean `goodput`? known: fairness.F, goodput",
        ),
        ({"metric": "rtt"}, "no metric of this run is called `rtt`; add it to `measure`"),
        ({"metric": "goodput", "stat": "mode"}, "no statistic is called `mode`"),
        (
            {"metric": "goodput", "by": ("lss",)},
            "no axis is called `lss`; did you mean `loss`? known: loss, Cell",
        ),
    ],
)
def test_unknown_names(swept: Path, arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownName) as caught:
        summarise(of(swept, AXES), **arguments)
    assert words in str(caught.value)
