"""Copa over QUIC in whole cells: alone, in proportion to 1 / delta, and beside CUBIC."""

from __future__ import annotations

import numpy as np
from left_behind import states

from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement

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


def rates(measurement: Measurement) -> list[float]:
    """Return the rate of each flow in the second half, bit/s."""
    return [float(8 * flow.delivered_bytes(WINDOW)[0] / 20) for flow in measurement.flows]


def waits_s(flow: FlowRecord) -> np.ndarray:
    """Return what a flow's packets wait in the second half, s."""
    late = flow.left & (flow.queue.left_s > WINDOW[0])
    return np.asarray(flow.queue.delay_s[late])


def names(flow: FlowRecord) -> set[str]:
    return {state for _, state in states(flow)}


def test_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measurement in each_measured:
        verdict, reasons = validity.judge(measurement)
        assert verdict != "invalid", reasons


def test_two_alike_fill_the_link_with_a_queue_of_a_few_packets(
    each_measured: tuple[Measurement, ...],
) -> None:
    """Two with delta = 0.5 together are one with 0.25."""
    a, b = rates(each_measured[0])
    assert a + b > 0.9 * RATE_BPS
    assert 0.7 < a / b < 1.43
    for flow in each_measured[0].flows:
        assert np.mean(waits_s(flow)) < SWING / 0.25 * PACKET_S


def test_half_of_delta_gets_twice_as_much(each_measured: tuple[Measurement, ...]) -> None:
    """Section 3: each rate is 1 / (delta dq), and all see the same queueing delay."""
    default, half = rates(each_measured[1])
    assert 1.4 < half / default < 2.8


def test_beside_cubic_it_competes_only_in_its_competitive_mode(
    each_measured: tuple[Measurement, ...],
) -> None:
    (with_mode, _), (without, cubic) = rates(each_measured[2]), rates(each_measured[3])
    assert without < 0.25 * cubic
    assert with_mode > 1.5 * without
    assert "competitive" in names(each_measured[2].flows[0])
    assert names(each_measured[3].flows[0]) <= {"slow_start", "default"}
