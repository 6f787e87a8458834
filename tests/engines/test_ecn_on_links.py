"""Links that bleach or mark: what the kernel's filters do to ECN, and what flows make of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
topology laboratory {
  node s, asks, quiet, all, plain
  router r
  link s -- r { rate = 100Mbit/s }
  link r -> asks  { rate = 4Mbit/s  delay = 5ms  queue = codel(100pkt, ecn: on)  ecn = bleach }
  link r -> quiet { rate = 4Mbit/s  queue = codel(100pkt, ecn: on)  ecn = bleach }
  link r -> all   { rate = 4Mbit/s  delay = 5ms  queue = fifo(100pkt)  ecn = mark }
  link r -> plain { rate = 4Mbit/s  delay = 5ms  queue = fifo(100pkt)  ecn = mark }
  link asks -> r, quiet -> r, all -> r, plain -> r { rate = 100Mbit/s  delay = 5ms }
}
experiment middleboxes {
  topology = laboratory()
  flow asks  { from = s  to = asks   cca = reno  ecn = on  workload = bulk }
  flow quiet { from = s  to = quiet  over = quic  cca = reno  ecn = on  workload = bulk }
  flow all   { from = s  to = all    cca = reno  ecn = on  workload = bulk }
  flow plain { from = s  to = plain  over = udp  rate = 2Mbit/s  workload = bulk }
  duration = 4s
  measure  = [goodput]
}
"""
ECN, ECT, CE = 3, 2, 3


def queue_of(measured: Measurement, flow: str) -> QueueRecord:
    return next(each.queue for each in measured.flows if each.name == flow)


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


@pytest.mark.parametrize(("flow", "least"), [("asks", 100), ("quiet", 1)])
def test_a_link_that_bleaches_clears_marks_and_capability(
    measured: Measurement, flow: str, least: int
) -> None:
    """QUIC sees that no mark arrives, and asks no more (RFC 9000, section 13.4.2)."""
    queue = queue_of(measured, flow)
    before, after = queue.left.tos & ECN, queue.delivered.tos & ECN
    assert (before == ECT).sum() >= least
    assert len(after) > 200
    assert (after == 0).all()


def test_the_queue_in_front_of_it_still_marks(measured: Measurement) -> None:
    """So its sender never learns of these marks, and the queue stays full."""
    queue = queue_of(measured, "asks")
    assert (queue.left.tos & ECN == CE).sum() > 20


def test_a_link_that_marks_marks_what_can_be_marked(measured: Measurement) -> None:
    queue = queue_of(measured, "all")
    sent = np.flatnonzero(queue.behind.found >= 0)
    before = queue.left.tos[sent] & ECN
    after = queue.delivered.tos[queue.behind.found[sent]] & ECN
    assert (before == ECT).sum() > 50
    assert (after[before == ECT] == CE).all()
    assert (after[before == 0] == 0).all()


def test_it_leaves_others_alone(measured: Measurement) -> None:
    queue = queue_of(measured, "plain")
    assert len(queue.delivered) > 200
    assert not queue.delivered.tos.any()


def test_a_filter_that_was_not_in_force_makes_the_cell_invalid(measured: Measurement) -> None:
    """As if the link had let every packet pass as it was."""
    queue = queue_of(measured, "all")
    found = np.flatnonzero(queue.behind.found >= 0)
    tos = queue.delivered.tos.copy()
    tos[queue.behind.found[found]] = queue.left.tos[found]
    same = dataclasses.replace(queue, delivered=dataclasses.replace(queue.delivered, tos=tos))
    others = tuple(same if each is queue else each for each in measured.queues)
    verdict, reasons = validity.judge(dataclasses.replace(measured, queues=others))
    assert verdict == "invalid"
    assert "another DSCP or ECN" in reasons[0]
