"""Harm by hand: both formulas at their borders; what a cell has beside each kind of baseline."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from storedcells import stored

from fairc.compiler.plan import Comparison, Requests
from fairc.runtime.measurement.results import CellResult, MetricValue
from fairc.runtime.metrics.harm import METRIC, Better, harm
from fairc.runtime.store.baselines import Baselines
from fairc.words.metrics import METRICS

INF = math.inf


@pytest.mark.parametrize(
    ("alone", "beside", "better", "expected"),
    [
        (10e6, 5e6, "more", 0.5),
        (10e6, 0.0, "more", 1.0),
        (10e6, 12e6, "more", -0.2),
        (0.0, 0.0, "more", 0.0),
        (0.0, 1.0, "more", None),  # nobody is harmed who had nothing
        (0.1, 0.4, "less", 0.75),
        (0.4, 0.1, "less", -3.0),
        (0.1, 0.1, "less", 0.0),
        (0.0, 0.0, "less", 0.0),
        (0.1, 0.0, "less", None),
        (0.0, 0.1, "less", 1.0),
        (0.1, INF, "less", 1.0),
        (INF, 0.1, "less", None),
        (INF, INF, "less", None),
    ],
)
def test_the_formulas(alone: float, beside: float, better: Better, expected: float | None) -> None:
    found = harm(alone, beside, better)
    assert found == (expected if expected is None else pytest.approx(expected))


def test_what_is_compared_has_a_value_of_each_flow() -> None:
    """Every sub-value is a metric with a better side; none is of a cell, or compares itself."""
    entry = METRICS["harm"]
    assert [value.name for value in METRIC.values] == [f"harm.{name}" for name in entry.compared]
    for name in entry.compared:
        assert not METRICS[name].of_cell and not METRICS[name].compared
        assert any(p.repeated for p in METRICS[name].parameters)


REQUESTS = Requests(
    comparisons=(Comparison(name="harm.goodput", metric="goodput", flows=("a",)),),
)
BESIDE = stored(1, "0%", 2.0)
CELL = replace(BESIDE.cell, baselines={"a": "b" * 16})
ALONE = replace(BESIDE.cell, id="c" * 16, configuration="b" * 16, baseline=True)


def beside(result: CellResult | None) -> MetricValue:
    """The harm of `a`, which has 2 bit/s, beside a baseline with this result."""
    baselines = Baselines(REQUESTS)
    if result is not None:
        baselines.add(ALONE, result)
    assert baselines.are_there(CELL) == (result is not None)
    found, alone = baselines.compared(CELL, BESIDE.result)
    (value,) = [value for value in found.metrics if value.metric == "harm.goodput"]
    (row,) = alone
    assert (row.flows, row.flow, row.metric) == ("a", "a", "goodput")
    assert (row.value is None) == (value.value is None)
    return value


def solo(**update: object) -> CellResult:
    return stored(1, "0%", 8.0).result.model_copy(update=update)


def test_a_valid_baseline() -> None:
    assert beside(solo()) == MetricValue(metric="harm.goodput", flow="a", value=0.75, unit="1")
    assert beside(solo(verdict="flagged", reasons=("a remark",))).value == 0.75


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (None, "alone: its baseline has not been run"),
        (
            solo(verdict="invalid", reasons=("too slow", "too late")),
            "alone: its baseline is invalid: too slow; too late",
        ),
        (
            solo(status="failed", verdict=None, error="it hung", metrics=()),
            "alone: its baseline is failed: it hung",
        ),
        (solo(metrics=()), "alone: no value"),
    ],
)
def test_a_baseline_without_values(result: CellResult | None, reason: str) -> None:
    found = beside(result)
    assert (found.value, found.reason) == (None, reason)


def test_without_others_it_is_zero_by_definition() -> None:
    found, alone = Baselines(REQUESTS).compared(replace(CELL, baselines={}), BESIDE.result)
    assert [v.value for v in found.metrics if v.metric == "harm.goodput"] == [0.0]
    assert alone == ()
