"""Queues that mark: RED and CoDel with ECN in the real kernel, for flows that ask for it and
others; RED at rest.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from computed import results
from left_behind import flow_of

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.record import Window

SPEC = """fexp 1
topology laboratory {
  node s, t, asks, does_not, codel, rests
  router r
  link s -- r, t -- r { rate = 100Mbit/s }
  link r -> asks     { rate = 4Mbit/s  delay = 10ms  queue = red(limit: 100pkt, min: 5%, max: 30%, pmax: 20%, ecn: on) }
  link r -> does_not { rate = 4Mbit/s  delay = 10ms  queue = red(limit: 100pkt, min: 5%, max: 30%, pmax: 20%, ecn: on) }
  link r -> codel    { rate = 4Mbit/s  delay = 10ms  queue = codel(100pkt, ecn: on) }
  link r -> rests    { rate = 4Mbit/s  delay = 10ms  queue = red(limit: 100pkt, min: 5%, max: 50%, pmax: 100%) }
  link asks -> r, does_not -> r, codel -> r, rests -> r { rate = 100Mbit/s  delay = 10ms }
}
experiment marking {
  topology = laboratory()
  flow asks     { from = s  to = asks      cca = reno  ecn = on  workload = bulk }
  flow does_not { from = t  to = does_not  cca = reno            workload = bulk }
  flow codel    { from = s  to = codel     cca = reno  ecn = on  workload = bulk }
  flow burst    { from = t  to = rests     over = udp  rate = 8Mbit/s    workload = bulk  stop = 3s }
  flow thin     { from = t  to = rests     over = udp  rate = 200kbit/s  workload = bulk }
  duration = 8s
  measure  = [goodput]
}
"""


def counters(cell: Cell, folder: Path, flow: str) -> dict[str, Any]:
    """What tc says about the queue at a flow's bottleneck."""
    (place,) = [f.bottleneck for f in cell.flows if f.name == flow]
    document = json.loads((folder / "qdisc-after.json").read_text())
    (queue,) = [
        q for q in document[place[0]] if q["dev"] == place[1] and q["kind"] in ("gred", "codel")
    ]
    for one in queue.get("options", {}).get("vqs", ()):  # RED is the one queue of a `gred`
        queue |= {"marked": one["prob_mark"] + one["forced_mark"]}
    return dict(queue)


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


@pytest.mark.parametrize(("flow", "count"), [("asks", "marked"), ("codel", "ecn_mark")])
def test_packets_of_a_flow_that_asks_are_marked(
    cell: Cell, folder: Path, flow: str, count: str
) -> None:
    queue = counters(cell, folder, flow)
    assert queue[count] >= 3, queue
    assert queue["drops"] < queue[count]


@pytest.mark.parametrize(("flow", "count"), [("asks", "marked"), ("codel", "ecn_mark")])
def test_marks_are_as_many_as_the_queue_counted(
    cell: Cell, folder: Path, measured: Measurement, flow: str, count: str
) -> None:
    """Nothing else that could be marked passes these queues, and nothing is left out."""
    found = results(measured.within(Window(-1.0)), "marks", flow)
    share, number = (value.value for value in found)
    assert number == counters(cell, folder, flow)[count]
    sent = flow_of(measured, flow).entered.sum()
    assert share is not None and number is not None
    assert share == pytest.approx(number / sent, rel=0.02)


def test_a_flow_without_ecn_has_no_marks_to_speak_of(measured: Measurement) -> None:
    for value in results(measured, "marks", "does_not"):
        assert value.value is None
        assert "arrived as ECT" in value.reason


def test_packets_of_another_one_are_dropped(cell: Cell, folder: Path) -> None:
    queue = counters(cell, folder, "does_not")
    assert queue.get("marked", 0) == 0
    assert queue["drops"] >= 3, queue


def test_red_forgets_while_the_link_is_idle(measured: Measurement) -> None:
    """A thin flow loses nothing any more when the burst beside it has been over for a second.

    Linux's `red` beneath a shaper would go on for as many packets as its average holds, 64 and more
    (compiler/targets/tc.py): four seconds of the thin flow.
    """
    (queue,) = {
        flow.queue.name: flow.queue for flow in measured.flows if flow.name == "thin"
    }.values()
    assert (queue.drops_s < 3).sum() >= 3
    assert (queue.left_s > 4).sum() > 50
    assert not (queue.drops_s > 4).any(), queue.drops_s
