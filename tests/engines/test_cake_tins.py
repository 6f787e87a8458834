"""CAKE beneath a shaper of another kind: under overload its tins share the link by their weights."""

from __future__ import annotations

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment tins {
  topology = dumbbell(rate: 8Mbit/s, rtt: 20ms, queue: cake(1000pkt, diffserv: diffserv4))
  flow plain { over = udp  rate = 9Mbit/s  workload = bulk }
  flow back  { over = udp  dscp = cs1   rate = 9Mbit/s  workload = bulk }
  flow film  { over = udp  dscp = af41  rate = 9Mbit/s  workload = bulk }
  flow call  { over = udp  dscp = ef    rate = 9Mbit/s  workload = bulk }
  duration = 5s
  warmup   = 1s
  measure  = [goodput]
}
"""
WEIGHTS = {"plain": 1024, "back": 64, "film": 512, "call": 256}
"""Quanta of the tins of `diffserv4` (sch_cake.c, cake_config_diffserv4)."""


def test_tins_share_an_overloaded_link_by_their_weights(measured: Measurement) -> None:
    """Deficit round robin: in 4 s about 2,600 frames, so that a frame more or less is 0.04 %."""
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons
    got = {flow.name: float(flow.ip_bytes(np.array([1.0, 5.0]))[0]) for flow in measured.flows}
    every, weights = sum(got.values()), sum(WEIGHTS.values())
    for name, weight in WEIGHTS.items():
        assert got[name] / every == pytest.approx(weight / weights, abs=0.005), name
