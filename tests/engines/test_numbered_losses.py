"""Packets that are lost by their number: these and no others."""

from __future__ import annotations

import numpy as np

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment numbered {
  sweep {
    kind = [quic, tcp]
    lost = [packets(3, 4, 7), packets(1), packets(12, 40)]
  }
  topology = bottleneck(rate: 10Mbit/s, rtt: 30ms) with { link left -> right { loss = lost } }
  flow d { over = kind  cca = reno  workload = file(100kB) }
  measure = [fct, retransmissions]
}
"""
LOST = ([3, 4, 7], [1], [12, 40])
ICMP = 1


def test_its_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        verdict, reasons = validity.judge(measured)
        assert (verdict, reasons) == ("valid", ()), reasons


def test_exactly_these_packets_are_lost(each_measured: tuple[Measurement, ...]) -> None:
    """Counted in the capture of what leaves the queue; pings before the flow do not count."""
    assert len(each_measured) == 6
    for number, measured in enumerate(each_measured):
        queue = measured.flows[0].queue
        counted = queue.left.protocol != ICMP
        gone = np.flatnonzero(queue.behind.lost[counted]) + 1
        assert gone.tolist() == LOST[number % 3], number
