"""`connection_fairness` on the kernel, against a plain count of packets, and against sources of
equal constant rates.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from computed import results

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.record import Window
from fairc.runtime.metrics.connection_fairness import _bytes

SPEC = """fexp 1
experiment connections {
  topology = dumbbell(rate: 8Mbit/s, rtt: 30ms, queue: fifo(2bdp))
  flow many { count = 3  cca = cubic  start = 0s  workload = bulk }
  flow even { count = 2  over = udp  rate = 500kbit/s  start = 0s  workload = bulk }
  flow one  { cca = cubic  workload = requests(size: 10kB, every: 1s) }
  duration = 6s
  measure  = [connection_fairness]
}
"""


def of(measured: Measurement, flow: str, **options: float) -> list[tuple[float | None, str]]:
    found = results(measured.within(Window(2.0, 5.0)), "connection_fairness", flow, **options)
    return [(value.value, value.reason) for value in found]


def test_it_is_jains_index_of_packets_by_port(measured: Measurement) -> None:
    """Counted packet by packet, without apportioning: of hundreds, two are cut by the borders."""
    (flow,) = measured.sessions(("many",))
    queue = flow.queue
    mine = zip(
        queue.left_s[flow.left],
        queue.left.destination_port[flow.left],
        queue.left.ip_bytes[flow.left],
        strict=True,
    )
    got: Counter[int] = Counter()
    for t_s, port, size in mine:
        if 2.0 <= t_s < 5.0:
            got[int(port)] += int(size)
    assert len(got) == 3
    expected = sum(got.values()) ** 2 / (3 * sum(b * b for b in got.values()))
    (session, _), (slots, _) = of(measured, "many", slot=1.0)
    assert session == pytest.approx(expected, abs=0.003)
    assert slots is not None and 1 / 3 <= slots <= 1


def test_equal_sources_share_equally(measured: Measurement) -> None:
    (session, _), (slots, _) = of(measured, "even", slot=1.0)
    assert session == pytest.approx(1, abs=0.001)
    assert slots == pytest.approx(1, abs=0.01)  # a full queue drops a packet of one or the other


def test_a_connection_that_gets_nothing_counts(measured: Measurement) -> None:
    """Two of three with packets: the third has a row of zeros."""
    (flow,) = measured.sessions(("many",))
    ports = np.unique(flow.queue.left.destination_port[flow.left])
    kept = flow.left & (flow.queue.left.destination_port != ports[0])
    (first, *others) = flow.passages
    object.__setattr__(flow, "passages", (type(first)(first.queue, kept, first.entered), *others))
    try:
        rows = _bytes(flow, np.array([2.0, 5.0]))
        assert sorted(rows[:, 0] > 0) == [False, True, True]
        (session, _), _ = of(measured, "many")
        assert session is not None and session <= 2 / 3 + 1e-9
    finally:
        object.__setattr__(flow, "passages", (first, *others))


def test_one_connection_does_not_compete_with_itself(measured: Measurement) -> None:
    assert of(measured, "one")[0] == (None, "the flow has one connection")
