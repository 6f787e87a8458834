"""Addresses, names and routes, on networks drawn at random."""

from __future__ import annotations

from ipaddress import IPv4Interface, IPv4Network
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from specs import compilation_of

from fairc.compiler.passes.routing import Routing, _tree
from fairc.compiler.passes.wiring import Wiring
from fairc.compiler.plan import Cell, Node

FIXTURE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a connected network: routers in a random tree with extra links, hosts at its edges."""
    routers = [f"router_with_a_long_name_{n}" for n in range(draw(st.integers(1, 6)))]
    pairs = [(routers[draw(st.integers(0, n - 1))], routers[n]) for n in range(1, len(routers))]
    for _ in range(draw(st.integers(0, 4))):
        a, b = draw(st.sampled_from(routers)), draw(st.sampled_from(routers))
        if a != b:
            pairs.append((a, b))
    hosts = [f"h{n}" for n in range(draw(st.integers(2, 5)))]
    pairs += [(host, draw(st.sampled_from(routers))) for host in hosts]
    delays = [draw(st.integers(0, 20)) for _ in pairs]
    return {"hosts": hosts, "routers": routers, "pairs": pairs, "delays": delays}


def build(make: SimpleNamespace, drawn: dict[str, Any]) -> Cell:
    """Compile a drawn network with a flow from each host to the next."""
    links = [
        make.link(a, b, make.way(10_000_000, delay))
        for (a, b), delay in zip(drawn["pairs"], drawn["delays"], strict=True)
    ]
    hosts = drawn["hosts"]
    flows = [make.flow(f"f{n}", hosts[n], hosts[(n + 1) % len(hosts)]) for n in range(len(hosts))]
    net = make.network(hosts, drawn["routers"], links)
    cell: Cell = make.cell(make.scenario(net, flows))
    return cell


def owner(cell: Cell, address: str) -> Node:
    """Return the node that has an address."""
    return next(
        node
        for node in cell.nodes
        if any(str(IPv4Interface(i.address).ip) == address for i in node.interfaces)
    )


def next_hop(node: Node, address: str) -> str | None:
    """Return where a node sends packets for an address: the longest prefix, as Linux does."""
    for interface in node.interfaces:
        if IPv4Interface(address).ip in IPv4Interface(interface.address).network:
            return address
    best = max(
        (r for r in node.routes if IPv4Interface(address).ip in IPv4Network(r.destination)),
        key=lambda route: IPv4Network(route.destination).prefixlen,
        default=None,
    )
    return best.via if best else None


def walk(cell: Cell, origin: str, address: str) -> list[str]:
    """Follow the routes of the plan from a node to an address; return the nodes on the way."""
    node, seen = next(n for n in cell.nodes if n.name == origin), [origin]
    while node is not owner(cell, address):
        via = next_hop(node, address)
        assert via is not None, f"{node.name} has no route to {address}"
        assert any(
            IPv4Interface(via).ip in IPv4Interface(i.address).network for i in node.interfaces
        ), "the next hop is on a cable of this node"
        node = owner(cell, via)
        assert node.name not in seen, "a loop"
        seen.append(node.name)
    return seen


@FIXTURE
@given(drawn=networks())
def test_addresses_and_names_are_sound(make: SimpleNamespace, drawn: dict[str, Any]) -> None:
    cell = build(make, drawn)
    addresses = [i.address for node in cell.nodes for i in node.interfaces]
    assert len(set(addresses)) == len(addresses)
    assert all(IPv4Interface(a).ip in IPv4Network("10.0.0.0/8") for a in addresses)
    of = {(n.name, i.name): IPv4Interface(i.address) for n in cell.nodes for i in n.interfaces}
    for cable in cell.cables:
        assert of[cable.a].network == of[cable.b].network
        assert of[cable.a].network.prefixlen == 30
    assert len({of[cable.a].network for cable in cell.cables}) == len(cell.cables)
    for node in cell.nodes:
        names = [interface.name for interface in node.interfaces]
        assert len(set(names)) == len(names)
        assert all(1 <= len(name) <= 15 for name in names)


@FIXTURE
@given(drawn=networks())
def test_every_host_reaches_every_host(make: SimpleNamespace, drawn: dict[str, Any]) -> None:
    cell = build(make, drawn)
    kinds = {node.name: node.kind for node in cell.nodes}
    for destination in cell.nodes:
        if destination.kind == "host":
            address = destination.interfaces[0].address.partition("/")[0]
            for origin in drawn["hosts"]:
                path = walk(cell, origin, address)
                assert all(kinds[name] != "host" for name in path[1:-1])


@FIXTURE
@given(drawn=networks())
def test_no_path_has_fewer_links(make: SimpleNamespace, drawn: dict[str, Any]) -> None:
    """Compare with a plain breadth-first search over the links as drawn."""
    cell = build(make, drawn)
    kinds = {node.name: node.kind for node in cell.nodes}
    for flow in cell.flows:
        walked = [name for name in walk(cell, flow.client, flow.address) if kinds[name] != "hop"]
        distance, frontier = {flow.client: 0}, [flow.client]
        for name in frontier:
            for pair in drawn["pairs"]:
                if name in pair:
                    other = pair[1 - pair.index(name)]
                    if other not in distance:
                        distance[other] = distance[name] + 1
                        frontier.append(other)
        assert len(walked) - 1 == distance[flow.server]


@FIXTURE
@given(drawn=networks())
def test_the_base_rtt_is_what_the_hops_add(make: SimpleNamespace, drawn: dict[str, Any]) -> None:
    """Walk both ways through the plan and add up the netem delays."""
    cell = build(make, drawn)
    nodes = {node.name: node for node in cell.nodes}
    for flow in cell.flows:
        client = nodes[flow.client].interfaces[0].address.partition("/")[0]
        total = 0
        for origin, address in ((flow.server, client), (flow.client, flow.address)):
            path = walk(cell, origin, address)
            for here, onward in pairwise(path):
                for cable in cell.cables:
                    for near, far in ((cable.a, cable.b), (cable.b, cable.a)):
                        if (near[0], far[0]) == (here, onward) and nodes[here].kind == "hop":
                            ends = {i.name: i for i in nodes[here].interfaces}
                            impairment = ends[near[1]].impairment
                            total += impairment.delay_ns if impairment else 0
        assert flow.base_rtt_ns == total


def test_ties_go_to_the_lower_delay_then_to_the_first(make: SimpleNamespace) -> None:
    fast, slow = make.way(1_000_000, 1), make.way(1_000_000, 5)
    hosts, routers = ["c1", "s1"], ["r1", "r2", "up", "down"]
    edges = [make.link("s1", "r1", fast), make.link("c1", "r2", fast)]
    detours = [
        [make.link("r1", mid, way), make.link(mid, "r2", way)]
        for mid, way in (("up", slow), ("down", fast))
    ]
    net = make.network(hosts, routers, [*edges, *detours[0], *detours[1]])
    cell = make.cell(make.scenario(net, [make.flow("f")]))
    assert "down" in walk(cell, "c1", cell.flows[0].address)
    same = [[make.link("r1", m, fast), make.link(m, "r2", fast)] for m in ("up", "down")]
    net = make.network(hosts, routers, [*edges, *same[0], *same[1]])
    cell = make.cell(make.scenario(net, [make.flow("f")]))
    assert "up" in walk(cell, "c1", cell.flows[0].address)


@pytest.mark.parametrize("through", ["nothing", "a host"])
def test_an_unreachable_client_is_reported_at_the_flow(make: SimpleNamespace, through: str) -> None:
    way = make.way(1_000_000, 1)
    links = [make.link("s1", "x1", way)]
    if through == "a host":
        links.append(make.link("x1", "c1", way))
    net = make.network(["s1", "x1", "c1"], [], links)
    flow = make.flow("f")
    found = make.found(make.scenario(net, [flow])).values()
    assert [(d.code, d.span) for d in found] == [("unreachable", flow.span)]


def test_parallel_links_have_hops_of_their_own(make: SimpleNamespace) -> None:
    way = make.way(1_000_000, 10)
    net = make.network(
        ["s1", "c1"],
        ["r1"],
        [make.link("s1", "r1", way), make.link("r1", "c1", way), make.link("r1", "c1", way)],
    )
    cell = make.cell(make.scenario(net, [make.flow("f")]))
    hops = [node.name for node in cell.nodes if node.kind == "hop"]
    assert hops == ["s1-r1", "r1-c1", "r1-c1-2"]


@FIXTURE
@given(drawn=networks(), changes=st.booleans(), down=st.sets(st.integers(0, 8)))
def test_hosts_share_the_ways_to_their_fork(
    make: SimpleNamespace, drawn: dict[str, Any], changes: bool, down: set[int]
) -> None:
    """The ways to a host, shared from the first fork on, are those that Dijkstra's algorithm finds
    from the host itself.
    """
    extra = [("h0", drawn["routers"][0])] if len(drawn["pairs"]) % 2 else []
    delays = [*drawn["delays"], 3]
    links = [
        make.link(a, b, make.way(10_000_000, delay))
        for (a, b), delay in zip([*drawn["pairs"], *extra], delays, strict=False)
    ]
    wiring = Wiring(make.network(drawn["hosts"], drawn["routers"], links))
    down = {number for number in down if number < len(links)}
    routing = Routing.of(wiring, paths_change=changes, down=down)
    kinds = {node: wiring.kinds[node] for node in wiring.kinds}
    avoided = {n for n in down if kinds[links[n].a] == kinds[links[n].b]}
    for host, homes in routing.homes.items():
        for home in homes:
            first = [home] if len(homes) > 1 else wiring.egresses[host]
            whole = _tree(wiring, host, first, avoided)
            found = {node: routing.towards[home].get(node) for node in kinds}
            assert {node: way for node, way in found.items() if way is not None} == whole


def test_hashes_choose_no_way_back_within_a_link() -> None:
    """The nodes of a NAT or a policer and of the link beside it count as one for routing."""
    text = """fexp 1
experiment e {
  topology {
    node server, client
    router a, up, low, b
    link server -- a { rate = 1Gbit/s }
    link a -- up, a -- low, up -- b, low -- b { rate = 10Mbit/s  delay = 5ms }
    link b -> client { rate = 10Mbit/s  delay = 5ms  policer = token_bucket(rate: 5Mbit/s, burst: 100kB) }
    link client -> b { rate = 10Mbit/s }
  }
  routes = ecmp(hash: ports)
  flow f[i] for i in 1..8 { cca = cubic  workload = bulk }
  duration = 1s
  measure = [goodput]
}
"""
    (cell,) = compilation_of(text).cells()
    assert len(cell.flows) == 8


def test_hosts_of_a_preset_that_no_flow_uses_are_no_mistake() -> None:
    """A chain has hosts for the cross traffic of each hop."""
    compilation = compilation_of(
        """fexp 1
experiment e {
  topology = chain(hops: 3)
  flow a { cca = cubic  workload = file(1MB) }
  measure = [goodput]
}
"""
    )
    list(compilation.cells())
    assert [d.code for d in compilation.diagnostics] == []
