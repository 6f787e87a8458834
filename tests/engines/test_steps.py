"""Steps: each packet is marked, or not, by the queue that it finds or the time that it waited, as
the captures in front of and behind the queue show.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
topology laboratory {
  node s, step, tail, one, many, codel
  router r
  link s -- r { rate = 100Mbit/s }
  link r -> step  { rate = 4Mbit/s  delay = 5ms  queue = red(limit: 100pkt, min: 8pkt, max: 8pkt, ecn: on) }
  link r -> tail  { rate = 4Mbit/s  delay = 5ms  queue = red(limit: 100pkt, min: 8pkt, max: 8pkt) }
  link r -> one   { rate = 20Mbit/s  delay = 5ms  queue = fq(100pkt, flows: 1, ce_threshold: 20ms) }
  link r -> many  { rate = 4Mbit/s  delay = 5ms  queue = fq_codel(100pkt, target: 1s, interval: 2s, ce_threshold: 20ms) }
  link r -> codel { rate = 4Mbit/s  delay = 5ms  queue = codel(100pkt, target: 1s, interval: 2s, ce_threshold: 20ms) }
  link step -> r, tail -> r, one -> r, many -> r, codel -> r { rate = 100Mbit/s  delay = 5ms }
}
experiment steps {
  topology = laboratory()
  flow step  { from = s  to = step   cca = dctcp  ecn = accurate  workload = bulk }
  flow tail  { from = s  to = tail   cca = dctcp  ecn = accurate  workload = bulk }
  flow one   { from = s  to = one    over = quic  cca = reno  ecn = on  workload = bulk }
  flow other { from = s  to = one    cca = dctcp  ecn = accurate  workload = bulk }
  flow many  { from = s  to = many   cca = dctcp  ecn = accurate  workload = bulk }
  flow codel { from = s  to = codel  cca = dctcp  ecn = accurate  workload = bulk }
  duration = 6s
  measure  = [goodput]
}
"""
ECT, CE = 2, 3
STEP_PACKETS, THRESHOLD_S = 8, 0.020
NEAR_S = 5e-6
"""CoDel counts time in 1024 ns; the clock goes on by a nanosecond at each reading."""


def queue_of(measured: Measurement, flow: str) -> QueueRecord:
    return next(each.queue for each in measured.flows if each.name == flow)


def fates(queue: QueueRecord) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.int64]]:
    """Which packets that left could be marked when they came, which are marked, and the index of
    each as it came."""
    found = queue.through.found
    came = np.flatnonzero(found >= 0)
    could = queue.entered.tos[came] & CE == ECT
    return could, queue.left.tos[found[came]] & CE == CE, came


def waiting(queue: QueueRecord, at: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many bytes each packet finds waiting: those that came before it, less those that left."""
    found = queue.through.found
    stays = np.where(found >= 0, queue.entered.frame_bytes, 0)
    before = np.concatenate(([0], np.cumsum(stays)))[at]
    gone = np.searchsorted(queue.left.time_ns, queue.entered.time_ns[at], side="right")
    return np.asarray(before - np.concatenate(([0], np.cumsum(queue.left.frame_bytes)))[gone])


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


def test_a_packet_that_finds_k_packets_is_marked_whatever_was_before(measured: Measurement) -> None:
    queue = queue_of(measured, "step")
    could, marked, came = fates(queue)
    finds = waiting(queue, came) >= STEP_PACKETS * queue.interface.frame_bytes
    assert marked.sum() > 20
    assert (could & ~marked).sum() > 200
    assert (finds[could] == marked[could]).all()
    assert queue.through.lost.sum() == 0


def test_without_ecn_it_is_dropped(measured: Measurement) -> None:
    queue = queue_of(measured, "tail")
    every = np.arange(len(queue.entered))
    finds = waiting(queue, every) >= STEP_PACKETS * queue.interface.frame_bytes
    assert finds.sum() >= 5
    assert (finds == queue.through.lost)[~queue.through.pending].all()


@pytest.mark.parametrize("flow", ["one", "many", "codel"])
def test_a_packet_that_waited_longer_is_marked(measured: Measurement, flow: str) -> None:
    queue = queue_of(measured, flow)
    could, marked, came = fates(queue)
    waited_s = queue.delay_s[queue.through.found[came]]
    clear = could & (abs(waited_s - THRESHOLD_S) > NEAR_S)
    assert marked.sum() > 20
    assert (clear & ~marked).sum() > 200
    assert ((waited_s > THRESHOLD_S)[clear] == marked[clear]).all()
    assert queue.through.lost.sum() == 0


def test_one_queue_for_all_flows_is_first_in_first_out(measured: Measurement) -> None:
    queue = queue_of(measured, "one")
    arrival_s = queue.arrival_s[~np.isnan(queue.arrival_s)]
    assert (np.diff(arrival_s) >= 0).all()
    assert len({*zip(queue.left.destination_port.tolist(), strict=True)}) == 2
