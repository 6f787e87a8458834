"""NATs that rebind: QUIC follows to the new port, TCP breaks; ports as in a reference model."""

from __future__ import annotations

import numpy as np

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment rebinding {
  sweep { transport = [quic, tcp] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(1bdp)) with {
    nat home { at = right  to = left  mode = rebind(2s, 4s) }
  }
  flow f { over = transport  cca = cubic  workload = bulk }
  flow p { workload = ping(every: 50ms) }
  duration = 6s
  measure = [goodput]
}
"""


def test_its_cells_are_valid(each_measured: tuple[Measurement, ...]) -> None:
    for measured in each_measured:
        assert validity.judge(measured) == ("valid", ())


def test_quic_follows_within_a_round_trip(each_measured: tuple[Measurement, ...]) -> None:
    """It goes on at once with the window that it had (RFC 9000, 9.4): nothing but what was on its
    way to the old port is lost, at most a window, and a second later the link is full.
    """
    flow = each_measured[0].flows[0]
    arrived_s = flow.queue.seconds(flow.queue.delivered)
    per_second = np.histogram(arrived_s, np.arange(0.5, 6.0))[0]
    full = 10e6 / 8 / 1514
    for before, at, after in ((0, 1, 2), (2, 3, 4)):
        assert per_second[at] > 0.85 * full
        assert per_second[before] > 0.97 * full
        assert per_second[after] > 0.97 * full


def test_tcp_ends_with_the_first_rebinding(each_measured: tuple[Measurement, ...]) -> None:
    flow = each_measured[1].flows[0]
    arrived_s = flow.queue.seconds(flow.queue.delivered)
    ours = flow.queue.delivered.source_port == flow.plan.port
    assert (ours & (arrived_s < 2.0)).sum() > 1000
    assert (ours & (arrived_s > 2.1)).sum() < 10
