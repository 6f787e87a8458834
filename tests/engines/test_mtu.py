"""Links of several MTUs in the real kernel: what is sent over them, and how much of it is
payload.
"""

from __future__ import annotations

import numpy as np
import pytest
from left_behind import flow_of

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement, pcap

RATE_BPS = 3_000_000
SPEC = """fexp 1
topology laboratory {
  node s, full, small, jumbo, tunnel, file, source
  router r, far
  link s -- r { rate = 200Mbit/s  mtu = 9000B }
  link r -> full   { rate = 3Mbit/s  delay = 10ms  queue = fifo(30pkt) }
  link r -> small  { rate = 3Mbit/s  delay = 10ms  queue = fifo(30pkt)  mtu = 576B }
  link r -> jumbo  { rate = 3Mbit/s  delay = 10ms  queue = cake(30pkt, rtt: 1s)  mtu = 9000B }
  link r -> tunnel { rate = 3Mbit/s  delay = 10ms  queue = fifo(30pkt)  mtu = 1280B }
  link r -> far    { rate = 3Mbit/s  delay = 10ms  queue = fifo(30pkt) }
  link far -> r    { rate = 100Mbit/s  delay = 10ms }
  link far -- file, far -- source { rate = 100Mbit/s  mtu = 1000B }
  link full -> r, small -> r, jumbo -> r, tunnel -> r { rate = 100Mbit/s  delay = 10ms }
}
experiment mtus {
  topology = laboratory()
  flow full   { from = s  to = full    cca = cubic  start = 0s  workload = bulk }
  flow small  { from = s  to = small   cca = cubic  start = 0s  workload = bulk  initial_window = 20pkt }
  flow jumbo  { from = s  to = jumbo   cca = cubic  start = 0s  workload = bulk }
  flow tunnel { from = s  to = tunnel  cca = cubic  over = quic  start = 0s  workload = bulk }
  flow file   { from = s  to = file    over = udp  rate = 1Mbit/s  start = 0s  workload = file(500kB) }
  flow source { from = s  to = source  over = udp  start = 0s  workload = onoff(1Mbit/s, on: 1s, off: 10ms) }
  duration = 8s
  warmup   = 2s
  measure  = [goodput]
}
"""
PATHS = {"full": 1500, "small": 576, "jumbo": 9000, "tunnel": 1280, "file": 1000, "source": 1000}


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    """The guest's CPU may be busy: six flows start at once."""
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


@pytest.mark.parametrize(("name", "mtu"), PATHS.items())
def test_the_largest_packet_is_the_smallest_mtu_of_the_path(
    measured: Measurement, name: str, mtu: int
) -> None:
    flow = flow_of(measured, name)
    assert flow.plan.mtu == mtu
    assert flow.queue.entered.frame_bytes[flow.entered].max() == mtu + 14
    assert flow.queue.left.frame_bytes[flow.left].max() == mtu + 14


def test_nothing_was_cut_up_or_refused_on_the_way(measured: Measurement) -> None:
    """No fragment, and no ICMP that says one would be needed: the only ICMP is of pings."""
    for queue in measured.queues:
        for packets in (queue.entered, queue.left, queue.delivered):
            assert not packets.fragment.any()
        icmp = queue.entered.protocol == pcap.ICMP
        assert (queue.seconds(queue.entered)[icmp] < 0).all()


@pytest.mark.parametrize("name", ["full", "small", "jumbo"])
def test_goodput_is_the_share_of_payload(measured: Measurement, name: str) -> None:
    """A busy link carries (MTU - 52) bytes of payload in each MTU + 14."""
    flow = flow_of(measured, name)
    mtu = PATHS[name]
    seconds, sizes = flow.queue.left_s[flow.left], flow.queue.left.frame_bytes[flow.left]
    late = (seconds > 2.0) & (seconds <= 8.0)
    full = sizes[late] == mtu + 14
    assert full.mean() > 0.99
    payload = flow.queue.left.payload_bytes[flow.left][late]
    goodput_bps = 8 * float(payload[1:].sum()) / float(np.ptp(seconds[late]))
    expected_bps = RATE_BPS * (mtu - 52) / (mtu + 14)
    assert goodput_bps == pytest.approx(expected_bps, rel=0.01)


def test_a_file_over_udp_is_cut_into_packets_of_the_path(cell: Cell, measured: Measurement) -> None:
    """500 kB in payloads of 1000 - 28 bytes."""
    flow = flow_of(measured, "file")
    assert int(flow.entered.sum()) == -(-500_000 // 972)
    (done,) = flow.endpoints.reports["received"]
    assert done["packets"] == 515


def test_the_initial_window_counts_small_segments(measured: Measurement) -> None:
    """20 segments of 524 bytes leave the server before the first acknowledgement."""
    flow = flow_of(measured, "small")
    entered_s = flow.queue.seconds(flow.queue.entered)[flow.entered]
    sizes = flow.queue.entered.frame_bytes[flow.entered]
    first_s = entered_s[sizes == 590].min()
    assert int(((entered_s < first_s + 0.015) & (sizes == 590)).sum()) == 20
