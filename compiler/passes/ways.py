"""Ways of a flow's own: past a router (`via`), or by a hash over equal next hops (ECMP).

Such a flow runs between two addresses that no other flow has, and routes lead to these along its
way alone. So every part of a plan, every check and every metric knows which way it takes. Each
router draws the next hop of a flow as a hash would: from the seed of the repetition, the router,
the direction and the flow, uniform over the next hops from which the rest is as short, in links and
then in delay.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from ipaddress import IPv4Address

from fairc.cell.seeds import stream_seed
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import Flow

from .report import Report
from .routing import Routing, Way, Ways
from .wiring import Egress, Wiring

LAST = int(IPv4Address("10.255.255.254"))
"""The first address of a flow's own; the others are below. Cables have those from 10.0.0.0 on."""

Choice = Callable[[str, Sequence[Egress]], Egress]
"""Returns the next hop of a node, of several."""


def own_ways(
    flows: Iterable[Flow], routing: Routing, has_detours: bool, report: Report
) -> dict[str, Way]:
    """Return the ways of flows that have one of their own, by their names.

    has_detours: whether routers move traffic around links that are down.
    """
    found: dict[str, Way] = {}
    several = False
    hashed = None
    for flow in flows:
        usual = routing.between(flow.server, flow.client)
        if not usual or (flow.via is None and flow.way_seed is None):
            continue  # `unreachable` is reported elsewhere
        if _refused(flow, routing, has_detours, report):
            continue
        server, client, shortest = usual[0]
        if flow.via is not None:
            ways = _past(flow, flow.via, (server, client), routing, report)
        else:
            hashed = flow
            ways, forks = _hashed(flow, (server, client), routing.wiring)
            several |= forks
        if ways is None or ways == shortest:
            continue
        number = LAST - 2 * len(found)
        found[flow.name] = (
            replace(server, address=str(IPv4Address(number))),
            replace(client, address=str(IPv4Address(number - 1))),
            ways,
        )
    if hashed is not None and not several:
        report.warn(
            "nothing-to-spread",
            "no router has several equal next hops, so `ecmp` spreads nothing",
            hashed.way_given or hashed.span,
            "next hops are equal where the rest of the way has as many links, and as much delay",
            "leave `routes` out, or make two ways equal",
        )
    return found


def _refused(flow: Flow, routing: Routing, has_detours: bool, report: Report) -> bool:
    """Report what a way of a flow's own does not go with; return whether there was anything."""
    network = routing.wiring.network
    what = "`via`" if flow.via is not None else "`ecmp`"
    found: tuple[str, Label | None] | None = None
    if flow.multipath is not None:
        found = "Multipath TCP, which has the paths of its hosts' links", None
    elif network.tunnels:
        found = "tunnels, which routers choose", Label(network.tunnels[0].span, "a tunnel")
    elif network.proxies:
        found = (
            "proxies, which take what is routed to them",
            Label(network.proxies[0].span, "a proxy"),
        )
    elif has_detours:
        found = "links between routers that go down, around which routers move all traffic", None
    elif flow.via is None and flow.way_of == "ports" and _opens_several(flow):
        found = "several connections in one flow, each of which has its own path", None
    if found is None:
        return False
    many = "several connections" in found[0]
    report.reject(
        "conflicting-way",
        f"{what} does not go with {found[0]}",
        flow.way_given or flow.span,
        labels=(*([found[1]] if found[1] else []),),
        help="write one flow for each, `flow f[i] for i in 1..4`, or `ecmp(hash: hosts)`"
        if many
        else "leave one of them out",
    )
    return True


def _opens_several(flow: Flow) -> bool:
    """Whether a flow has more than one connection in the course of a cell."""
    planned = flow.workload.part
    one_by_one = planned.records in ("transfers", "loads") and not planned.steady
    return flow.connections > 1 or planned.opened > 1 or one_by_one


def _past(
    flow: Flow, router: str, ends: tuple[Egress, Egress], routing: Routing, report: Report
) -> Ways | None:
    """Return the shortest ways past a router, both directions; None: there is none."""
    wiring = routing.wiring

    def first(node: str, following: Sequence[Egress]) -> Egress:
        return following[0]

    found: list[tuple[Egress, ...]] = []
    for origin, end in (ends, ends[::-1]):
        there = _walk(wiring, origin.node, router, first)
        onward = _walk(wiring, router, end.node, first)
        way = (*(there or ()), *(onward or ()))
        nodes = [egress.node for egress in way]
        if there is None or onward is None or len(set(nodes)) < len(nodes):
            why = "no way leads there" if there is None or onward is None else "it would turn round"
            report.reject(
                "no-way-via",
                f"no way from `{origin.node}` to `{end.node}` leads past `{router}`",
                flow.way_given or flow.span,
                note=why,
                help="name a router between the two, or give it a link towards the other end",
            )
            return None
        found.append(way)
    return found[0], found[1]


def _hashed(flow: Flow, ends: tuple[Egress, Egress], wiring: Wiring) -> tuple[Ways | None, bool]:
    """Return the ways that hashes choose, both directions, and whether they had a choice."""
    forks = False

    def choice(direction: str) -> Choice:
        def choose(node: str, following: Sequence[Egress]) -> Egress:
            nonlocal forks
            forks |= len(following) > 1
            key = (flow.server, flow.client) if flow.way_of == "hosts" else (flow.name,)
            number = stream_seed(flow.way_seed or 0, "ecmp", node, direction, *key)
            return following[number % len(following)]

        return choose

    server, client = (end.node for end in ends)
    data = _walk(wiring, server, client, choice("data"))
    acks = _walk(wiring, client, server, choice("acks"))
    return (None if data is None or acks is None else (data, acks)), forks


def _walk(wiring: Wiring, origin: str, end: str, choose: Choice) -> tuple[Egress, ...] | None:
    """Return a shortest way between two nodes, of which each node chooses its part; None: there is
    none.
    """
    lengths = _lengths(wiring, end)
    way: list[Egress] = []
    node, last = origin, ""
    while node != end:
        if node not in lengths:
            return None
        following = [
            egress
            for egress in wiring.egresses[node]
            if (onward := lengths.get(wiring.peer(egress).node)) is not None
            and wiring.peer(egress).node != last  # hops between the nodes of one link cost nothing
            and _further(wiring, onward, egress) == lengths[node]
        ]
        way.append(choose(node, sorted(following, key=lambda egress: egress.link)))
        node, last = wiring.peer(way[-1]).node, node
    return tuple(way)


def _further(wiring: Wiring, length: tuple[int, int], egress: Egress) -> tuple[int, int]:
    """Return how long a way is, in links and ns, that begins with an egress before it."""
    links, delay_ns = length
    return links + (wiring.kinds[egress.node] != "hop"), delay_ns + egress.delay_ns


def _lengths(wiring: Wiring, end: str) -> dict[str, tuple[int, int]]:
    """Return how far nodes are from another one, in links and ns; hosts do not forward."""
    found: dict[str, tuple[int, int]] = {}
    frontier: list[tuple[tuple[int, int], str]] = [((0, 0), end)]
    while frontier:
        length, node = heapq.heappop(frontier)
        if node in found:
            continue
        found[node] = length
        if wiring.kinds[node] == "host" and node != end:
            continue
        for back in wiring.egresses[node]:
            egress = wiring.peer(back)
            if egress.node not in found:
                heapq.heappush(frontier, (_further(wiring, length, egress), egress.node))
    return found
