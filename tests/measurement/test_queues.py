"""Packets are followed through a queue: delay, drops, backlog, random loss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from frames import Frame, ethernet, ipv4, pcap, tcp, timestamps, udp
from hypothesis import given
from hypothesis import strategies as st
from madeartefacts import Made, crowded, lossy
from madecell import FULL, MS, Transport, made_cell
from madepackets import Sent, steady, through_queue

from fairc.runtime.measurement import ArtefactError, load
from fairc.runtime.measurement.matching import Order, match
from fairc.runtime.measurement.pcap import Packets, parse
from fairc.runtime.measurement.replay import DropTail


def packets(*named: tuple[int, int]) -> Packets:
    """TCP packets as (time, IP id)."""
    frames = []
    for time_ns, ip_id in named:
        segment = tcp(5001, 40000, bytes(100), sequence=7, options=timestamps(1, 2))
        frames.append(
            Frame(time_ns, ethernet(ipv4("10.0.1.1", "10.0.11.1", 6, segment, ip_id=ip_id)))
        )
    return parse(pcap(frames)).packets


def test_each_packet_is_found_and_a_retransmission_is_another_packet() -> None:
    found = match(packets((1, 1), (2, 2), (3, 3)), packets((5, 1), (6, 3)), 0)
    assert found.found.tolist() == [0, -1, 1]
    assert found.lost.tolist() == [False, True, False]
    assert not found.strangers.any()


def test_of_packets_of_one_name_the_last_came_through_and_which_is_not_certain() -> None:
    found = match(packets((1, 9), (2, 9), (3, 9)), packets((4, 9), (5, 9)), 0)
    assert found.found.tolist() == [-1, 0, 1]
    assert not found.certain.any()
    assert match(packets((1, 9), (2, 9)), packets((4, 9), (5, 9)), 0).certain.all()


def test_packets_of_one_name_that_may_still_wait_are_the_last() -> None:
    found = match(packets((1, 9), (2, 9), (3, 9)), packets((4, 9)), 2)
    assert found.found.tolist() == [0, -1, -1]
    assert found.pending.tolist() == [False, True, True]


def test_a_packet_came_between_its_neighbours() -> None:
    """Of the three nines, the second one lies between 1 and 2 on both sides."""
    up = packets((1, 9), (100_000, 1), (200_000, 9), (300_000, 2), (400_000, 9))
    down = packets((500_000, 1), (600_000, 9), (700_000, 2))
    found = match(up, down, 0, "all")
    assert found.found.tolist() == [-1, 0, 1, 2, -1]
    assert found.certain.all()
    assert not match(up, down, 0, "mixed").certain[1]


def test_a_drop_tail_queue_dropped_what_met_a_full_queue() -> None:
    """It holds two: the second and third nine meet 1 and the first nine, the last one meets only a
    nine.
    """
    up = packets((0, 1), (10, 9), (20, 9), (30, 9), (1_000_010, 9))
    down = packets((1_000_000, 1), (2_000_000, 9), (3_000_000, 9))
    found = match(up, down, 0, "all", DropTail(2, in_bytes=False, slack=0))
    assert found.found.tolist() == [0, 1, -1, -1, 2]
    assert found.certain.all()
    assert match(up, down, 0, "all").found.tolist() == [0, -1, -1, 1, 2]


def test_a_packet_cannot_be_found_before_it_came() -> None:
    found = match(packets((7, 9)), packets((4, 9)), 0)
    assert found.found.tolist() == [-1]
    assert found.strangers.tolist() == [True]


@pytest.mark.parametrize("order", ["all", "flows"])
def test_only_so_many_are_pending_as_wait_and_only_after_the_last_found(order: Order) -> None:
    up = packets((1, 1), (2, 2), (3, 3), (4, 4), (5, 5))
    down = packets((8, 2))
    assert match(up, down, 2, order).pending.tolist() == [False, False, False, True, True]
    assert match(up, down, 2, order).lost.tolist() == [True, False, True, False, False]
    assert match(up, down, 9, order).lost.tolist() == [True, False, False, False, False]
    assert match(up, down, 0, order).lost.tolist() == [True, False, True, True, True]


def test_without_an_order_any_of_the_missing_may_wait() -> None:
    up = packets((1, 1), (2, 2), (3, 3), (4, 4), (5, 5))
    down = packets((8, 2))
    assert match(up, down, 2).pending.tolist() == [False, False, False, True, True]
    assert not match(up, down, 4).lost.any()


def datagrams(*named: tuple[int, int]) -> Packets:
    """UDP datagrams as (time, number in the payload), all with the IP id 0."""
    frames = []
    for time_ns, number in named:
        payload = b"@connects" + number.to_bytes(2, "big") + bytes(1200)
        datagram = ipv4("10.0.1.1", "10.0.11.1", 17, udp(5001, 40000, payload))
        frames.append(Frame(time_ns, ethernet(datagram)))
    return parse(pcap(frames)).packets


def test_datagrams_of_one_id_are_told_apart_by_their_payload() -> None:
    found = match(datagrams((1, 1), (2, 2), (3, 3), (4, 4)), datagrams((5, 1), (6, 4), (7, 3)), 0)
    assert found.found.tolist() == [0, -1, 2, 1]
    assert found.lost.tolist() == [False, True, False, False]
    assert not found.strangers.any()


def test_nothing_matches_nothing() -> None:
    found = match(packets(), packets((1, 1)), 3)
    assert len(found.found) == 0
    assert found.strangers.tolist() == [True]
    assert match(packets((1, 1)), packets(), 0).lost.tolist() == [True]


@given(st.lists(st.tuples(st.integers(0, 6), st.booleans()), max_size=30))
def test_a_fifo_that_drops_is_followed_whatever_the_names(arrivals: list[tuple[int, bool]]) -> None:
    """Where names differ the drops are found one by one; always, their number is right."""
    up = packets(*((t, name) for t, (name, _) in enumerate(arrivals)))
    passed = [(t + 1000, name) for t, (name, kept) in enumerate(arrivals) if kept]
    found = match(up, packets(*passed), 0)
    assert found.lost.sum() == sum(not kept for _, kept in arrivals)
    assert not found.strangers.any()
    names = [name for name, _ in arrivals]
    for at, (name, kept) in enumerate(arrivals):
        if names.count(name) == 1:
            assert found.lost[at] == (not kept)


@pytest.mark.parametrize("transports", [("tcp", "tcp"), ("quic", "tcp"), ("quic", "udp")])
def test_delay_drops_and_loss_are_those_of_the_model(
    tmp_path: Path, transports: tuple[Transport, ...]
) -> None:
    made = lossy(0.03, 15, transports=transports)
    queue = load(made.cell, made.write(tmp_path)).queues[0]
    left = [p for p in made.packets if p.left_ns is not None]
    expected = [((p.left_ns or 0) - p.sent.entered_ns) / 1e9 for p in left]
    assert queue.delay_s.tolist() == pytest.approx(expected, abs=1e-9)
    dropped = [p.sent.entered_ns / 1e9 for p in made.packets if p.left_ns is None]
    assert queue.drops_s.tolist() == pytest.approx(dropped, abs=1e-9)
    assert queue.behind.lost.tolist() == [p.delivered_ns is None for p in left]
    assert not queue.through.pending.any()
    for number, flow in enumerate(load(made.cell, tmp_path).flows):
        ours = [p.sent.flow == number for p in left]
        assert flow.left.tolist() == ours
        assert flow.entered.sum() == sum(p.sent.flow == number for p in made.packets)


def test_backlog_counts_what_waits_at_a_time(tmp_path: Path) -> None:
    """Three frames at once: the first leaves at once, the others 12.112 ms apart."""
    cell = made_cell(flows=1)
    made = Made(cell, through_queue(cell, [Sent(100 * MS + n, 0) for n in range(3)]), 400 * MS)
    queue = load(cell, made.write(tmp_path)).queues[0]
    at = np.array([0.05, 0.1001, 0.1001 + 0.012112, 0.1001 + 2 * 0.012112])
    assert queue.backlog_bytes(at).tolist() == [0, 2 * FULL, FULL, 0]
    assert queue.backlog_packets(at).tolist() == [0, 2, 1, 0]
    assert queue.largest_backlog() == (2, 2 * FULL)
    # The second slot ends empty, and both packets waited in it.
    packets, data = queue.most(np.array([0.0, 0.1, 0.2, 0.3]))
    assert (packets.tolist(), data.tolist()) == ([0, 2, 0], [0, 2 * FULL, 0])
    # What waits when a slot begins counts in it.
    edges = np.array([0.1 + 0.006, 0.1 + 0.02, 0.3])
    assert queue.most(edges)[0].tolist() == [2, 1]


def test_packets_for_elsewhere_are_not_in_the_queue(tmp_path: Path) -> None:
    """What comes to the router for a server leaves by another interface."""
    made = crowded()
    folder = made.write(tmp_path)
    before = len(load(made.cell, folder).queues[0].entered)
    file = folder / "entry-r1-eth0.pcap"
    stray = Frame(0, ethernet(ipv4("10.0.1.1", "10.0.2.1", 6, tcp(1, 2, b""))))
    file.write_bytes(file.read_bytes() + pcap([stray])[24:])
    queue = load(made.cell, folder).queues[0]
    assert len(queue.entered) == before


def test_packets_that_still_wait_are_not_lost(tmp_path: Path) -> None:
    """The capture ends while two frames wait in the queue and one is on its way behind it."""
    made = crowded()
    made.packets = [p for p in made.packets if p.left_ns is not None]
    *rest, third, second, last = made.packets
    cut = [
        *rest,
        third.__class__(third.sent, third.number, third.left_ns, None),
        second.__class__(second.sent, second.number, None, None),
        last.__class__(last.sent, last.number, None, None),
    ]
    folder = Made(made.cell, cut, made.ended_ns).write(tmp_path)
    for name in ("qdisc-before.json", "qdisc-after.json"):
        text = (folder / name).read_text()
        one = text.replace('"drops": 2', '"drops": 0').replace('"drops": 1', '"drops": 0')
        (folder / name).write_text(one)
    after = folder / "qdisc-after.json"
    r1, h = after.read_text().split('"h":')
    after.write_text(
        r1.replace('"qlen": 0', '"qlen": 2') + '"h":' + h.replace('"qlen": 0', '"qlen": 1')
    )
    queue = load(made.cell, folder).queues[0]
    assert (int(queue.through.pending.sum()), int(queue.through.lost.sum())) == (2, 0)
    assert (int(queue.behind.pending.sum()), int(queue.behind.lost.sum())) == (1, 0)


def test_a_bottleneck_on_the_server_is_blind(tmp_path: Path) -> None:
    """Without a router before it, arrival is not seen: backlog and delay are unknown."""
    made = crowded(flows=1)
    cell = made.cell
    s1 = cell.nodes[0]
    r1 = next(n for n in cell.nodes if n.name == "r1")
    shaped = replace(r1.interfaces[2], name="s1-eth0", address="10.0.1.1/24")
    nodes = tuple(replace(n, interfaces=(shaped,)) if n is s1 else n for n in cell.nodes)
    place = ("s1", "s1-eth0")
    captures = tuple(replace(c, queue=place) for c in cell.captures if c.point != "entry")
    flow = replace(cell.flows[0], bottleneck=place)
    blind = replace(cell, nodes=nodes, captures=captures, flows=(flow,))
    queue = load(blind, made.write(tmp_path)).queues[0]
    assert queue.blind
    assert np.isnan(queue.backlog_bytes(np.array([1.0]))).all()
    assert np.isnan(queue.most(np.array([0.0, 1.0]))).all()
    assert not queue.through.lost.any()


def test_flows_are_told_apart_by_address_and_port(tmp_path: Path) -> None:
    cell = made_cell()
    sent = [*steady(900 * MS, 30 * MS, 0), *steady(900 * MS, 50 * MS, 1)]
    made = Made(cell, through_queue(cell, sent), 1200 * MS)
    a, b = load(cell, made.write(tmp_path)).flows
    assert int(a.left.sum()) == sum(p.flow == 0 for p in sent)
    assert int(b.left.sum()) == sum(p.flow == 1 for p in sent)
    edges = np.array([0.0, 10.0])
    assert a.frame_bytes(edges)[0] == pytest.approx(sum(p.frame_bytes for p in sent if not p.flow))
    assert a.frame_bytes(edges)[0] - a.ip_bytes(edges)[0] == pytest.approx(14 * a.left.sum())


def test_a_plan_without_routes_is_said_so(tmp_path: Path) -> None:
    made = crowded()
    nodes = tuple(replace(n, routes=()) for n in made.cell.nodes)
    with pytest.raises(ArtefactError, match="network is broken"):
        load(replace(made.cell, nodes=nodes), made.write(tmp_path))
