"""Shortest paths to the addresses of hosts: the paths of flows, and the routes of nodes.

Every sender on a flow's path learns the smallest MTU of the remaining path from its route (`ip
route ... mtu N`), like a path MTU that was discovered earlier (RFC 1191): TCP uses it for its
segments and announces it, so nothing is ever fragmented or rejected on the way.

What passes both ends of a tunnel takes it: the router sends such packets to the node beside it,
which carries them to the one at the other end, as packets of these two. On that way nothing knows
what is inside.

Where a flow's hosts discover it instead (`pmtu = discover`), no route says anything.

A host is reached at one address, over whatever link is nearest. Where paths change, each address of
a host with several links stays with its link: it is reached over that one alone.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairc.compiler import plan
from fairc.dsl.model import Flow, Link, Path, Tunnel

from .dynamics import most_bps, most_delay_ns
from .report import Report
from .wiring import Egress, TunnelEnd, Wiring

LEAST_MTU = 576
"""The size that every IPv4 host accepts (RFC 791, section 3.1), bytes; a tunnel leaves as much."""

DETOUR_LINKS = 1_000_000
"""The cost of a link that is down: nothing but such links is a worse way."""


@dataclass(frozen=True, slots=True)
class Towards:
    """The egress of each node on its shortest path to one address.

    node: where the address is. near: of the nodes between it and the first fork; there its packets
    have one way. beyond: of all others, as towards that fork, so that many hosts share it.
    """

    node: str
    near: Mapping[str, Egress]
    beyond: Mapping[str, Egress]

    def get(self, node: str) -> Egress | None:
        """Return the egress of a node; None: no way leads from there, or it is there."""
        if node == self.node:
            return None
        return self.near.get(node) or self.beyond.get(node)

    def __getitem__(self, node: str) -> Egress:
        """Return the egress of a node that has one."""
        egress = self.get(node)
        assert egress is not None, f"no way from {node} to {self.node}"
        return egress


@dataclass(frozen=True, slots=True)
class RoutedPath(Path):
    """The egresses that a flow's data and its acks pass, in order.

    server, client: the interfaces whose addresses it runs between.
    bottleneck: the slowest of the data's; None where none has a rate.
    tunnels: those that it passes. header_bytes: what they add to each packet at the bottleneck.
    """

    server: Egress
    client: Egress
    data: tuple[Egress, ...]
    acks: tuple[Egress, ...]
    bottleneck: Egress | None
    tunnels: tuple[Tunnel, ...]
    header_bytes: int

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


@dataclass(frozen=True)
class Routing:
    """The ways that packets take.

    homes: host -> the interfaces by whose addresses it is reached. towards: the ways there, and to
    the ends of tunnels.
    """

    wiring: Wiring
    homes: Mapping[str, Sequence[Egress]]
    towards: Mapping[Egress, Towards]

    @classmethod
    def of(
        cls, wiring: Wiring, *, paths_change: bool, down: Collection[int] = frozenset()
    ) -> Routing:
        """Return the shortest ways to all hosts: the fewest links, then the least delay, then the
        link declared first.

        paths_change: whether each address of a host stays with its link. down: the links that
        routers avoid.
        """
        kinds = wiring.kinds
        hosts = [name for name, kind in kinds.items() if kind == "host" and wiring.egresses[name]]
        homes = {name: wiring.egresses[name][: None if paths_change else 1] for name in hosts}
        avoided = {
            number
            for number in down
            if kinds[wiring.network.links[number].a] == kinds[wiring.network.links[number].b]
        }
        trees: dict[str, Mapping[str, Egress]] = {}

        def towards(home: Egress, is_strict: bool) -> Towards:
            first = [home] if is_strict else wiring.egresses[home.node]
            near: dict[str, Egress] = {}
            if len(first) > 1:
                return Towards(home.node, near, _tree(wiring, home.node, first, avoided))
            fork = wiring.peer(home)
            near[fork.node] = fork
            while kinds[fork.node] == "hop" and len(wiring.egresses[fork.node]) > 1:
                fork = wiring.peer(wiring.other(fork))
                near[fork.node] = fork
            if kinds[fork.node] != "router":
                return Towards(home.node, near, {})
            if fork.node not in trees:
                trees[fork.node] = _tree(wiring, fork.node, wiring.egresses[fork.node], avoided)
            return Towards(home.node, near, trees[fork.node])

        ways = {
            home: towards(home, len(several) > 1) for several in homes.values() for home in several
        }
        ways |= {out: towards(out, False) for out in wiring.ends}
        return cls(wiring, homes, ways)

    def between(self, server: str, client: str) -> list[Way]:
        """Return the ways between the addresses of two hosts, the best first; none: there are
        none.
        """
        found: list[Way] = []
        for one in self.homes.get(server, ()):
            for other in self.homes.get(client, ()):
                data, acks = self._way(one, other), self._way(other, one)
                if data is not None and acks is not None:
                    found.append((one, other, (data, acks)))
        found.sort(key=lambda way: self._length(way[2][0]))
        if not self.wiring.tunnels:
            return found
        return [
            (one, other, (self._carried(data, other), self._carried(acks, one)))
            for one, other, (data, acks) in found
        ]

    def tunnel(self, node: str, home: Egress) -> TunnelEnd | None:
        """Return the end of the tunnel at a node that packets to an address take, or None.

        Of several, it is the one that leads furthest.
        """
        ends = {
            end.far[0].node: end
            for end in self.wiring.tunnels.get(node, ())
            if end.far[1] is not home  # what is carried to the other end is in the tunnel already
        }
        furthest = None
        while ends and (egress := self.towards[home].get(node)) is not None:
            furthest = ends.get(node, furthest)
            node = self.wiring.peer(egress).node
        return furthest

    def _carried(self, way: tuple[Egress, ...], home: Egress) -> tuple[Egress, ...]:
        """Return the egresses of a way with those of the tunnels that it takes."""
        made: list[Egress] = []
        beyond = ""  # the router at which the packet is taken out
        for egress in way:
            if beyond and egress.node != beyond:
                continue
            beyond = ""
            end = self.tunnel(egress.node, home)
            if end is None:
                made.append(egress)
                continue
            into, out = end.far
            made += [end.into, end.out]
            across = [self.towards[out][egress.node]]
            while across[-1] is not into:
                across.append(self.towards[out][self.wiring.peer(across[-1]).node])
            made += self._carried(tuple(across), out)
            made.append(out)
            beyond = into.node
        return tuple(made)

    def loses_answers(self, flows: Iterable[Flow]) -> bool:
        """Whether a client with several links sends from an address that is not the one that
        routers know.
        """
        for flow in flows:
            ways = self.between(flow.server, flow.client)
            if ways:
                _, client, (data, acks) = ways[0]
                if acks[0] is not client and len(data) > 2:
                    return True
        return False

    def _length(self, way: tuple[Egress, ...]) -> tuple[int, int, int]:
        """Return how long a way is: links, then ns, then the number of its last link."""
        links = sum(self.wiring.kinds[egress.node] != "hop" for egress in way)
        return links, sum(egress.delay_ns for egress in way), way[-1].link

    def _way(self, origin: Egress, home: Egress) -> tuple[Egress, ...] | None:
        """Return the egresses from one address to another, or None if there is no way."""
        towards = self.towards[home]
        way: list[Egress] = []
        name = origin.node
        if len(self.homes[name]) > 1:  # what comes from an address leaves over its link
            way.append(origin)
            name = self.wiring.peer(origin).node
        while name != home.node:
            egress = towards.get(name)
            if egress is None:
                return None
            way.append(egress)
            name = self.wiring.peer(egress).node
        return tuple(way)


Ways = tuple[tuple[Egress, ...], tuple[Egress, ...]]
"""The egresses that data and acks pass."""

Way = tuple[Egress, Egress, Ways]
"""The server's and the client's interface, between whose addresses a flow runs, and its ways."""


def headers(way: Sequence[Egress], wiring: Wiring) -> list[int]:
    """Return how much tunnels add to a packet as it leaves by each egress of a way, bytes."""
    inside: list[Tunnel] = []
    found: list[int] = []
    for egress in way:
        end = wiring.ends.get(egress)
        if end is not None:
            if end.tunnel in inside:
                inside.remove(end.tunnel)
            else:
                inside.append(end.tunnel)
        found.append(sum(tunnel.header_bytes for tunnel in inside))
    return found


def fitting_bytes(way: Sequence[Egress], wiring: Wiring) -> list[int]:
    """Return the largest packet that fits through each egress of a way, what tunnels add to it left
    out, bytes.
    """
    found: list[int] = []
    before = 0
    for egress, added in zip(way, headers(way, wiring), strict=True):
        largest = egress.interface.mtu - added
        end = wiring.ends.get(egress)
        if end is not None and added > before and end.tunnel.mtu is not None:
            largest = min(largest, end.tunnel.mtu - before)
        found.append(largest)
        before = added
    return found


def find_paths(
    flows: Iterable[Flow], routing: Routing, own: Mapping[str, Way], report: Report
) -> dict[str, RoutedPath]:
    """Return the path of each flow by its name; report a flow that has none. own: ways of
    flows that do not take the usual one.

    The bottleneck is the slowest egress; among equals the one that most flows cross, and among
    these the first.
    """
    found: dict[str, Way] = {}
    for flow in flows:
        ways = routing.between(flow.server, flow.client)
        if not ways:
            report.reject(
                "unreachable",
                f"no path leads from `{flow.server}` to `{flow.client}`",
                flow.span,
                note="this flow cannot run",
                help="connect the two with links; only routers forward packets",
            )
        else:
            found[flow.name] = own.get(flow.name, ways[0])
    crossing = Counter(egress for _, _, (data, _) in found.values() for egress in data)
    wiring = routing.wiring
    return {name: _routed(*way, crossing, wiring) for name, way in found.items()}


def all_paths(flow: Flow, routing: Routing) -> list[RoutedPath]:
    """Return the paths between all addresses of a flow's hosts, the best first."""
    ways = routing.between(flow.server, flow.client)
    return [_routed(*way, Counter(), routing.wiring) for way in ways]


def moved(path: RoutedPath, routing: Routing) -> RoutedPath:
    """Return the path of a flow, between the same addresses, as packets now take it."""
    for server, client, ways in routing.between(path.server.node, path.client.node):
        if (server, client) == (path.server, path.client):
            if ways == (path.data, path.acks):
                return path
            return _routed(server, client, ways, Counter(), routing.wiring)
    raise AssertionError("what was reached once is, if only over links that are down")


def _routed(
    server: Egress, client: Egress, ways: Ways, crossing: Mapping[Egress, int], wiring: Wiring
) -> RoutedPath:
    data, acks = ways
    egresses, shaped = (*data, *acks), [egress for egress in data if egress.rate_bps]
    slowest = min(shaped, key=lambda each: (each.packet_bps, -crossing[each]), default=None)
    added = dict(zip(data, headers(data, wiring), strict=True))
    tunnels = (wiring.ends[egress].tunnel for egress in egresses if egress in wiring.ends)
    return RoutedPath(
        mtu=max(LEAST_MTU, min(min(fitting_bytes(way, wiring)) for way in ways)),
        rate_bps=slowest.rate_bps if slowest else 0,
        base_rtt_ns=sum([egress.delay_ns for egress in egresses]),
        server=server,
        client=client,
        data=data,
        acks=acks,
        bottleneck=slowest,
        tunnels=tuple(dict.fromkeys(tunnels)),
        header_bytes=added[slowest] if slowest else 0,
    )


def routes(routing: Routing, traffic: Traffic) -> dict[str, list[plan.Route]]:
    """Return the routes of every node: to every host's address, and between proxies.

    A node with one interface gets a single default route. Where the MTU of a flow's path is below
    that of a node's own cable, its route has it; a host's is the smaller one of both directions,
    because TCP does so.
    """
    wiring = routing.wiring
    found: dict[str, dict[str, plan.Route]] = {name: {} for name in wiring.kinds}

    def add(
        node: str,
        destination: str,
        egress: Egress,
        mtu: int | None = None,
        source: str | None = None,
    ) -> None:
        via = wiring.peer(egress).address
        found[node].pop(destination, None)
        found[node][destination] = plan.Route(destination, via, mtu, source)

    for name, egresses in wiring.egresses.items():
        if len(egresses) == 1:
            add(name, "10.0.0.0/8", egresses[0])
            continue
        for home, towards in routing.towards.items():
            egress = towards.get(name)
            if egress is None:
                continue
            end = routing.tunnel(name, home)
            egress = egress if end is None else end.into
            if home.address != wiring.peer(egress).address:  # else it is the neighbour
                add(name, f"{home.address}/32", egress)
    for pair in wiring.network.proxies:
        for node, other in (pair.ends[::-1], pair.ends):
            across = between(wiring, node, other)
            last = wiring.peer(across[-1])
            for egress in across:
                if wiring.peer(egress) is not last:  # else it is the neighbour
                    add(egress.node, f"{last.address}/32", egress)
    for flow, path in traffic:
        ends = (path.server, path.client)
        for way, origin, home in ((path.data, *ends), (path.acks, *ends[::-1])):
            first, source = way[0], None
            if home not in routing.towards:  # an address of the flow's own
                source = origin.address
                for egress in way[1:]:
                    add(egress.node, f"{home.address}/32", egress)
            if source or len(routing.homes[first.node]) > 1:  # the way of its own address
                add(first.node, f"{home.address}/32", first, source=source)
            if flow.options.discovers_mtu:
                continue
            carried, largest = headers(way, wiring), fitting_bytes(way, wiring)
            for number, egress in enumerate(way):
                mtu = min(largest[number:]) if number else path.mtu
                if carried[number] or wiring.kinds[egress.node] == "hop":
                    continue  # there it is no packet of the flow that is routed
                if mtu < egress.interface.mtu:
                    add(egress.node, f"{home.address}/32", egress, mtu, None if number else source)
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


def warn_of_unused_links(
    links: Sequence[Link], paths: Iterable[RoutedPath], kinds: Mapping[str, str], report: Report
) -> None:
    """Warn of links that no packet crosses, in either direction, except those of hosts that a
    preset has for flows of other experiments. paths: all that flows take. kinds: of all nodes.
    """
    crossed = {egress.link for path in paths for egress in (*path.data, *path.acks)}
    idle = [
        link
        for number, link in enumerate(links)
        if number not in crossed
        and not (link.span.source.is_preset and "host" in (kinds[link.a], kinds[link.b]))
    ]
    if crossed and idle:
        names = [f"`{link.a} -- {link.b}`" for link in idle]
        report.warn(
            "unused-link",
            f"no packet crosses {', '.join(names[:4])}{' and more' if len(names) > 4 else ''}",
            idle[0].span,
            "a route prefers the fewest links, then the least delay, then the link declared first;"
            " of two equal paths it takes one, unless `ecmp` spreads flows over both",
            "write `routes = ecmp(hash: ports)`, give a flow a `via`, or leave the link out",
        )


def _tree(
    wiring: Wiring, node: str, first: Sequence[Egress], avoided: Collection[int]
) -> dict[str, Egress]:
    """Return node -> egress on its shortest path to a node (Dijkstra from there backwards).

    first: the interfaces by which it is reached. avoided: links that are taken only where there is
    no other way.
    """
    kinds = wiring.kinds
    egresses: dict[str, Egress] = {}
    done: set[str] = set()
    counter = 0
    frontier: list[tuple[int, int, int, int, str, Egress | None]] = [(0, 0, 0, counter, node, None)]
    while frontier:
        links, delay_ns, _, _, name, egress = heapq.heappop(frontier)
        if name in done:
            continue
        done.add(name)
        if egress is not None:
            egresses[name] = egress
        if kinds[name] == "host" and name != node:
            continue  # hosts do not forward
        for end in first if name == node else wiring.egresses[name]:
            towards = wiring.peer(end)
            if towards.node in done:
                continue
            counter += 1
            is_link = kinds[towards.node] != "hop"
            heapq.heappush(
                frontier,
                (
                    links + is_link + DETOUR_LINKS * (is_link and towards.link in avoided),
                    delay_ns + towards.delay_ns,
                    towards.link,
                    counter,
                    towards.node,
                    towards,
                ),
            )
    return egresses
