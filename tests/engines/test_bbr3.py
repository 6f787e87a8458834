"""BBRv3 over QUIC in whole cells: two flows at one bottleneck share it without a standing queue, and
go through the states of draft-ietf-ccwg-bbr-06.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from left_behind import states

from fairc.runtime.measurement import FlowRecord, Measurement

SPEC = """fexp 1
experiment bbr3 {
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(2bdp))
  flow a { over = quic  cca = bbr3  workload = bulk }
  flow b { over = quic  cca = bbr3  workload = bulk  start = 2s }
  duration = 40s
  measure = [goodput]
}
"""
RATE_BPS = 10e6
RTT_S = 0.04


@pytest.fixture(scope="module", params=(0, 1))
def flow(request: pytest.FixtureRequest, measured: Measurement) -> FlowRecord:
    """Both flows."""
    found: FlowRecord = measured.flows[request.param]
    return found


def test_states_come_in_the_order_of_the_draft(flow: FlowRecord) -> None:
    names = [state for _, state in states(flow)]
    assert names[0] == "startup"
    assert "startup" not in names[1:]
    following = set(pairwise(names))
    assert ("probe_bw_refill", "probe_bw_up") in following
    assert ("probe_bw_up", "probe_bw_down") in following
    assert ("probe_rtt", "probe_bw_cruise") in following


def test_probe_rtt_comes_every_five_seconds_and_lasts_a_fifth_of_one(flow: FlowRecord) -> None:
    found = states(flow)
    begins = np.array([t_s for t_s, state in found if state == "probe_rtt"])
    assert len(begins) >= 4
    assert np.diff(begins).min() >= 5
    ends = [after for (_, state), (after, _) in pairwise(found) if state == "probe_rtt"]
    # 200 ms, a round trip, the queue to drain before, and the time between samples.
    assert np.max(np.array(ends) - begins[: len(ends)]) < 0.2 + 5 * RTT_S + 0.2


def test_the_model_finds_the_path(flow: FlowRecord) -> None:
    samples = flow.endpoints.samples
    late = samples.t_s > 20
    assert samples.model_min_rtt_s[late].max() < 1.25 * RTT_S
    assert samples.max_bw_bps[late].max() < 1.1 * RATE_BPS


def test_flows_share_the_link(measured: Measurement) -> None:
    edges = np.array([20.0, 40.0])
    bps = [float(8 * flow.delivered_bytes(edges)[0] / 20) for flow in measured.flows]
    # The pacing margin and ProbeRTT cost 3 %, headers another 4 %.
    assert sum(bps) > 0.9 * RATE_BPS
    jain = sum(bps) ** 2 / (2 * sum(rate**2 for rate in bps))
    assert jain > 0.9
