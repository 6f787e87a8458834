"""Multipath TCP in the virtual machine: its kernel carries a flow over both paths."""

from __future__ import annotations

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.engines.vm import VmEngine
from fairc.runtime.measurement import Measurement

ENGINE = VmEngine
SPEC = """fexp 1
experiment mptcp {
  topology {
    node server, client
    router core, wifi, mobile
    link server -- core { rate = 1Gbit/s }
    link core -- wifi { rate = 4Mbit/s  delay = 10ms  queue = fifo(100ms) }
    link core -- mobile { rate = 2Mbit/s  delay = 20ms  queue = fifo(100ms) }
    link mobile -- client, wifi -- client { rate = 1Gbit/s }
  }
  flow one { over = mptcp  cca = cubic  workload = bulk }
  duration = 4s
  measure  = [goodput, goodput.subflow, rtt.subflow]
}
"""


def test_two_paths_add_up(measured: Measurement) -> None:
    """Data with MPTCP's options has headers of 78 bytes."""
    assert validity.judge(measured) == ("valid", ())
    (flow,) = measured.flows
    edges_s = np.array([1.0, 4.0])
    rates = [
        8 * float(one.apportion(one.queue.left.frame_bytes, edges_s)[0]) / 3
        for one in flow.passages
    ]
    assert rates == pytest.approx([4e6, 2e6], rel=0.03)
    delivered = float(flow.delivered_bytes(edges_s)[0])
    assert 8 * delivered / 3 == pytest.approx(6e6 * 1428 / 1514, rel=0.08)
