"""Prague over QUIC in whole cells: beside itself and beside CUBIC through DualPI2, where it fills an L4S
queue that stays short.
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement

SPEC = """fexp 1
experiment prague {
  sweep { other = [prague, cubic] }
  topology = bottleneck(rate: 40Mbit/s, rtt: 20ms, queue: dualpi2(1000pkt))
  flow a { over = quic  cca = prague  ecn = accurate  workload = bulk }
  flow b { over = quic  cca = other   ecn = on        workload = bulk  start = 1s }
  duration = 40s
  measure = [goodput]
}
"""
RATE_BPS = 40e6
BASE_RTT_S = 0.02
WINDOW = np.array([20.0, 40.0])
ECN, ECT0, ECT1 = 3, 2, 1


def rates(measurement: Measurement) -> list[float]:
    """Return the rate of each flow in the second half, bit/s."""
    return [float(8 * flow.delivered_bytes(WINDOW)[0] / 20) for flow in measurement.flows]


def late_rtt_s(flow: FlowRecord) -> float:
    """Return the median smoothed RTT of a flow in the second half, s."""
    samples = flow.endpoints.samples
    return float(np.median(samples.rtt_s[samples.t_s > WINDOW[0]]))


def test_packets_of_prague_are_in_the_l4s_queue(each_measured: tuple[Measurement, ...]) -> None:
    prague, cubic = each_measured[1].flows
    for flow, codepoint in ((prague, ECT1), (cubic, ECT0)):
        marks = flow.queue.entered.tos[flow.entered] & ECN
        assert set(marks.tolist()) == {codepoint}


def test_two_share_the_link_without_a_queue(each_measured: tuple[Measurement, ...]) -> None:
    a, b = rates(each_measured[0])
    assert a + b > 0.85 * RATE_BPS
    assert 0.8 < a / b < 1.25
    for flow in each_measured[0].flows:
        assert late_rtt_s(flow) < BASE_RTT_S + 0.002


def test_the_coupled_queue_balances_prague_and_cubic(
    each_measured: tuple[Measurement, ...],
) -> None:
    prague, cubic = rates(each_measured[1])
    assert prague + cubic > 0.85 * RATE_BPS
    assert 0.5 < prague / cubic < 2
    flows = each_measured[1].flows
    assert late_rtt_s(flows[0]) < BASE_RTT_S + 0.002
    assert late_rtt_s(flows[1]) > BASE_RTT_S + 0.005


def test_alpha_follows_the_marks(each_measured: tuple[Measurement, ...]) -> None:
    for flow in each_measured[0].flows:
        samples = flow.endpoints.samples
        late = samples.t_s > WINDOW[0]
        alpha, window = samples.alpha[late], samples.cwnd_packets[late]
        assert 0 < alpha.min() <= alpha.max() < 1
        # At a share p of marks 2 (1 - p) / p packets where they are spread evenly, 2 / p² where they
        # come in whole round trips, as from a step (Alizadeh et al., SIGMETRICS 2011).
        share = float(np.mean(alpha))
        assert 2 * (1 - share) / share < float(np.mean(window)) < 2 / share**2
