"""Routers move traffic around a link that is down, in the real kernel, at the planned moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from computed import by_name
from left_behind import flow_of

from fairc.compiler import Cell
from fairc.compiler.plan import MetricRequest
from fairc.runtime import validity
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.metrics import goodput

SPEC = """fexp 1
experiment rerouting {
  topology {
    node server, client
    router left, short, long, right
    link server -- left, right -- client { rate = 1Gbit/s }
    link left -- short { rate = 10Mbit/s  delay = 10ms  queue = fifo(50pkt)  down every 6s from 3s for 2s }
    link short -- right { rate = 10Mbit/s  delay = 10ms  queue = fifo(50pkt) }
    link left -- long, long -- right { rate = 5Mbit/s  delay = 20ms  queue = fifo(50pkt) }
  }
  flow f { cca = cubic  workload = bulk }
  flow p { over = udp  workload = ping(every: 10ms) }
  duration = 12s
  measure  = [goodput, rtt]
}
"""
OUTAGES_S = ((3.0, 5.0), (9.0, 11.0))


def during(flow: FlowRecord, begin_s: float, end_s: float) -> list[int]:
    """Return how many frames of a flow came to each of its bottlenecks in a time."""
    counts = []
    for one in flow.passages:
        t_s = one.queue.seconds(one.queue.entered)[one.entered]
        counts.append(int(((t_s >= begin_s) & (t_s < end_s)).sum()))
    return counts


def test_the_set_up_is_as_planned(measured: Measurement) -> None:
    assert validity.judge(measured) == ("valid", ())


@pytest.mark.parametrize("name", ["f", "p"])
def test_packets_cross_the_other_way_exactly_while_the_link_is_down(
    measured: Measurement, name: str
) -> None:
    flow = flow_of(measured, name)
    assert [one.queue.place[1] for one in flow.passages] == ["left-eth1", "left-eth2"]
    first, second = OUTAGES_S
    for begin_s, end_s in ((0.0, first[0]), (first[1], second[0]), (second[1], 12.0)):
        near, far = during(flow, begin_s, end_s)
        assert near >= 90
        assert far == 0
    for begin_s, end_s in OUTAGES_S:
        near, far = during(flow, begin_s, end_s)
        assert near == 0
        assert far >= 90


def test_the_first_packet_after_the_failure_takes_the_other_way(measured: Measurement) -> None:
    """Pings come every 10 ms, so the first one is there within that and a delay of 100 us."""
    one = flow_of(measured, "p").passages[1]
    t_s = one.queue.seconds(one.queue.entered)[one.entered]
    assert 3.0 <= float(t_s.min()) < 3.0101


def test_round_trips_are_those_of_the_way(measured: Measurement) -> None:
    """40 ms, and 80 ms while the link is down; what waits in queues is on top."""
    trips = measured.round_trips(flow_of(measured, "p"))
    down = np.zeros(len(trips.sent_s), np.bool_)
    for begin_s, end_s in OUTAGES_S:
        down |= (trips.sent_s >= begin_s) & (trips.sent_s < end_s)
    assert 0.080 < float(trips.rtt_s[down].min()) < 0.085
    assert 0.040 < float(trips.rtt_s[~down].min()) < 0.045


def test_recovery_is_from_what_the_other_way_has(measured: Measurement) -> None:
    """Of 5 Mbit/s, not of 10."""
    edges_s = np.array([2.0, 3.0, 4.0, 5.0, 6.0])
    bits = measured.capacity_bits(flow_of(measured, "f"), edges_s)
    assert bits.tolist() == pytest.approx([10e6, 5e6, 5e6, 10e6], rel=1e-3)
    options: dict[str, Any] = {"after": 3.0, "to": 0.7, "slot": 0.5}
    values = by_name(measured, "recovery_time", "f", **options)
    assert values["recovery_time.reached"] == 1.0
    (moved,) = goodput.METRIC.compute(measured, MetricRequest(name="goodput", sessions=("f",)))
    assert 5e6 < (moved.value or 0) < 9e6


def test_a_route_that_did_not_change_makes_the_cell_invalid(measured: Measurement) -> None:
    fewer = {node: done[:1] for node, done in measured.reroutings.items()}
    verdict, reasons = validity.judge(replace(measured, reroutings=fewer))
    assert verdict == "invalid"
    assert any("the routes of left changed 1 times, not 4" in reason for reason in reasons)


def test_routers_alone_change_their_routes(cell: Cell) -> None:
    changing = {node.name: node.kind for node in cell.nodes if node.route_changes}
    assert {"left", "right"} <= changing.keys()
    assert "host" not in changing.values()
