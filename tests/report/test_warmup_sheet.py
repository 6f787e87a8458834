"""The table of other warm-ups next to the answer: one rule for medians and intervals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from fairc.compiler.plan import Goal, Precision
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.report.run import Run
from fairc.runtime.report.summary import Results
from fairc.runtime.report.warmup import warmup_sheet
from fairc.runtime.run import warmup
from fairc.runtime.store.folder import read_cells, read_plan

GOODPUT = "goodput"

Maker = Callable[..., Path]  # conftest.py


@pytest.mark.parametrize("ranged", [False, True])
def test_equal_values_have_equal_intervals(
    make_run: Maker, monkeypatch: pytest.MonkeyPatch, ranged: bool
) -> None:
    """What another warm-up does not change has the interval of the answer, also where a range was
    looked at.
    """
    path = make_run(repeat=12, duration_s=1.0)
    if ranged:
        precision = Precision(least=8, goals=(Goal(metric="goodput", within=0.05, relative=True),))
        plan = read_plan(path).model_copy(update={"precision": precision, "repeat": 30})
        (path / "plan.json").write_text(plan.model_dump_json(), encoding="utf-8")
    run = Run(path)
    results = Results(run)
    (configuration,) = run.configurations
    outcomes = {outcome.cell: outcome for outcome in configuration.outcomes}
    unchanged = [
        warmup.CellMetrics(
            cell,
            factor,
            tuple(
                MetricValue(
                    metric=m.metric,
                    flow=m.flow,
                    unit=m.unit,
                    value=results.number(m, outcomes[cell.id]),
                )
                for m in results.select(GOODPUT)
            ),
        )
        for cell in read_cells(run.path)
        for factor in warmup.FACTORS
    ]
    monkeypatch.setattr("fairc.runtime.report.warmup.revalued", lambda path: iter(unchanged))
    rows = [row for row in warmup_sheet(run, results).rows if "goodput" in str(row[0])]
    assert len(rows) == 2
    for row, measure in zip(rows, results.select(GOODPUT), strict=True):
        assert row[2] == row[4] == row[6]
        assert isinstance(row[4], tuple)
        low, high = row[4]
        group = results.group(measure, configuration)
        median, values = group.median, sorted(group.used)
        assert [float(low.exact), float(high.exact)] == [median.low, median.high]
        assert (median.low, median.high) == (
            (values[1], values[10]) if ranged else (values[2], values[9])
        )
