"""Samples every 3 ms, and a cell without captures, in the real kernel: from TCP_INFO to the
metric.
"""

from __future__ import annotations

import numpy as np
import pytest

from fairc.compiler.plan import MetricRequest
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc_deviations.metric import compute

SPEC = """fexp 1
experiment deviations {
  topology = bottleneck(rate: 4Mbit/s, rtt: 12ms, queue: fifo(6pkt))
  flow probe { cca = reno  start = 0s  workload = bulk }
  flow noise {
    count    = 4
    over     = udp
    workload = onoff(rate: 1Mbit/s, on: exponential(0.12s), off: exponential(0.1s))
  }
  captures = none
  duration = 12s
  warmup   = 1s
  measure  = [deviations(probe, scales: [5, 10])]
}
"""
REQUEST = MetricRequest(
    name="deviations", sessions=("probe",), options={"scales": "[5, 10]", "every": 0.003}
)


def test_the_verdict_says_what_it_rests_on(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict == "flagged" and len(reasons) == 1, reasons
    assert "no packets were captured" in reasons[0]


def test_samples_come_every_3_ms_and_tell_the_state(measured: Measurement) -> None:
    samples = measured.flows[0].endpoints.samples
    ticks = np.rint(samples.t_s[:-1] / 0.003).astype(int)  # the last one is at the end
    assert np.diff(ticks).tolist() == [1] * (len(ticks) - 1)
    assert len(ticks) > 3900
    assert set(np.unique(samples.congestion_state)) <= {0, 1, 2, 3, 4}
    # A flow that lost packets was in Recovery (3), and began in Open (0).
    assert samples.retransmits[-1] > 0
    assert {0, 3} <= set(samples.congestion_state.tolist())


def test_the_window_falls_where_the_state_says(measured: Measurement) -> None:
    """Reno's threshold is half the window at an entry, so it changes with the state and not
    without.
    """
    samples = measured.flows[0].endpoints.samples
    state, threshold = samples.congestion_state, samples.threshold_packets
    changed = np.flatnonzero(np.diff(threshold)) + 1
    assert len(changed) > 10
    assert np.isin(state[changed], (2, 3, 4)).mean() > 0.9


def test_the_metric_is_there(measured: Measurement) -> None:
    found = {(v.metric, v.flow): v.value for v in compute(measured, REQUEST)}
    rounds = found["deviations.rounds", "probe"]
    assert rounds == pytest.approx(11 / 0.021, rel=0.3)  # 12 ms, and up to 18 of queue
    assert 0.01 < (found["deviations.losses", "probe"] or 0) < 0.5
    low, high = (found[f"deviations.alpha_{end}", "probe, n = 10"] for end in ("min", "max"))
    mean = found["deviations.mean", "probe"]
    assert low is not None and mean is not None and high is not None and low < mean < high
    assert found["deviations.inside", "probe"] in (0.0, 1.0)
    assert found["deviations.mean_gaussian", "probe"] is not None
