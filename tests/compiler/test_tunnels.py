"""Tunnels in the plan: who takes them, which way, and what fits; what of them is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from specs import codes_of, only_cell_of
from tables import rows

from fairc.compiler import Cell
from fairc.compiler.plan import cell_json
from fairc.compiler.plan.consistency import contradiction
from fairc.runtime.measurement.paths import Paths


def spec(body: str, flows: str = "flow f { cca = cubic  workload = bulk }") -> str:
    return f"""fexp 1
experiment tunnels {{
  topology {{
    node server, client
    router a, b, c, d
    link server -- a, d -- client {{ rate = 1Gbit/s }}
    {body}
  }}
  {flows}
  duration = 5s
  measure  = [goodput]
}}
"""


INNER = "tunnel t { from = a  to = c  header = 60B }"
CHAIN = "link a -- b, b -- c, c -- d { rate = 10Mbit/s  delay = 5ms }\n"


def nodes_of(cell: Cell) -> list[str]:
    """The nodes that the data of the only flow leaves, hops of links left out."""
    kept = {n.name for n in cell.nodes if n.kind != "hop"}
    ends = {node for t in cell.tunnels for node, _ in (t.a, t.b)}
    way = Paths(cell).of(cell.flows[0])
    return [node for node, _ in way if node in kept | ends]


def test_packets_that_pass_both_ends_take_the_tunnel() -> None:
    cell = only_cell_of(spec(CHAIN + "tunnel t { from = b  to = d  header = 60B }"))
    assert nodes_of(cell) == ["server", "a", "b", "b-t", "b", "c", "d", "d-t", "d"]
    back = [node for node, _ in Paths(cell).back(cell.flows[0])]
    assert back.index("d-t") < back.index("c") < back.index("b-t") < back.index("a")
    assert cell.flows[0].mtu == 1440


def test_the_header_counts_where_the_bottleneck_is_in_the_tunnel() -> None:
    slow = "link a -- b, c -- d { rate = 10Mbit/s }  link b -- c { rate = 5Mbit/s }\n"
    inside = only_cell_of(spec(slow + "tunnel t { from = b  to = c  header = 28B }"))
    outside = only_cell_of(spec(slow + "tunnel t { from = c  to = d  header = 28B }"))
    assert (inside.flows[0].header_bytes, outside.flows[0].header_bytes) == (28, 0)
    assert (inside.flows[0].frame_bytes, outside.flows[0].frame_bytes) == (1514, 1486)


def test_a_tunnel_leads_through_others() -> None:
    body = CHAIN + "tunnel t { from = a  to = d  header = 60B }\n"
    body += "tunnel u { from = b  to = c  header = 40B }"
    cell = only_cell_of(spec(body))
    expected = ["server", "a", "a-t", "a", "b", "b-u", "b", "c", "c-u", "c", "d", "d-t", "d"]
    assert nodes_of(cell) == expected
    assert cell.flows[0].mtu == 1400
    paths = Paths(cell)
    way = paths.of(cell.flows[0])
    added = dict(zip([node for node, _ in way], paths.added_bytes(way), strict=True))
    assert added["b-u"] == 100 and added["c-u"] == 60 and added["d-t"] == 0


def test_of_two_at_one_router_the_longer_one_is_outside() -> None:
    body = CHAIN + "tunnel t { from = a  to = d  header = 60B }\n"
    body += "tunnel u { from = a  to = c  header = 40B }"
    expected = ["server", "a", "a-t", "a", "a-u", "a", "b", "c", "c-u", "c", "d", "d-t", "d"]
    assert nodes_of(only_cell_of(spec(body))) == expected


def test_mtu_limits_what_is_inside() -> None:
    body = CHAIN + "tunnel t { from = a  to = d  header = 60B  mtu = 1420B }"
    assert only_cell_of(spec(body)).flows[0].mtu == 1420
    wide = (
        CHAIN.replace("delay", "mtu = 1560B  delay") + "tunnel t { from = a  to = d  header = 60B }"
    )
    assert only_cell_of(spec(wide)).flows[0].mtu == 1500


def test_routers_move_a_tunnel_around_a_link_that_is_down() -> None:
    body = """link a -- b, b -- d { rate = 10Mbit/s  delay = 1ms  down from 1s to 2s }
    link a -- c, c -- d { rate = 5Mbit/s  delay = 5ms }
    tunnel t { from = a  to = d  header = 60B }"""
    cell = only_cell_of(spec(body))
    paths = Paths(cell)
    first, then = (paths.of(cell.flows[0], at_ns) for at_ns in (0, 10**9))
    assert "b" in [node for node, _ in first] and "c" in [node for node, _ in then]
    assert [node for node, _ in then].count("a-t") == 1
    assert cell.flows[0].header_bytes == 60


def test_what_a_packet_passes_is_not_part_of_a_preset_alone() -> None:
    text = """fexp 1
experiment t {
  topology = dumbbell(rate: 10Mbit/s, rtt: 20ms) with {
    tunnel vpn { from = left  to = right  header = 60B }
  }
  flow f { cca = cubic  workload = bulk }
  duration = 5s
  measure = [goodput]
}
"""
    cell = only_cell_of(text)
    assert {tunnel.name for tunnel in cell.tunnels} == {"vpn"}
    assert '"tunnels"' in cell_json(cell)
    without = only_cell_of(text.replace("tunnel vpn", "tunnel vpn when 1 > 2"))
    assert without.tunnels == () and '"tunnels"' not in cell_json(without)


REFUSED = """
tunnel t { from = a  to = d  header = 19B } |  | out-of-range
tunnel t { from = a  to = a  header = 20B } |  | self-link
tunnel t { from = server  to = d  header = 20B } |  | wrong-type
tunnel t { from = a  to = e  header = 20B } |  | unknown-node
tunnel t { from = a  to = d } |  | missing-key
tunnel t { from = a  to = d  header = 60B  mtu = 1441B } |  | tunnel-above-mtu
tunnel t { from = a  to = d  header = 925B } |  | tunnel-above-mtu
tunnel t { from = a  to = b  header = 20B } tunnel t { from = b  to = c  header = 20B } |  | duplicate-name
tunnel t { from = a  to = d  header = 60B } | flow f { over = udp  workload = onoff(rate: 1Mbit/s, on: 1s, off: 1s, packet: 1441B) } | packet-above-mtu
"""


@pytest.mark.parametrize(("body", "flows", "expected"), rows(REFUSED))
def test_what_cannot_be_is_refused(body: str, flows: str, expected: str) -> None:
    text = spec(CHAIN + body, flows) if flows else spec(CHAIN + body)
    assert set(codes_of(text)) == {expected}


def test_contradictions_in_a_plan_are_found() -> None:
    cell = only_cell_of(spec(CHAIN + "tunnel t { from = a  to = d  header = 60B }"))
    (tunnel,) = cell.tunnels
    assert contradiction(cell) == ""
    for other, words in [
        (replace(tunnel, b=("b", "b-eth0")), "not the one interface of a hop"),
        (replace(tunnel, b=tunnel.a), "at the same interface"),
        (replace(tunnel, header_bytes=19), "smaller than that of IPv4"),
    ]:
        assert words in contradiction(replace(cell, tunnels=(other,)))
    assert "same name" in contradiction(replace(cell, tunnels=(tunnel, tunnel)))
