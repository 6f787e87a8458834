"""Static shortest paths to every host; the paths of flows, and the routes of nodes.

Every sender on a flow's path learns the smallest MTU of the remaining path from its route (`ip
route ... mtu N`), like a path MTU that was discovered earlier (RFC 1191): TCP uses it for its
segments and announces it, so nothing is ever fragmented or rejected on the way.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairc.compiler import plan
from fairc.dsl.model import Flow, Link, Path

from .dynamics import most_bps, most_delay_ns
from .report import Report
from .wiring import Egress, Wiring

NextHops = Mapping[str, Mapping[str, Egress]]
"""For each host's name, node -> the egress towards it."""


@dataclass(frozen=True, slots=True)
class RoutedPath(Path):
    """The egresses that a flow's data and its acks pass, in order.

    bottleneck: the slowest of the data's; None where none has a rate.
    """

    data: tuple[Egress, ...]
    acks: tuple[Egress, ...]
    bottleneck: Egress | None

    @property
    def most_bps(self) -> int:
        """The highest rate that the bottleneck ever has, bit/s; 0 when nothing has a rate."""
        return most_bps(self.bottleneck.way) if self.bottleneck else 0

    @property
    def most_rtt_ns(self) -> int:
        """The base RTT with the longest delay that each link ever has, ns."""
        egresses = (*self.data, *self.acks)
        return sum(most_delay_ns(egress.way) for egress in egresses if egress.part == "hop")


Traffic = Sequence[tuple[Flow, RoutedPath]]
"""The flows of a configuration that have a path, and their paths."""


def next_hops(wiring: Wiring) -> NextHops:
    """Return the egresses to every host.

    Prefer the fewest links, then the least delay, then the link declared first.
    """
    kinds = wiring.kinds.items()
    hosts = [name for name, kind in kinds if kind == "host" and wiring.egresses[name]]
    return {host: _towards(wiring, host) for host in hosts}


def find_paths(
    flows: Iterable[Flow], wiring: Wiring, hops: NextHops, report: Report
) -> dict[str, RoutedPath]:
    """Return the path of each flow by its name; report a flow that has none.

    The bottleneck is the slowest egress; among equals the one that most flows cross, and among
    these the first.
    """
    found: dict[str, tuple[tuple[Egress, ...], tuple[Egress, ...]]] = {}
    for flow in flows:
        data = _path(wiring, hops, flow.server, flow.client)
        acks = _path(wiring, hops, flow.client, flow.server)
        if data is None or acks is None:
            report.reject(
                "unreachable",
                f"no path leads from `{flow.server}` to `{flow.client}`",
                flow.span,
                note="this flow cannot run",
                help="connect the two with links; only routers forward packets",
            )
        else:
            found[flow.name] = data, acks
    crossing = Counter(egress for data, _ in found.values() for egress in data)
    _warn_of_unused_paths(wiring.network.links, found.values(), report)
    return {name: _routed(data, acks, crossing) for name, (data, acks) in found.items()}


def _routed(
    data: tuple[Egress, ...], acks: tuple[Egress, ...], crossing: Mapping[Egress, int]
) -> RoutedPath:
    egresses, shaped = (*data, *acks), [egress for egress in data if egress.rate_bps]
    slowest = min(shaped, key=lambda each: (each.rate_bps, -crossing[each]), default=None)
    return RoutedPath(
        mtu=min([egress.interface.mtu for egress in egresses]),
        rate_bps=slowest.rate_bps if slowest else 0,
        base_rtt_ns=sum([egress.delay_ns for egress in egresses]),
        data=data,
        acks=acks,
        bottleneck=slowest,
    )


def routes(wiring: Wiring, hops: NextHops, traffic: Traffic) -> dict[str, list[plan.Route]]:
    """Return the routes of every node: to every host's address, and between proxies.

    A node with one interface gets a single default route. Where the MTU of a flow's path is below
    that of a node's own cable, its route has it; a host's is the smaller one of both directions,
    because TCP does so.
    """
    found: dict[str, dict[str, plan.Route]] = {name: {} for name in wiring.kinds}

    def add(node: str, destination: str, egress: Egress, mtu: int | None = None) -> None:
        via = wiring.peer(egress).address
        found[node].pop(destination, None)
        found[node][destination] = plan.Route(destination, via, mtu)

    for name, egresses in wiring.egresses.items():
        if len(egresses) == 1:
            add(name, "10.0.0.0/8", egresses[0])
            continue
        for host, towards in hops.items():
            if name != host and name in towards:
                address = wiring.address(host)
                if address != wiring.peer(towards[name]).address:  # else it is the neighbour
                    add(name, f"{address}/32", towards[name])
    for pep in wiring.network.peps:
        for node, other in ((pep.gateway, pep.terminal), (pep.terminal, pep.gateway)):
            across = between(wiring, node, other)
            last = wiring.peer(across[-1])
            for egress in across:
                if wiring.peer(egress) is not last:  # else it is the neighbour
                    add(egress.node, f"{last.address}/32", egress)
    for flow, path in traffic:
        for way, host in ((path.data, flow.client), (path.acks, flow.server)):
            for number, egress in enumerate(way):
                further = [other.interface.mtu for other in way[number:]]
                mtu = min(further) if number else path.mtu
                if mtu < egress.interface.mtu and wiring.kinds[egress.node] != "hop":
                    add(egress.node, f"{wiring.address(host)}/32", egress, mtu)
    return {name: list(by_destination.values()) for name, by_destination in found.items()}


def between(wiring: Wiring, node: str, other: str) -> list[Egress]:
    """Return the egresses from a node to another one, over the link between them."""
    links = wiring.network.links
    (egress,) = (
        egress
        for egress in wiring.egresses[node]
        if {links[egress.link].a, links[egress.link].b} == {node, other}
    )
    way = [egress]
    while (arrived := wiring.peer(way[-1])).node != other:
        way.append(wiring.other(arrived))
    return way


def _warn_of_unused_paths(
    links: Sequence[Link],
    found: Iterable[tuple[tuple[Egress, ...], tuple[Egress, ...]]],
    report: Report,
) -> None:
    """Warn of links that no flow crosses although they are part of a second way to somewhere."""
    crossed = {egress.link for ways in found for way in ways for egress in way}
    bridges = _bridges(links)
    idle = [n for n in range(len(links)) if n not in crossed and n not in bridges]
    if crossed and idle:
        names = [f"`{links[n].a} -- {links[n].b}`" for n in idle]
        report.warn(
            "unused-path",
            f"no flow crosses {', '.join(names[:4])}{' and more' if len(names) > 4 else ''}:"
            " there is another way, which all packets take",
            links[idle[0]].span,
            "a route prefers the fewest links, then the least delay, then the link declared first",
            "give the flow an end that only this path reaches, or leave the path out",
        )


def _bridges(links: Sequence[Link]) -> set[int]:
    """Return the links without which their ends are not connected (Tarjan, Information Processing
    Letters 2, 1974), in one walk over the network.
    """
    ways: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for number, link in enumerate(links):
        ways[link.a].append((number, link.b))
        ways[link.b].append((number, link.a))
    order: dict[str, int] = {}
    earliest: dict[str, int] = {}  # node that is reached from below a node by a link not walked
    found: set[int] = set()
    for root, first in ways.items():
        if root in order:
            continue
        order[root] = earliest[root] = len(order)
        walk = [(root, -1, iter(first))]
        while walk:
            node, came, left = walk[-1]
            for number, other in left:
                if other not in order:
                    order[other] = earliest[other] = len(order)
                    walk.append((other, number, iter(ways[other])))
                    break
                if number != came:
                    earliest[node] = min(earliest[node], order[other])
            else:
                walk.pop()
                above = walk[-1][0] if walk else root
                earliest[above] = min(earliest[above], earliest[node])
                if earliest[node] > order[above]:
                    found.add(came)
    return found


def _towards(wiring: Wiring, host: str) -> dict[str, Egress]:
    """Return node -> egress on its shortest path to a host (Dijkstra from the host backwards)."""
    egresses: dict[str, Egress] = {}
    done: set[str] = set()
    counter = 0
    frontier: list[tuple[int, int, int, int, str, Egress | None]] = [(0, 0, 0, counter, host, None)]
    while frontier:
        links, delay_ns, _, _, name, egress = heapq.heappop(frontier)
        if name in done:
            continue
        done.add(name)
        if egress is not None:
            egresses[name] = egress
        if wiring.kinds[name] == "host" and name != host:
            continue  # hosts do not forward
        for end in wiring.egresses[name]:
            towards = wiring.peer(end)
            counter += 1
            heapq.heappush(
                frontier,
                (
                    links + (wiring.kinds[towards.node] != "hop"),
                    delay_ns + towards.delay_ns,
                    towards.link,
                    counter,
                    towards.node,
                    towards,
                ),
            )
    return egresses


def _path(
    wiring: Wiring, hops: NextHops, origin: str, destination: str
) -> tuple[Egress, ...] | None:
    """Return the egresses from one host to another, or None if there is no path."""
    egresses = hops.get(destination, {})
    path: list[Egress] = []
    name = origin
    while name != destination:
        if name not in egresses:
            return None
        path.append(egresses[name])
        name = wiring.peer(egresses[name]).node
    return tuple(path)
