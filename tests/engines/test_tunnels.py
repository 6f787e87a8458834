"""Tunnels on the fast engine: bytes on the wire, ECN inside and outside, what queues see."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairc.compiler import Cell
from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

SPEC = """fexp 1
experiment tunnels {
  sweep { (mode, header) = [(copy, 60B), (clear, 20B), (none, 20B)] }
  topology {
    node server, client
    router left, middle, right
    link server -- left, right -- client { rate = 1Gbit/s }
    link left -> middle  { rate = 20Mbit/s  delay = 5ms  queue = fq_codel(1000pkt)  dscp = cs1 }
    link middle -> right { rate = 8Mbit/s   delay = 5ms  queue = fq_codel(1000pkt) }
    link right -> middle, middle -> left { rate = 20Mbit/s  delay = 5ms }
    tunnel vpn when mode != none { from = left  to = right  header = header  ecn = mode }
  }
  flow f { cca = cubic  ecn = on  dscp = ef  workload = bulk }
  flow g { cca = cubic  ecn = on  workload = bulk }
  flow h { cca = cubic  ecn = on  workload = bulk }
  duration = 8s
  warmup   = 2s
  measure  = [goodput, throughput, marks]
}
"""
HEADERS = {"copy": 60, "clear": 20, "none": 0}
RATE_BPS, BEGIN_S, END_S = 8e6, 2.0, 8.0
ECN, ECT, CE, EF, CS1 = 3, 2, 3, 46, 8


@pytest.fixture(scope="module")
def by_mode(
    cells: tuple[Cell, ...], each_measured: tuple[Measurement, ...]
) -> dict[str, Measurement]:
    found = {cell.bindings["mode"]: each for cell, each in zip(cells, each_measured, strict=True)}
    assert found.keys() == HEADERS.keys()
    return found


def queue_of(measured: Measurement) -> QueueRecord:
    """Return the queue of the slowest link; that of the link before it is observed, too."""
    (place,) = {flow.plan.bottleneck for flow in measured.flows}
    (queue,) = (queue for queue in measured.queues if queue.place == place)
    return queue


@pytest.mark.parametrize("mode", HEADERS)
def test_the_set_up_is_as_planned(by_mode: dict[str, Measurement], mode: str) -> None:
    assert validity.judge(by_mode[mode]) == ("valid", ())


@pytest.mark.parametrize("mode", HEADERS)
def test_each_packet_on_the_wire_has_the_header_more(
    by_mode: dict[str, Measurement], mode: str
) -> None:
    """Data over TCP with timestamps: 14 bytes of Ethernet, 20 of IP, 32 of TCP, and the tunnel's."""
    measured, header = by_mode[mode], HEADERS[mode]
    queue = queue_of(measured)
    data = queue.left.payload_bytes > 0
    assert data.sum() > 3000
    added = queue.left.frame_bytes[data] - queue.left.payload_bytes[data]
    assert set(added.tolist()) == {14 + 20 + 32 + header}
    assert queue.left.frame_bytes.max() == 1514
    assert {flow.plan.mtu for flow in measured.flows} == {1500 - header}


@pytest.mark.parametrize("mode", HEADERS)
def test_goodput_is_what_the_header_leaves(by_mode: dict[str, Measurement], mode: str) -> None:
    """A busy link carries rate x (MTU - header - 52) / (MTU + 14) of payload."""
    edges_s = np.array([BEGIN_S, END_S])
    total = sum(float(flow.delivered_bytes(edges_s)[0]) for flow in by_mode[mode].flows)
    goodput_bps = 8 * total / (END_S - BEGIN_S)
    assert goodput_bps == pytest.approx(RATE_BPS * (1500 - HEADERS[mode] - 52) / 1514, rel=0.01)


def test_copied_bits_are_marked_outside_and_come_inside(by_mode: dict[str, Measurement]) -> None:
    """The marks that leave the queue are those that the far end takes in, one by one."""
    measured = by_mode["copy"]
    queue = queue_of(measured)
    data = queue.left.payload_bytes > 0
    assert (queue.left.own_tos[data] & ECN == ECT).mean() > 0.95  # not what is sent again
    marked = int((queue.left.tos & ECN == CE).sum())
    assert marked > 10
    right = next(end for end in measured.tunnels if end.name == "vpn.right-vpn.tunnel")
    assert right.decapsulated[ECT][CE] == marked
    assert right.dropped == 0
    left = next(end for end in measured.tunnels if end.name == "vpn.left-vpn.tunnel")
    assert left.encapsulated[ECT] == sum(right.decapsulated[ECT]) + int(
        (queue.through.lost & (queue.entered.own_tos & ECN == ECT)).sum()
    )


def test_what_is_not_capable_outside_is_dropped_instead(by_mode: dict[str, Measurement]) -> None:
    queue = queue_of(by_mode["clear"])
    data = queue.left.payload_bytes > 0
    assert not (queue.left.tos & ECN).any()
    assert (queue.left.own_tos[data] & ECN == ECT).mean() > 0.95
    assert queue.through.lost.sum() > 10


def test_a_queue_by_flows_sees_one_flow_in_the_tunnel(by_mode: dict[str, Measurement]) -> None:
    """fq_codel serves three flows in turn, so packets change places; in a tunnel none does."""
    for mode, measured in by_mode.items():
        queue = queue_of(measured)
        came = np.where(queue.through.certain, queue.arrival_s, np.nan)
        later = np.fmax.accumulate(came) - came > 0
        assert later.any() == (mode == "none"), mode


def test_code_points_are_copied_outside_and_kept_inside(by_mode: dict[str, Measurement]) -> None:
    """The link in front of the bottleneck gives what it sees another one."""
    for mode, measured in by_mode.items():
        flow = measured.flows[0]
        packets = queue_of(measured).left.select(flow.left)
        assert set((packets.tos >> 2).tolist()) == {CS1}
        assert set((packets.own_tos >> 2).tolist()) == {CS1 if mode == "none" else EF}


def test_other_bits_and_lost_packets_make_the_cell_invalid(by_mode: dict[str, Measurement]) -> None:
    measured = by_mode["copy"]
    queue = queue_of(measured)
    own_tos = queue.entered.own_tos & ~ECN
    other = dataclasses.replace(queue, entered=dataclasses.replace(queue.entered, own_tos=own_tos))
    verdict, reasons = validity.judge(dataclasses.replace(measured, queues=(other,)))
    assert verdict == "invalid"
    assert "another DSCP or ECN than the tunnel gives it" in reasons[0]
    missed = tuple(dataclasses.replace(end, missed=1) for end in measured.tunnels)
    verdict, reasons = validity.judge(dataclasses.replace(measured, tunnels=missed))
    assert verdict == "invalid"
    assert "vpn.left-vpn.tunnel missed 1 packets" in reasons[0]
