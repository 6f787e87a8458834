"""Changes of links happen at their instant in virtual time, and frames that cross them leave a cell
valid: small frames back to back, so that many come within a microsecond of a change.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from computed import results
from left_behind import flow_of

from fairc.compiler.plan import MetricRequest
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.metrics import share

SPEC = """fexp 1
topology star {
  node s, stepped, moved, broken, copied, stopped, radio, rerouted
  router r, short, long, far
  link s -- r, far -- rerouted { rate = 1Gbit/s }
  link r -> stepped { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  every 10ms for 4ms { rate = 2Mbit/s } }
  link r -> moved   { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  every 10ms for 4ms { delay = 5ms } }
  link r -> broken  { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  down every 10ms from 5ms for 3ms }
  link r -> copied  { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  duplicate = 10%  every 10ms for 4ms { loss = 60% } }
  link r -> stopped { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  every 100ms from 20ms for 30ms { rate = 0bit/s } }
  link r -> radio   { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  release = batch(size: 8pkt)  every 10ms for 4ms { rate = 2Mbit/s } }
  link r -- short   { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt)  down every 20ms from 10ms for 7ms }
  link short -- far { rate = 20Mbit/s  delay = 1ms  queue = fifo(40pkt) }
  link r -- long, long -- far { rate = 20Mbit/s  delay = 2ms  queue = fifo(40pkt) }
  link stepped -> r, moved -> r, broken -> r, copied -> r, stopped -> r, radio -> r { rate = 100Mbit/s  delay = 1ms }
}
experiment changes {
  topology = star()
  flow stepped  { from = s  to = stepped   over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  flow moved    { from = s  to = moved     over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  flow broken   { from = s  to = broken    over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  flow copied   { from = s  to = copied    over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  flow stopped  { from = s  to = stopped   over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  flow radio    { from = s  to = radio     over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  flow rerouted { from = s  to = rerouted  over = udp  rate = 22Mbit/s  workload = bulk(packet: 100B) }
  duration = 600ms
  measure  = [utilization, share]
}
"""


def test_changes_and_the_end_come_at_their_instant(folder: Path) -> None:
    """Each takes the kernel some nanoseconds, one after the other."""
    log = [json.loads(line) for line in (folder / "changes.ndjson").read_text().splitlines()]
    assert len(log) > 500
    assert max(line["t_ns"] - line["at_ns"] for line in log) < 100
    assert min(line["begin_ns"] - line["at_ns"] for line in log) >= 0
    assert 600_000_000 <= json.loads((folder / "cell.json").read_text())["ended_ns"] < 600_000_100


def test_the_cell_is_valid_although_frames_come_with_changes(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())
    crossing = 0
    for queue in measured.queues:
        place = measured.paths.delivery(queue.place)
        if place is not None:
            crossing += int((~queue.known_at(measured.histories[place])).sum())
    assert crossing > 20, "no frame was near a change: this shows nothing"


def test_the_last_bit_decides_whether_an_outage_loses_a_frame(measured: Measurement) -> None:
    queue = flow_of(measured, "broken").queue
    place = measured.paths.delivery(queue.place)
    assert place is not None
    history = measured.histories[place]
    down = np.array([history.is_down(t) for t in queue.sent_s.tolist()])
    begun = np.array([history.is_down(t) for t in queue.left_s.tolist()])
    known = queue.known_at(history) & ~queue.behind.pending
    assert (queue.behind.lost == down)[known].all()
    assert (known & begun & ~down).any(), "none was sent until after the end of an outage"
    assert (known & ~begun & down).any(), "none was being sent as an outage began"


@pytest.mark.parametrize("name", ["stepped", "stopped", "radio", "broken"])
def test_no_link_carries_more_than_its_capacity(measured: Measurement, name: str) -> None:
    """Its queue is never empty, but at first and for what has not come yet at the end."""
    (used,) = results(measured, "utilization", name)
    assert 0.95 < (used.value or 0) <= 1
    (got, *_) = share.METRIC.compute(measured, MetricRequest(name="share", sessions=(name,)))
    assert got.value is not None
    edges_s = np.arange(0.1, 0.5, 0.01)
    queue = flow_of(measured, name).queue
    carried = 8 * queue.carried_bytes(queue.left.frame_bytes, edges_s)
    assert (carried <= queue.capacity_bits(edges_s)).all()
    assert carried == pytest.approx(queue.capacity_bits(edges_s), rel=1e-3)
