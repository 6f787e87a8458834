"""A QUIC sender whose start-up overruns the queue: its packets stay as large as the path's MTU."""

from __future__ import annotations

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment losses {
  topology = bottleneck(rate: 10Mbit/s, rtt: 60ms, queue: fifo(1bdp))
  flow a { over = quic  cca = bbr  workload = bulk }
  duration = 4s
  measure = [goodput]
}
"""


def test_bursts_of_losses_make_no_smaller_packets(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())
    (flow,) = measured.flows
    assert flow.entered.sum() - flow.left.sum() > 20
    late = flow.left & (flow.queue.left_s > 2)
    sizes = flow.queue.left.frame_bytes[late]
    assert (sizes == 1514).mean() > 0.99
