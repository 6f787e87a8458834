"""Harm against theory: a source of constant rate takes half of the link from a transfer, whatever
the transfer does.
"""

from __future__ import annotations

import pytest
from storedcells import result_of

from fairc.compiler import Cell
from fairc.compiler.plan import Comparison, Requests
from fairc.dsl.model.requests import MetricRequest
from fairc.runtime import validity
from fairc.runtime.analysis.values import values
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import CellResult
from fairc.runtime.store.baselines import Baselines

SPEC = """fexp 1
experiment harmed {
  topology = dumbbell(rate: 10Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow victim { cca = cubic  start = 500ms  workload = file(5MB) }
  flow rival  { over = udp  rate = 5Mbit/s  workload = bulk }
  duration = 11s
  measure  = [harm(victim)]
}
"""
REQUESTS = Requests(
    measure=(MetricRequest(name="goodput"), MetricRequest(name="fct", sessions=("victim",))),
    comparisons=(
        Comparison(name="harm.goodput", metric="goodput", flows=("victim",)),
        Comparison(name="harm.fct", metric="fct", flows=("victim",)),
    ),
)


def judged(cell: Cell, measured: Measurement) -> CellResult:
    assert validity.judge(measured) == ("valid", ())
    return result_of(cell, values(measured, REQUESTS))


def test_a_source_that_takes_half_halves_the_goodput_and_doubles_the_time(
    cells: tuple[Cell, ...], each_measured: tuple[Measurement, ...]
) -> None:
    """Of each 1514 bytes of a frame 1500 count in the source's rate: it takes 5.047 of 10 Mbit/s.

    The transfer takes the rest, but for the round trips of its beginning: 0.1 s of 4 s.
    """
    alone, beside = cells
    assert alone.baseline and [flow.name for flow in alone.flows] == ["victim"]
    assert beside.baselines == {"victim": alone.configuration}
    baselines = Baselines(REQUESTS)
    baselines.add(alone, judged(alone, each_measured[0]))
    found, rows = baselines.compared(beside, judged(beside, each_measured[1]))
    harms = {v.metric: v.value for v in found.metrics if v.metric.startswith("harm")}
    taken = 5 * 1514 / 1500 / 10
    assert harms == {
        "harm.goodput": pytest.approx(taken, abs=0.02),
        "harm.fct": pytest.approx(taken, abs=0.02),
    }
    assert {row.metric: row.flow for row in rows} == {"goodput": "victim", "fct.mean": "victim"}
