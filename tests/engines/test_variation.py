"""Links that vary all the time, in the real kernel: what captures show against what is declared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from left_behind import flow_of

from fairc.compiler import Cell
from fairc.compiler.plan import Interface
from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement

SPEC = """fexp 1
topology laboratory {
  node s, cycled, ramped, flapping, gone, steps, lines
  router r
  link s -- r { rate = 100Mbit/s }
  link r -> cycled {
    rate = 4Mbit/s  delay = 10ms  queue = fifo(40pkt)
    every 3s from 2s { rate = uniform(2Mbit/s, 8Mbit/s)  delay = uniform(15ms, 40ms) }
    every 3s from 2s for 500ms { loss = 20% }
  }
  link r -> ramped {
    rate = 4Mbit/s  delay = 10ms  queue = fifo(40pkt)
    at 3s over 6s { rate = 1Mbit/s  delay = 70ms }
  }
  link r -> flapping { rate = 2Mbit/s  delay = 10ms  queue = fifo(40pkt)  down every 4s from 2s for 500ms }
  link r -> gone     { rate = 2Mbit/s  delay = 10ms  queue = fifo(40pkt)  down from 8s }
  link r -> steps { rate = trace("dish.csv")  delay = trace("dish.csv")  loss = trace("dish.csv")  queue = fifo(40pkt) }
  link r -> lines {
    rate = 2Mbit/s  delay = trace("dish.csv", interpolation: linear, every: 20ms, end: hold)  queue = fifo(40pkt)
  }
  link cycled -> r, ramped -> r, flapping -> r, gone -> r, steps -> r, lines -> r { rate = 100Mbit/s  delay = 10ms }
}
experiment variation {
  topology = laboratory()
  flow cycled   { from = s  to = cycled    cca = bbr    workload = bulk }
  flow ramped   { from = s  to = ramped    cca = cubic  count = 3  workload = bulk }
  flow flapping { from = s  to = flapping  cca = bbr    workload = bulk }
  flow gone     { from = s  to = gone      cca = cubic  workload = bulk }
  flow steps    { from = s  to = steps     cca = bbr    count = 3  workload = bulk }
  flow lines    { from = s  to = lines     cca = cubic  workload = bulk }
  duration = 14s
  warmup   = 1s
  measure  = [goodput]
}
"""

FOLDER = Path(__file__).parent
ROWS = np.loadtxt(FOLDER / "dish.csv", delimiter=",", skiprows=2)
PERIOD_S = 6.0  # the last row lasts as long as the one before it

CYCLE_S = 3.0
FIRST_S = 2.0


def hop_of(cell: Cell, name: str) -> Interface:
    (hop,) = [node for node in cell.nodes if node.name == f"r-{name}"]
    return hop.interfaces[1]


def times(flow: FlowRecord) -> tuple[np.ndarray, np.ndarray]:
    """When packets left the queue, and how long they then took; those that arrived, s."""
    queue = flow.queue
    which = queue.behind.found >= 0
    took_s = queue.seconds(queue.delivered)[queue.behind.found[which]] - queue.sent_s[which]
    return queue.sent_s[which], took_s


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


def test_a_ramp_serves_its_integral(measured: Measurement) -> None:
    """From 4 to 1 Mbit/s in 6 s: the mean of the rates at both ends of each interval."""
    queue = flow_of(measured, "ramped").queue
    bits = 8 * queue.left.frame_bytes

    def rate_bps(t_s: float) -> float:
        return 4e6 - 3e6 * min(1.0, max(0.0, (t_s - 3) / 6))

    for begin_s, end_s in ((2, 3), (3, 4), (5, 6), (3, 9), (8, 9), (9, 14)):
        inside = (queue.left_s >= begin_s) & (queue.left_s < end_s)
        served = float(bits[inside].sum()) / (end_s - begin_s)
        planned = (rate_bps(begin_s) + rate_bps(end_s)) / 2
        assert served == pytest.approx(planned, abs=1.5 * 1514 * 8 / (end_s - begin_s))


def test_delay_follows_its_ramp(measured: Measurement) -> None:
    """From 10 to 70 ms in 6 s, in a hundred steps of 0.6 ms, each with its mean."""
    sent_s, took_s = times(flow_of(measured, "ramped"))
    inside = sent_s > 1
    planned = 0.010 + 0.060 * np.clip((sent_s[inside] - 3) / 6, 0, 1)
    assert np.abs(took_s[inside] - planned).max() < 0.35e-3


def test_what_is_drawn_holds_until_it_is_drawn_again(cell: Cell, measured: Measurement) -> None:
    sent_s, took_s = times(flow_of(measured, "cycled"))
    states = [c for c in hop_of(cell, "cycled").changes if c.impairment]
    drawn_ms = {c.impairment.delay_ns / 1e6 for c in states if c.impairment}
    assert len(drawn_ms) == 4, "four periods begin before the end"
    before_s = 0.01
    for turn in range(4):
        begin_s = FIRST_S + turn * CYCLE_S
        (delay_s,) = [
            c.impairment.delay_ns / 1e9 for c in states if c.impairment and c.at_ns == begin_s * 1e9
        ]
        # Where the delay falls, packets stay in order: those sent later arrive behind the others.
        inside = (sent_s > begin_s + max(0.0, before_s - delay_s) + 0.005) & (
            sent_s < begin_s + CYCLE_S - 0.001
        )
        assert took_s[inside] == pytest.approx(delay_s, abs=1e-4)
        before_s = delay_s


def test_losses_stay_in_their_windows(measured: Measurement) -> None:
    queue = flow_of(measured, "cycled").queue
    lost_s = queue.sent_s[queue.behind.lost]
    within = (lost_s - FIRST_S) % CYCLE_S
    assert len(lost_s) > 20
    assert (lost_s > FIRST_S).all() and within.max() < 0.5 + 0.005
    # Each window draws anew: the packets that it loses are not those of the one before.
    numbers = []
    for turn in range(4):
        begin_s = FIRST_S + turn * CYCLE_S
        window = (queue.sent_s > begin_s + 0.005) & (queue.sent_s < begin_s + 0.5)
        numbers.append(tuple(np.flatnonzero(queue.behind.lost[window])[:8]))
    assert len(set(numbers)) == 4


@pytest.mark.parametrize(
    ("name", "down"), [("flapping", [(2, 2.5), (6, 6.5), (10, 10.5)]), ("gone", [(8, 14)])]
)
def test_nothing_crosses_while_a_link_is_down(
    measured: Measurement, name: str, down: list[tuple[float, float]]
) -> None:
    queue = flow_of(measured, name).queue
    lost, sent_s = queue.behind.lost, queue.sent_s
    inside = np.zeros(len(sent_s), bool)
    near = np.zeros(len(sent_s), bool)
    for begin_s, end_s in down:
        inside |= (sent_s > begin_s + 0.005) & (sent_s < end_s - 0.005)
        near |= (sent_s > begin_s - 0.005) & (sent_s < end_s + 0.005)
    assert inside.sum() > 3 and lost[inside].all()
    assert not lost[~near & ~queue.behind.pending].any()


def at_row(t_s: np.ndarray) -> np.ndarray:
    """Return the row of the recording that holds at each time."""
    return ROWS[np.searchsorted(ROWS[:, 0], t_s % PERIOD_S, side="right") - 1]


def test_delay_and_loss_follow_a_recording(measured: Measurement) -> None:
    sent_s, took_s = times(flow_of(measured, "steps"))
    # Near a change packets may be on either side of it, or behind those that left before it.
    settled = sent_s < 14  # after the end nothing changes any more
    for at_s in ROWS[:, 0]:
        settled &= ~((sent_s % PERIOD_S > at_s - 0.005) & (sent_s % PERIOD_S < at_s + 0.030))
    planned_s = at_row(sent_s)[:, 2] / 1e3
    assert settled.sum() > 1000
    assert np.abs(took_s - planned_s)[settled].max() < 1e-4
    queue = flow_of(measured, "steps").queue
    lost_s = queue.sent_s[queue.behind.lost]
    within = lost_s % PERIOD_S
    assert len(lost_s) > 20 and within.min() > 3 - 0.005 and within.max() < 4 + 0.005


def test_a_rate_that_is_recorded_is_served(measured: Measurement) -> None:
    """In seconds in which packets always wait, what leaves is what the recording has."""
    queue = flow_of(measured, "steps").queue
    bits = 8 * queue.left.frame_bytes
    for begin_s in (6, 7, 8, 11, 12):
        inside = (queue.left_s >= begin_s) & (queue.left_s < begin_s + 1)
        planned = at_row(np.array([begin_s + 0.5]))[0, 1] * 1e6
        assert float(bits[inside].sum()) <= planned + 2 * 1514 * 8
        assert float(bits[inside].sum()) > 0.8 * planned


def test_a_delay_follows_the_lines_between_rows(measured: Measurement) -> None:
    """In bins of 20 ms, whose means are at most half a bin away, and at the end the last value."""
    sent_s, took_s = times(flow_of(measured, "lines"))
    planned_s = np.interp(sent_s, [*ROWS[:, 0], PERIOD_S], [*ROWS[:, 2], ROWS[-1, 2]]) / 1e3
    steepest = np.abs(np.diff(ROWS[:, 2]) / np.diff(ROWS[:, 0])).max() / 1e3
    inside = sent_s > 1
    assert np.abs(took_s - planned_s)[inside].max() < 0.020 / 2 * steepest + 1e-4
    assert took_s[sent_s > PERIOD_S + 0.1] == pytest.approx(0.025, abs=1e-4)
