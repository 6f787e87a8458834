"""Hosts that discover the MTU of a path: from routers' answers, and where packets just get lost."""

from __future__ import annotations

import numpy as np
import pytest

from fairc.runtime import validity
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.pcap import Packets

SPEC = """fexp 1
experiment discovered {
  topology = bottleneck(rate: 10Mbit/s, rtt: 40ms, queue: fifo(100pkt)) with { LINK }
  hosts { pmtu = discover }
  flow a { cca = cubic  start = 0s  workload = file(3MB) }
  flow b { over = quic  cca = cubic  start = 0s  workload = file(3MB) }
  deadline = 60s
  measure = [fct, retransmissions]
}
"""
LINKS = {
    "answers": "link left -- right { mtu = 1300B }",
    "silence": "link left -> right { loss = loss(100%, above: 1300B) }",
}
SPECS = {name: SPEC.replace("LINK", link) for name, link in LINKS.items()}
MTU, FIRST, TCP = 1300, 10, 6
Cells = dict[str, list[Measurement]]


def of(packets: Packets, protocol: int) -> Packets:
    """Return those with data of one flow: over TCP, or QUIC."""
    tcp = packets.protocol == TCP
    mine = tcp if protocol == TCP else (packets.protocol != TCP)
    return packets.select(mine & (packets.payload_bytes > 200))


@pytest.mark.parametrize("name", sorted(LINKS))
def test_its_cells_are_valid(runs: Cells, name: str) -> None:
    (found,) = runs[name]
    assert validity.judge(found) == ("valid", ())


@pytest.mark.parametrize("name", sorted(LINKS))
def test_all_data_arrive_in_packets_that_fit(runs: Cells, name: str) -> None:
    (found,) = runs[name]
    queue = found.flows[0].queue
    assert int(queue.delivered.ip_bytes.max()) <= MTU
    for flow in found.flows:
        assert flow.end_s < 59, flow.name
    assert int(of(queue.delivered, 17).ip_bytes.max()) > MTU - 30  # probes end within 20 bytes
    assert int(of(queue.delivered, TCP).ip_bytes.max()) > 1000


def test_a_router_answers_and_tcp_sends_what_fits_a_round_trip_later(
    runs: Cells,
) -> None:
    """Too large are the packets of the first window alone; the next segments fill the MTU."""
    (found,) = runs["answers"]
    queue = found.flows[0].queue
    sent = of(queue.left, TCP)
    assert set(np.unique(sent.ip_bytes).tolist()) >= {MTU}
    options = found.flows[0].plan.options
    assert options.initial_window_packets == FIRST
    sent_s = queue.seconds(sent)
    assert float(sent_s.min()) < 3 * 0.04 + 0.02  # handshake, request, answer of the router


def test_a_black_hole_is_found_by_timeouts(runs: Cells) -> None:
    """Linux takes a path for a black hole after `tcp_retries1` timeouts, and then 1024 bytes."""
    (found,) = runs["silence"]
    queue = found.flows[0].queue
    sent = of(queue.left, TCP)
    large = sent.ip_bytes > MTU
    assert int(large.sum()) >= FIRST
    gone = queue.behind.lost[(queue.left.protocol == TCP) & (queue.left.ip_bytes > MTU)]
    assert gone.all()
    first_s = float(queue.seconds(of(queue.delivered, TCP)).min())
    assert first_s > 0.2 + 0.4 + 0.8
