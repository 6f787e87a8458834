"""Code points: what hosts mark, what links remark, and what the tins of CAKE make of it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.selection import acks_of, packets_of
from fairc.words.dscp import CODE_POINTS

SPEC = """fexp 1
topology laboratory {
  node s, c
  router near, far
  link s -- near, far -- c { rate = 100Mbit/s }
  link near -> far { rate = 4Mbit/s  delay = 5ms  queue = cake(1000pkt, diffserv: diffserv4)  dscp = af11 }
  link far -> near { rate = 4Mbit/s  delay = 5ms  queue = fifo(100pkt)  dscp = cs0 }
}
experiment classes {
  topology = laboratory()
  flow plain { from = s  to = c  cca = reno  workload = bulk }
  flow back  { from = s  to = c  cca = reno  dscp = cs1  workload = bulk }
  flow quick { from = s  to = c  over = quic  cca = reno  ecn = on  dscp = af41  workload = bulk }
  flow probe { from = s  to = c  dscp = ef  workload = ping(every: 50ms) }
  flow up    { from = c  to = s  cca = reno  dscp = ef  stop = 4s  workload = bulk }
  duration = 6s
  measure  = [goodput]
}
"""
POINTS = {"plain": "cs0", "back": "cs1", "quick": "af41", "probe": "ef", "up": "ef"}
ECN = 3


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


@pytest.mark.parametrize("name", [name for name in POINTS if name != "plain"])
def test_a_flow_has_its_code_point_both_ways(measured: Measurement, name: str) -> None:
    (flow,) = [each.plan for each in measured.flows if each.name == name]
    seen = 0
    for queue in measured.queues:
        for mine in (packets_of(measured.cell, flow, queue.left), acks_of(flow, queue.left)):
            assert (queue.left.tos[mine] >> 2 == CODE_POINTS[POINTS[name]]).all()
            seen += bool(mine.sum() > 50)
    assert seen == 2


def test_links_remark_everything_and_leave_ecn_alone(measured: Measurement) -> None:
    expected = {"near": CODE_POINTS["af11"], "far": 0}
    for queue in measured.queues:
        sent = np.flatnonzero((queue.behind.found >= 0) & (queue.left.ip_bytes > 0))
        before, after = queue.left.tos[sent], queue.delivered.tos[queue.behind.found[sent]]
        assert len(sent) > 500
        assert (after >> 2 == expected[queue.place[0]]).all()
        assert (after & ECN == before & ECN).all()
    assert any((queue.left.tos & ECN).any() for queue in measured.queues)


def test_cake_gives_background_the_least(measured: Measurement) -> None:
    """`cs1` is in the tin of bulk, whose weight is a sixteenth of that of best effort
    (`test_cake_tins.py`).
    """
    got = {flow.name: flow.queue.left.ip_bytes[flow.left].sum() for flow in measured.flows}
    assert got["back"] < got["plain"] / 2


def test_packets_that_a_host_did_not_mark_make_the_cell_invalid(measured: Measurement) -> None:
    queue = next(each.queue for each in measured.flows if each.name == "quick")
    left = dataclasses.replace(queue.left, tos=queue.left.tos & ECN)
    blank = dataclasses.replace(queue, left=left)
    others = tuple(blank if each is queue else each for each in measured.queues)
    verdict, reasons = validity.judge(dataclasses.replace(measured, queues=others))
    assert verdict == "invalid"
    assert any("another code point" in reason for reason in reasons)
