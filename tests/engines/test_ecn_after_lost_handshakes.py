"""ECN where SYN/ACKs are lost: no sender of ECN-capable packets is left without marks."""

from __future__ import annotations

import numpy as np

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment answers {
  sweep { kind = [on, accurate]  lost = [packets(1), packets(1, 2), packets(1, 2, 3)] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: lost, queue: codel(1000pkt, ecn: on))
  flow f { cca = cubic  ecn = kind  workload = bulk }
  duration = 8s
  measure  = [goodput]
}
"""


def test_no_queue_builds_up_unseen(each_measured: tuple[Measurement, ...]) -> None:
    """Accurate ECN: the server may have it alone, and then sends packets that CoDel drops."""
    for measured in each_measured:
        (flow,) = measured.flows
        ((server,), (client,)) = (
            flow.endpoints.reports[event] for event in ("accepted", "connected")
        )
        assert server["initial_window_packets"] == 1  # a handshake that was sent again
        assert server["ecn"] == client["ecn"] or server["accurate_ecn"]
        assert np.nanmedian(flow.queue.delay_s[flow.left]) < 0.01
        assert validity.judge(measured) == ("valid", ())
