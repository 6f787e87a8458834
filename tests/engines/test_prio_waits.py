"""What packets of two classes wait where one goes first, against Cobham's formula."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment cobham {
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, access: 10Gbit/s, queue: prio(ef: fifo(5000pkt), cs0: fifo(5000pkt)))
  hosts { processing = off }
  flow first  { over = udp  dscp = ef  count = 50  workload = onoff(rate: 100Mbit/s, on: 13us, off: exponential(mean: 20ms), packet: 186B) }
  flow second { over = udp             count = 50  workload = onoff(rate: 100Mbit/s, on: 100us, off: exponential(mean: 151ms), packet: 1500B) }
  duration = 60s
  warmup   = 2s
  measure  = [queue_delay]
}
"""
LEVEL_99 = 2.576
BATCHES = 30


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


def test_poisson_arrivals_wait_as_cobham_has_it(measured: Measurement) -> None:
    """W1 = R / (1 - r1), W2 = R / ((1 - r1) (1 - r1 - r2)), R = sum of l E[S^2] / 2.

    Source: Cobham, Operations Research 2(1), 1954, without preemption.
    """
    queue = measured.flows[0].queue
    left = queue.left_s >= measured.warmup_s
    first = queue.left.tos[left] >> 2 == 46
    service_s, wait_s = queue.serialisation_s[left], queue.delay_s[left]
    lasts_s = float(np.ptp(queue.left_s[left]))
    residual_s = float((service_s**2).sum()) / lasts_s / 2
    loads = [float(service_s[mine].sum()) / lasts_s for mine in (first, ~first)]
    assert 0.15 < loads[0] < 0.5 and 0.2 < loads[1] < 0.7
    expected_s = [
        residual_s / (1 - loads[0]),
        residual_s / ((1 - loads[0]) * (1 - sum(loads))),
    ]
    for mine, mean_s in zip((first, ~first), expected_s, strict=True):
        batches = np.array([batch.mean() for batch in np.array_split(wait_s[mine], BATCHES)])
        half_s = LEVEL_99 * float(batches.std(ddof=1)) / math.sqrt(BATCHES)
        assert float(wait_s[mine].mean()) == pytest.approx(mean_s, abs=half_s)
        assert half_s < 0.2 * mean_s
