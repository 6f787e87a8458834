"""Links that lose all packets of a kind, and that let packets skip the delay at a distance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.pcap import Packets

KINDS = """fexp 1
experiment kinds {
  sweep { lost = [loss(100%, of: ce), loss(100%, of: ect, above: 1000B), loss(100%, above: 1000B), loss(100%, of: syn), loss(100%, of: handshake)] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: red(100pkt, ecn: on)) with { link left -> right { loss = lost } }
  flow a { over = quic  ecn = on  cca = cubic  workload = bulk }
  flow b { cca = cubic  ecn = on  workload = bulk }
  flow u { over = udp  rate = 1Mbit/s  workload = bulk }
  duration = 4s
  measure = [goodput, loss_rate]
}
"""
GAPS = """fexp 1
experiment gaps {
  sweep { how = [reorder(100%, gap: 5), reorder(50%, gap: 2)] }
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms) with { link left -> right { reorder = how } }
  flow u { over = udp  start = 0s  rate = 2Mbit/s  workload = bulk }
  duration = 5s
  measure = [goodput, datagrams.reordered]
}
"""
Bools = NDArray[np.bool_]
QUIC_AND_TCP = (5001, 5002)
"""Ports of the servers, which say nothing but their part of handshakes as long as none is over."""
SPECS = {"kinds": KINDS, "gaps": GAPS}


@pytest.mark.parametrize("name", ["kinds", "gaps"])
def test_its_cells_are_valid(runs: dict[str, list[Measurement]], name: str) -> None:
    for measured in runs[name]:
        assert validity.judge(measured) == ("valid", ())


def header(packets: Packets) -> list[tuple[int, ...]]:
    """Return what tells packets apart that the link does not change."""
    columns = (packets.ip_id, packets.source_port, packets.sequence, packets.payload_digest)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize(
    ("cell", "is_lost"),
    [
        (0, lambda p: p.tos % 4 == 3),
        (1, lambda p: (p.tos % 4 != 0) & (p.frame_bytes > 1014)),
        (2, lambda p: p.frame_bytes > 1014),
        (3, lambda p: (p.protocol == 6) & (p.flags // 2 % 2 == 1)),
        (4, lambda p: (p.protocol == 6) | np.isin(p.source_port, QUIC_AND_TCP)),
    ],
)
def test_just_the_packets_of_a_kind_are_lost(
    runs: dict[str, list[Measurement]], cell: int, is_lost: Callable[[Packets], Bools]
) -> None:
    """Headers counted on both sides of the link, without the matching of packets that checks use."""
    (queue,) = (each for each in runs["kinds"][cell].queues if each.place[0] == "left")
    on_the_way = queue.left.time_ns > queue.left.time_ns[-1] - 30_000_000
    before = queue.left.select((queue.left.ip_bytes > 0) & ~on_the_way)
    sent, came = Counter(header(before)), Counter(header(queue.delivered))
    gone = Counter(header(before.select(is_lost(before))))
    assert sum(gone.values()) > 0
    assert sent - came == gone


def skips(measured: Measurement) -> NDArray[np.intp]:
    """Return which packets of the flow, by their number, came without the delay of 20 ms."""
    queue = measured.flows[0].queue
    assert (queue.behind.found[:-20] >= 0).all()
    arrived_s = queue.seconds(queue.delivered)[queue.behind.found[:-20]]
    return np.flatnonzero(arrived_s - queue.seconds(queue.left)[:-20] < 0.01)


def test_every_fifth_packet_skips_the_delay(runs: dict[str, list[Measurement]]) -> None:
    assert set(np.diff(skips(runs["gaps"][0])).tolist()) == {5}


def test_of_those_behind_a_gap_half_skip_the_delay(runs: dict[str, list[Measurement]]) -> None:
    """One packet has the delay, then each skips it with 1/2: distances are 1 and a geometric one."""
    apart = np.diff(skips(runs["gaps"][1]))
    assert apart.min() == 2
    error = 3 / np.sqrt(len(apart))
    assert float((apart == 2).mean()) == pytest.approx(0.5, abs=error / 2)
    assert float(apart.mean()) == pytest.approx(3.0, abs=error * np.sqrt(2))
