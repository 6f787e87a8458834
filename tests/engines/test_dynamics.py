"""Links that change while flows run, in the real kernel: rate, delay, loss, outages, a trace."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from computed import by_name, results
from left_behind import flow_of

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement

FOLDER = Path(__file__).parents[2] / "examples" / "traces"
SPEC = """fexp 1
topology laboratory {
  node s, stepped, moved, broken, traced
  router r
  link s -- r { rate = 100Mbit/s }
  link r -> stepped { rate = 4Mbit/s  delay = 10ms  queue = fifo(40pkt)  at 3s { rate = 1Mbit/s }  at 6s { rate = 3Mbit/s } }
  link r -> moved   { rate = 2Mbit/s  delay = 10ms  queue = fifo(40pkt)  at 3s { delay = 60ms }  at 5s { delay = 20ms  loss = 5% } }
  link r -> broken  { rate = 2Mbit/s  delay = 10ms  queue = fifo(40pkt)  down from 3s to 4s }
  link r -> traced  { rate = trace("walk.down")  delay = 10ms  queue = fifo(300pkt) }
  link stepped -> r, moved -> r, broken -> r, traced -> r { rate = 100Mbit/s  delay = 10ms }
}
experiment dynamics {
  topology = laboratory()
  flow one    { from = s  to = stepped  cca = cubic  workload = bulk }
  flow two    { from = s  to = stepped  cca = cubic  workload = bulk }
  flow moved  { from = s  to = moved    cca = cubic  workload = bulk }
  flow broken { from = s  to = broken   cca = bbr    workload = bulk }
  flow traced { from = s  to = traced   cca = cubic  count = 3  workload = bulk }
  duration = 14s
  warmup   = 1s
  measure  = [goodput]
}
"""


def served_bps(flow: FlowRecord, begin_s: float, end_s: float) -> float:
    left_s, sizes = flow.queue.left_s, flow.queue.left.frame_bytes
    return 8 * float(sizes[(left_s >= begin_s) & (left_s < end_s)].sum()) / (end_s - begin_s)


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    """The guest's CPU may be busy: many hosts start at once."""
    verdict, reasons = validity.judge(measured)
    assert verdict != "invalid", reasons


def test_changes_come_at_their_times(measured: Measurement) -> None:
    late_s = [done.late_s for history in measured.histories.values() for done, _ in history.done]
    assert len(late_s) > 100
    assert max(late_s) < 5e-3
    assert float(np.median(late_s)) < 2e-3


def test_the_rate_follows_the_plan(measured: Measurement) -> None:
    flow = flow_of(measured, "one")
    for begin_s, end_s, rate_bps in ((1, 3, 4e6), (3, 6, 1e6), (6, 14, 3e6)):
        assert served_bps(flow, begin_s, end_s) == pytest.approx(rate_bps, rel=0.01)


def test_metrics_follow_the_rate(measured: Measurement) -> None:
    values = by_name(measured, "fairness", "one", "two")
    assert (values["fairness.jain_session"] or 0) > 0.8
    for name in ("one", "traced"):
        (used,) = results(measured, "utilization", name)
        assert used.value == pytest.approx(0.99, abs=0.011)


def test_the_delay_follows_the_plan_in_order(measured: Measurement) -> None:
    queue = flow_of(measured, "moved").queue
    found = queue.behind.found
    which = found >= 0
    took = queue.seconds(queue.delivered)[found[which]] - queue.sent_s[which]
    left_s = queue.left_s[which]
    for begin_s, end_s, delay_s in ((1, 2.9, 0.01), (3.1, 4.9, 0.06), (5.2, 14, 0.02)):
        inside = took[(left_s > begin_s) & (left_s < end_s)]
        assert inside == pytest.approx(delay_s, abs=1e-3)
    assert (np.diff(found[which]) > 0).all()


def test_losses_begin_when_they_should(measured: Measurement) -> None:
    queue = flow_of(measured, "moved").queue
    lost_s = queue.sent_s[queue.behind.lost]
    assert len(lost_s) > 20
    assert lost_s.min() > 5


def test_nothing_crosses_a_link_that_is_down(measured: Measurement) -> None:
    queue = flow_of(measured, "broken").queue
    down = (queue.sent_s > 3.005) & (queue.sent_s < 3.995)
    assert down.sum() > 3
    assert queue.behind.lost[down].all()
    assert not queue.behind.lost[~down & (queue.sent_s < 2.99)].any()


def test_the_bytes_of_each_bin_of_a_trace_are_sent(cell: Cell, measured: Measurement) -> None:
    """Where packets always wait: the bins of 1 s hold what the trace has, to a frame or two."""
    flow = flow_of(measured, "traced")
    times = np.loadtxt(FOLDER / "walk.down")
    cumulative = []
    for t in range(2, 12):
        sent = served_bps(flow, 2, t + 1e-9) * (t - 2) / 8 / 1514 if t > 2 else 0.0
        cumulative.append((sent, float(((times > 2000) & (times <= 1000 * t)).sum())))
    sent, planned = np.array(cumulative).T
    assert np.abs(sent - planned).max() < 6, (sent, planned)


def test_little_is_sent_while_a_trace_stops(measured: Measurement) -> None:
    queue = flow_of(measured, "traced").queue
    stopped = (queue.left_s > 4.001) & (queue.left_s < 4.4)
    assert stopped.sum() <= 1
