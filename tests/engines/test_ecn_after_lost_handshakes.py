"""ECN of RFC 3168 where SYN/ACKs are lost: both ends have it, or neither (kernel patch 21)."""

from __future__ import annotations

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

SPEC = """fexp 1
experiment answers {
  sweep { lost = [packets(1), packets(1, 2), packets(1, 2, 3)] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 20ms, loss: lost, queue: codel(1000pkt, ecn: on))
  flow f { cca = cubic  ecn = on  workload = bulk }
  duration = 8s
  measure  = [goodput]
}
"""


def test_who_sends_ecn_capable_packets_is_told_of_marks(
    each_measured: tuple[Measurement, ...],
) -> None:
    for measured in each_measured:
        (flow,) = measured.flows
        reports = flow.endpoints.reports
        assert [e["initial_window_packets"] for e in reports["accepted"]] == [1]  # sent again
        assert [e["ecn"] for e in reports["accepted"]] == [e["ecn"] for e in reports["connected"]]
        assert validity.judge(measured) == ("valid", ())
