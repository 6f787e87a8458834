"""The tables that a run ends with: the named values, and what has none."""

from __future__ import annotations

from pathlib import Path

from storedcells import AXES, of, stored

from fairc.cli.results import summary
from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.store import tables


def test_no_other_value_stands_in_the_place_of_the_named_one(tmp_path: Path) -> None:
    values = (
        MetricValue(metric="fairness.F", flow=None, value=None, unit="1", reason="of two, not 3"),
        MetricValue(metric="fairness.jain_session", flow=None, value=0.75, unit="1"),
    )
    tables.write(tmp_path, AXES, [stored(n, "0%", metrics=values) for n in (1, 2)])
    measure = (
        MetricRequest(name="fairness", values=("fairness.F",)),
        MetricRequest(name="goodput", values=("goodput.group",)),
    )
    lines = list(summary(tmp_path, of(tmp_path, AXES, measure=measure, formulas=())))
    named = next(n for n, line in enumerate(lines) if "fairness.F" in line)
    other = next(n for n, line in enumerate(lines) if "fairness.jain_session" in line)
    assert named < other
    assert "without a value: of two, not 3" in lines[named:other]
    assert any("0.75" in line for line in lines[other:])
    assert lines[-1] == "without a value in any cell: goodput.group"
