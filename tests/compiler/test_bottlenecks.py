"""Which queues count as bottlenecks, and are captured."""

from __future__ import annotations

import pytest
from specs import compilation_of, only_cell_of

from fairc.cell.expansion import MAX_DRAIN_NS, expand
from fairc.compiler import Cell

FILE = """fexp 1
{declared}experiment e {{
  topology = {topology}
  {flows}
  duration = 5s
  measure = [goodput]
}}
"""
ONE = "flow f { cca = cubic  workload = bulk }"


def cell_of(topology: str, flows: str = ONE, declared: str = "") -> Cell:
    return only_cell_of(FILE.format(topology=topology, flows=flows, declared=declared))


def bottlenecks(cell: Cell) -> set[str]:
    """Return where data can wait, as the plan says: `node>neighbour`."""
    ends = {**{c.a: c.b for c in cell.cables}, **{c.b: c.a for c in cell.cables}}
    kinds = {node.name: node.kind for node in cell.nodes}
    found = set()
    for node in cell.nodes:
        for each in node.interfaces:
            if each.bottleneck:
                assert each.queue is not None
                there = ends[node.name, each.name]
                while kinds[there[0]] == "hop":
                    (hop,) = (n for n in cell.nodes if n.name == there[0])
                    (other,) = (i.name for i in hop.interfaces if i.name != there[1])
                    there = ends[there[0], other]
                found.add(f"{node.name}>{there[0]}")
    places = {(n.name, i.name) for n in cell.nodes for i in n.interfaces if i.bottleneck}
    for place in places:
        points = {c.point for c in cell.captures if c.queue == place}
        assert {"entry", "exit", "delivered"} <= points or cell.captured == "none"
    return found


def merged(shared: str, first: str = "", way: str = "") -> str:
    """A topology in which two hosts with links of 10 Mbit/s come together over a shared link."""
    return f"""topology merged {{
  node a, b, client
  router ra, rb, m, x
  link a -- ra, b -- rb, x -- client {{ rate = 100Mbit/s }}
  link ra -> m {{ rate = 10Mbit/s  delay = 10ms  {first} }}
  link rb -> m {{ rate = 10Mbit/s  delay = 10ms }}
  link m -> x {{ {shared}  delay = 10ms }}
  link ra <- m, rb <- m, m <- x {{ rate = 100Mbit/s  delay = 10ms }}
  {way}
}}
"""


TWO = """flow one { from = a  to = client  cca = cubic  workload = bulk }
  flow other { from = b  to = client  cca = cubic  workload = bulk }"""
FIRST = {"ra>m", "rb>m"}


@pytest.mark.parametrize(
    ("topology", "expected"),
    [
        ("bottleneck(rate: 10Mbit/s, rtt: 20ms)", {"left>right"}),
        ("access(rate: 10Mbit/s, rtt: 20ms)", {"left>right"}),
        ("4g()", {"core>station"}),
        ("starlink()", {"station>dish"}),
        ("geo(pep: none)", {"gateway>terminal"}),
        ("chain(hops: 3, rate: 10Mbit/s)", {"r-1>r-2", "r-2>r-3", "r-3>r-4"}),
        ("parking_lot()", {"r1>r2", "r2>r3", "r3>r4"}),
    ],
)
def test_of_presets(topology: str, expected: set[str]) -> None:
    """One where the network has one, also where its rate varies; all of equal links in a row."""
    assert bottlenecks(cell_of(topology)) == expected


def test_of_users_and_of_data_both_ways() -> None:
    flows = """flow down { count = 4  cca = cubic  workload = bulk }
  flow up { from = client[up]  to = server[up]  cca = cubic  workload = bulk }"""
    found = bottlenecks(cell_of("dumbbell(down: 10Mbit/s, up: 5Mbit/s)", flows))
    assert found == {"left>right", "right>left"}


@pytest.mark.parametrize(
    ("shared", "first", "expected"),
    [
        # As much as both links send, or more; or less as it changes, or as one of them does.
        ("rate = 21Mbit/s", "", FIRST),
        ("rate = 20Mbit/s", "", {*FIRST, "m>x"}),
        ("rate = 21Mbit/s  at 1s { rate = 15Mbit/s }", "", {*FIRST, "m>x"}),
        ("rate = 21Mbit/s  every 2s from 1s for 100ms { rate = 0bit/s }", "", {*FIRST, "m>x"}),
        ("rate = 21Mbit/s", "at 2s over 1s { rate = 12Mbit/s }", {*FIRST, "m>x"}),
        # A queue that the file describes is seen.
        ("rate = 21Mbit/s  queue = codel(50pkt)", "", {*FIRST, "m>x"}),
    ],
)
def test_of_links_that_come_together(shared: str, first: str, expected: set[str]) -> None:
    assert bottlenecks(cell_of("merged", TWO, merged(shared, first))) == expected


def test_a_link_behind_a_slow_one_is_none_however_many_there_are() -> None:
    """What comes over one link, and over one before it, comes once."""
    declared = """topology row {
  node a, b, client
  router r1, r2, r3, r4
  link a -- r1, b -- r2, r4 -- client { rate = 100Mbit/s }
  link r1 -> r2 { rate = 10Mbit/s  delay = 10ms }
  link r2 -> r3 { rate = 11Mbit/s  delay = 10ms }
  link r3 -> r4 { rate = 12Mbit/s  delay = 10ms }
  link r1 <- r2, r2 <- r3, r3 <- r4 { rate = 100Mbit/s  delay = 10ms }
}
"""
    assert bottlenecks(cell_of("row", TWO, declared)) == {"r1>r2", "r2>r3"}


def test_in_a_tunnel_packets_grow() -> None:
    """A link that is faster than what comes to it, but not by what the tunnel adds."""
    declared = """topology carried {{
  node server, client
  router near, gate, far
  link server -- near, far -- client {{ rate = 100Mbit/s }}
  link near -> gate {{ rate = 10Mbit/s  delay = 10ms }}
  link gate -> far {{ rate = {rate}  delay = 10ms }}
  link near <- gate, gate <- far {{ rate = 100Mbit/s  delay = 10ms }}
  tunnel vpn {{ from = gate  to = far  header = 60B }}
}}
"""
    for rate, expected in (("15Mbit/s", {"near>gate", "gate>far"}), ("30Mbit/s", {"near>gate"})):
        text = declared.format(rate=rate)
        assert bottlenecks(cell_of("carried", ONE, text)) == expected


def test_hosts_and_proxies_wait_for_their_own_links() -> None:
    """Where a host or a proxy sends, its sockets wait; what comes from them is not limited."""
    declared = """topology own {
  node server, client
  router r
  link server -- r { rate = 10Mbit/s  delay = 10ms  queue = fifo(50pkt) }
  link r -- client { rate = 10Mbit/s  delay = 10ms  queue = fifo(50pkt) }
}
"""
    cell = cell_of("own", ONE, declared)
    assert [f.bottleneck[0] for f in cell.flows] == ["server"]
    # `r` of the same rate is behind it; the host's own queue has nothing captured in front of it.
    assert {c.queue[0] for c in cell.captures if c.point == "entry"} == {"r"}
    found = bottlenecks(cell_of("geo(pep: split, down: 20Mbit/s)"))
    assert found == {"gateway-modem>terminal"}


def test_alone_a_flow_keeps_the_bottlenecks_on_its_path() -> None:
    """Others of which are those of flows that are gone."""
    text = FILE.format(
        declared="",
        topology="chain(hops: 2, rate: 10Mbit/s)",
        flows="""flow long { cca = cubic  workload = bulk }
  flow first { from = s[1]  to = c[1]  cca = cubic  workload = bulk }
  flow second { from = s[2]  to = c[2]  cca = cubic  workload = bulk }""",
    ).replace("[goodput]", "[harm]")
    alone = {c.flows[0].name: c for c in compilation_of(text).cells() if c.baseline}
    queues = {name: {c.queue[0] for c in cell.captures} for name, cell in alone.items()}
    assert queues == {"long": {"r-1", "r-2"}, "first": {"r-1"}, "second": {"r-2"}}


@pytest.mark.parametrize(
    ("feeding", "own", "flows", "expected"),
    [
        ("", "", "", {"near>m"}),
        # Packets come together behind a varying delay, and behind whatever releases several.
        ("jitter = 2ms", "", "", {"near>m", "m>far"}),
        ("at 1s { delay = 5ms }", "", "", {"near>m", "m>far"}),
        ("loss = 1%  repair = arq(tries: 2, delay: 5ms)", "", "", {"near>m", "m>far"}),
        ("transmit = bucket", "", "", {"near>m", "m>far"}),
        ("release = batch(size: 8pkt)", "", "", {"near>m", "m>far"}),
        # It loses packets, or becomes slower.
        ("", "loss = 1%", "", {"near>m", "m>far"}),
        ("", "at 1s { rate = 5Mbit/s }", "", {"near>m", "m>far"}),
        # Acks of an upload join the data; without them only what came over the first link does.
        ("", "", "flow up { from = client  to = third  cca = cubic  workload = bulk }", "both"),
        ("", "", "flow up { from = client  to = server  cca = cubic  workload = bulk }", "up"),
    ],
)
def test_nothing_waits_behind_a_link_of_the_same_rate(
    feeding: str, own: str, flows: str, expected: set[str] | str
) -> None:
    declared = f"""topology row {{
  node server, client, third
  router near, m, far
  link server -- near, m -- third, far -- client {{ rate = 100Mbit/s }}
  link near -> m {{ rate = 10Mbit/s  delay = 10ms  {feeding} }}
  link m -> far {{ rate = 10Mbit/s  delay = 10ms  {own} }}
  link near <- m, m <- far {{ rate = 10Mbit/s  delay = 10ms }}
}}
"""
    found = bottlenecks(cell_of("row", ONE + "\n" + flows, declared))
    if expected == "both":
        expected = {"near>m", "m>far", "far>m"}
    elif expected == "up":
        expected = {"near>m", "far>m"}
    assert found == expected


def test_the_paths_of_multipath_tcp_have_a_bottleneck_each() -> None:
    """Also where each is two links of one rate."""
    declared = """topology phone {
  node server, client
  router core, wifi, mobile
  link server -- core { rate = 1Gbit/s }
  link core -- wifi, wifi -- client { rate = 5Mbit/s  delay = 5ms }
  link core -- mobile, mobile -- client { rate = 5Mbit/s  delay = 20ms }
}
"""
    flow = "flow f { over = mptcp  cca = cubic  workload = bulk }"
    assert bottlenecks(cell_of("phone", flow, declared)) == {"core>wifi", "core>mobile"}


@pytest.mark.parametrize(
    "changed, drains_s",
    [
        ("", 2.14),
        ("at 2s { rate = 1Mbit/s }", 20.14),
        ("at 2s { rate = 1Mbit/s }  at 4s { rate = 20Mbit/s }", 1.14),
        ("at 6s { rate = 1Mbit/s }", 2.14),  # after the end: never
        ("at 2s { rate = 0.1Mbit/s }", MAX_DRAIN_NS / 1e9),
    ],
)
def test_captures_last_until_a_full_queue_has_left_at_the_last_rate(
    changed: str, drains_s: float
) -> None:
    cell = cell_of(
        "bottleneck(rate: 10Mbit/s, rtt: 20ms, queue: fifo(2s))"
        f" with {{ link left -> right {{ {changed} }} }}"
    )
    assert expand(cell)["drain_ns"] / 1e9 == pytest.approx(drains_s, rel=0.01)
