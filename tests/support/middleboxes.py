"""A cell with every middlebox and class of links, for engines whose kernel makes them with tc."""

from __future__ import annotations

import numpy as np

from fairc.mechanisms.devices.policer.record import buckets_of
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
topology laboratory {
  node s, bleach, mark, wash, policed, classes, far
  router r, inner
  link s -- r { rate = 100Mbit/s }
  link r -> bleach  { rate = 2Mbit/s   delay = 2ms  queue = codel(50pkt, ecn: on)  ecn = bleach }
  link r -> mark    { rate = 2Mbit/s   delay = 2ms  queue = fifo(50pkt)  ecn = mark }
  link r -> wash    { rate = 2Mbit/s   delay = 2ms  dscp = cs1 }
  link r -> policed { rate = 10Mbit/s  delay = 2ms  policer = token_bucket(rate: 1Mbit/s, burst: 20kB) }
  link r -> classes { rate = 1Mbit/s   delay = 2ms  queue = prio(ef: fifo(20pkt), cs0: fq_codel(50pkt)) }
  link r -> inner   { rate = 2Mbit/s   delay = 2ms  queue = fq_codel(50pkt) }
  link bleach -> r, mark -> r, wash -> r, policed -> r, classes -> r, inner -> r { rate = 100Mbit/s  delay = 2ms }
  link inner -- far { rate = 100Mbit/s }
  tunnel vpn { from = r  to = inner  header = 60B }
}
experiment middleboxes {
  topology = laboratory()
  flow bleach  { from = s  to = bleach   cca = reno  ecn = on  workload = bulk }
  flow mark    { from = s  to = mark     cca = reno  ecn = on  workload = bulk }
  flow wash    { from = s  to = wash     over = udp  dscp = ef  rate = 500kbit/s  workload = bulk }
  flow policed { from = s  to = policed  over = udp  rate = 2Mbit/s  workload = bulk }
  flow call    { from = s  to = classes  over = udp  dscp = ef  rate = 100kbit/s  workload = bulk(packet: 200B) }
  flow bulk    { from = s  to = classes  cca = reno  ecn = on  workload = bulk }
  flow inside  { from = s  to = far      cca = reno  ecn = on  workload = bulk }
  duration = 3s
  measure  = [goodput]
}
"""
ECN, CE, EF, CS1 = 3, 3, 46, 8


def check(measured: Measurement) -> None:
    """Assert that each of them did to packets what it should; that no other bits were seen is what
    every cell is checked for.
    """
    verdict, reasons = validity.judge(measured)
    # The flow whose marks are bleached fills its queue until its receiver's window ends.
    assert verdict == "valid" or all("flow bleach" in reason for reason in reasons), reasons
    assert verdict != "invalid"
    bleach, mark, wash = (queue_of(measured, name) for name in ("bleach", "mark", "wash"))
    assert (bleach.left.tos & ECN).any() and not (bleach.delivered.tos & ECN).any()
    assert not (mark.left.tos & ECN == CE).any() and (mark.delivered.tos & ECN == CE).any()
    assert set((wash.left.tos >> 2).tolist()) == {EF}
    assert set((wash.delivered.tos >> 2).tolist()) == {CS1}
    (bucket,) = buckets_of(measured)
    assert 0.3 < bucket.dropped.mean() < 0.6  # half of what comes, but for the burst
    classes = queue_of(measured, "call")
    call, bulk = (next(f for f in measured.flows if f.name == name) for name in ("call", "bulk"))
    # A call waits for the frame in service at most; what is behind it waits for a full queue.
    frame_s = 8 * 1514 / 1e6
    assert np.nanmax(classes.delay_s[call.left]) < 1.2 * frame_s
    assert np.nanmean(classes.delay_s[bulk.left]) > frame_s
    inside = queue_of(measured, "inside")
    data = inside.left.payload_bytes > 0
    added = inside.left.frame_bytes[data] - inside.left.payload_bytes[data]
    assert set(added.tolist()) == {14 + 52 + 60}


def queue_of(measured: Measurement, flow: str) -> QueueRecord:
    """Return the bottleneck of a flow."""
    return next(each.queue for each in measured.flows if each.name == flow)
