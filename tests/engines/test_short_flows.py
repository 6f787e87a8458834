"""Short flows in the real kernel: flows of so many packets over TCP and QUIC that share their
arrivals.
"""

from __future__ import annotations

import numpy as np
import pytest
from left_behind import flow_of

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement

RTT_S = 0.04
SPEC = """fexp 1
experiment short_flows {
  topology = access(rate: 20Mbit/s, rtt: 40ms, queue: fifo(1bdp))
  users heavy { count = 1 }
  users light { count = 2 }
  flow heavy {
    users = heavy  cca = cubic  initial_window = 2pkt
    workload = requests(size: 10pkt, every: gamma(30ms, 0.5), share: 60%)
  }
  flow light {
    users = light  over = quic  cca = cubic  initial_window = 2pkt
    workload = requests(size: 10pkt, every: gamma(30ms, 0.5), share: 40%)
  }
  duration = 5s
  measure  = [fct]
}
"""


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


@pytest.mark.parametrize(("name", "size"), [("heavy-1", 14_480), ("light-1", 14_390)])
def test_requests_have_their_size_and_take_their_round_trips(
    measured: Measurement, name: str, size: int
) -> None:
    """The handshake, then 2, 4 and 4 packets: four round trips."""
    requests = flow_of(measured, name).endpoints.requests
    ended = ~np.isnan(requests.duration_s)
    assert ended.sum() > 10
    assert set(requests.bytes[ended]) == {size}
    assert requests.number.tolist() == list(range(len(requests)))
    assert 4 * RTT_S <= np.median(requests.duration_s[ended]) < 5 * RTT_S


def test_a_flow_of_ten_packets_has_ten_packets(measured: Measurement) -> None:
    flow = flow_of(measured, "heavy-1")
    sent = flow.queue.left.select(flow.left & (flow.queue.left.payload_bytes > 0))
    _, packets = np.unique(sent.destination_port, return_counts=True)
    ended = int((~np.isnan(flow.endpoints.requests.duration_s)).sum())
    # A port may come again; what was not answered in full has fewer.
    begun = len(flow.endpoints.requests)
    assert (packets // 10).sum() >= ended > 40
    assert (packets % 10 > 0).sum() <= begun - ended
    assert set(sent.payload_bytes) == {1448}


def test_the_first_window_has_two_packets(measured: Measurement) -> None:
    flow = flow_of(measured, "heavy-1")
    which = flow.left & (flow.queue.left.payload_bytes > 0)
    ports, times = flow.queue.left.destination_port[which], flow.queue.left_s[which]
    each = [np.diff(times[ports == port]) for port in np.unique(ports)]
    whole = [gaps for gaps in each if len(gaps) == 9]
    assert len(whole) > 20
    assert {tuple(np.flatnonzero(gaps > RTT_S / 2).tolist()) for gaps in whole} == {(1, 5)}


def test_users_have_their_shares_of_one_process(measured: Measurement) -> None:
    """Binomial: within five standard deviations; and no two users have arrivals in common."""
    counts = np.array([len(flow.endpoints.requests) for flow in measured.flows])
    total, shares = counts.sum(), np.array([0.6, 0.2, 0.2])
    deviation = np.sqrt(total * shares * (1 - shares))
    assert (np.abs(counts - total * shares) < 5 * deviation).all(), counts
    starts_s = np.concatenate([flow.endpoints.requests.start_s for flow in measured.flows])
    assert len(np.unique(starts_s)) == total > 90
