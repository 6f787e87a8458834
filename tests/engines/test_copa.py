"""Copa over QUIC in whole cells: alone, in proportion to 1 / delta, and beside CUBIC."""

from __future__ import annotations

import numpy as np
import pytest
from specs import compilation_of

from fairc.runtime import validity
from fairc.runtime.engines.uml import UmlEngine
from fairc.runtime.measurement import FlowRecord, Measurement, load
from fairc.runtime.measurement.samples import STATES

SPEC = """fexp 1
experiment copa {
  let default = copa(competitive: off)
  sweep { (a, b) = [(default, default), (default, copa(delta: 0.25, competitive: off)), (copa, cubic), (default, cubic)] }
  topology = bottleneck(rate: 20Mbit/s, rtt: 40ms, queue: fifo(2bdp))
  flow one { over = quic  cca = a  workload = bulk }
  flow two { over = quic  cca = b  workload = bulk  start = 1s }
  duration = 40s
  measure = [goodput, state]
}
"""
RATE_BPS = 20e6
WINDOW = np.array([20.0, 40.0])
PACKET_S = 8 * 1514 / RATE_BPS
SWING = 2.5
"""The queue swings between 0 and this over delta, packets (section 3.1 of the paper)."""


@pytest.fixture(scope="module")
def cells_of(tmp_path_factory: pytest.TempPathFactory) -> tuple[Measurement, ...]:
    """Two alike, one with half of delta, beside CUBIC, and there without the competitive mode."""
    engine = UmlEngine()
    engine.prepare()
    found = []
    for cell in compilation_of(SPEC).cells():
        result = engine.run(cell, tmp_path_factory.mktemp("cell"))
        assert result.error == ""
        found.append(load(cell, result.artefacts))
    engine.close()
    return tuple(found)


def rates(measurement: Measurement) -> list[float]:
    """Return the rate of each flow in the second half, bit/s."""
    return [float(8 * flow.delivered_bytes(WINDOW)[0] / 20) for flow in measurement.flows]


def waits_s(flow: FlowRecord) -> np.ndarray:
    """Return what a flow's packets wait in the second half, s."""
    late = flow.left & (flow.queue.left_s > WINDOW[0])
    return np.asarray(flow.queue.delay_s[late])


def states(flow: FlowRecord) -> set[str]:
    samples = flow.endpoints.samples
    known = samples.model_state[np.isfinite(samples.model_state)]
    return {STATES[int(state)] for state in known}


def test_cells_are_valid(cells_of: tuple[Measurement, ...]) -> None:
    for measurement in cells_of:
        verdict, reasons = validity.judge(measurement)
        assert verdict != "invalid", reasons


def test_two_alike_fill_the_link_with_a_queue_of_a_few_packets(
    cells_of: tuple[Measurement, ...],
) -> None:
    """Two with delta = 0.5 together are one with 0.25."""
    a, b = rates(cells_of[0])
    assert a + b > 0.9 * RATE_BPS
    assert 0.7 < a / b < 1.43
    for flow in cells_of[0].flows:
        assert np.mean(waits_s(flow)) < SWING / 0.25 * PACKET_S


def test_half_of_delta_gets_twice_as_much(cells_of: tuple[Measurement, ...]) -> None:
    """Section 3: each rate is 1 / (delta dq), and all see the same queueing delay."""
    default, half = rates(cells_of[1])
    assert 1.4 < half / default < 2.8


def test_beside_cubic_it_competes_only_in_its_competitive_mode(
    cells_of: tuple[Measurement, ...],
) -> None:
    (with_mode, _), (without, cubic) = rates(cells_of[2]), rates(cells_of[3])
    assert without < 0.25 * cubic
    assert with_mode > 1.5 * without
    assert "competitive" in states(cells_of[2].flows[0])
    assert states(cells_of[3].flows[0]) <= {"slow_start", "default"}
