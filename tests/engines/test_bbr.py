"""BBR, version 1, over QUIC in a whole cell: it is paced at its gain times the bandwidth, and the
queue that a probe built is gone after it.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.samples import STATES, Samples

SPEC = """fexp 1
experiment bbr {
  topology = bottleneck(rate: 20Mbit/s, rtt: 20ms, queue: fifo(2bdp))
  flow a { over = quic  cca = bbr  workload = bulk }
  duration = 15s
  measure = [goodput]
}
"""
RATE_BPS = 20e6
RTT_S = 0.02
PACKET_S = 1514 * 8 / RATE_BPS
GAINS = (1.25, 0.75, 1.0)


@pytest.fixture(scope="module")
def samples(measured: Measurement) -> Samples:
    """Those of the flow."""
    return measured.flows[0].endpoints.samples


def names(samples: Samples) -> list[str]:
    """Return the state of each sample."""
    return [STATES[int(number)] for number in samples.model_state]


def test_states_come_in_the_order_of_the_draft(samples: Samples) -> None:
    states = names(samples)
    changes = [before for before, after in pairwise([*states, ""]) if before != after]
    assert [state for state in changes if state != "drain"][:3] == [
        "startup",
        "probe_bw",
        "probe_rtt",
    ]
    assert "startup" not in changes[1:]
    # One every 10 s, of 200 ms and a round trip.
    assert 1 <= states.count("probe_rtt") <= 6


def test_its_rate_is_a_percent_below_gain_times_bandwidth(samples: Samples) -> None:
    probing = np.array([state == "probe_bw" for state in names(samples)])
    gains = samples.pacing_bps[probing] / samples.max_bw_bps[probing]
    off = np.min(np.abs(gains[:, None] - 0.99 * np.array(GAINS)), axis=1)
    assert off.max() < 1e-3
    # Six of eight phases, each of a round trip: 75 %, less the time in which a probe fills the
    # pipe.
    assert 0.5 < np.mean(np.abs(gains - 0.99) < 1e-3) < 0.9


def test_the_model_finds_the_path(samples: Samples) -> None:
    late = samples.t_s > 2
    # Of a frame of 1514 bytes 1472 are UDP payload.
    assert samples.max_bw_bps[late].max() == pytest.approx(RATE_BPS * 1472 / 1514, rel=0.01)
    assert samples.model_min_rtt_s[late].min() == pytest.approx(RTT_S, rel=0.06)
    assert samples.probe_cycle[-1] > 14 / (10 * RTT_S) / 2


def test_what_waits_is_three_quanta(samples: Samples) -> None:
    """A phase that drains ends with the BDP and three quanta of two packets in flight."""
    late = samples.t_s > 2
    waits_s = float(np.mean(samples.rtt_s[late])) - RTT_S - 2 * PACKET_S
    assert 2 * PACKET_S < waits_s < 8 * PACKET_S
