"""Paths of packets in a plan's network: routes, data paths, and max-min fair shares."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from types import MappingProxyType

from fairc.cell.frames import ETHERNET_BYTES
from fairc.cell.links import JITTER_REACH
from fairc.compiler.plan import (
    Cell,
    Flow,
    Impairment,
    Interface,
    Node,
    Subflow,
    Tunnel,
    interfaces_of,
)

Place = tuple[str, str]  # (node, interface)


class PathError(ValueError):
    """The plan's routes do not lead from one host to the other."""


@dataclass(frozen=True)
class Paths:
    """The network of a cell and the routes of packets through it.

    Routes may change: where a time is asked for, ns after the epoch, it is the planned one of each
    change, and None is before all of them.
    """

    cell: Cell

    @cached_property
    def _nodes(self) -> dict[str, Node]:
        return {node.name: node for node in self.cell.nodes}

    @cached_property
    def _peers(self) -> dict[Place, Place]:
        pairs = [(cable.a, cable.b) for cable in self.cell.cables]
        return {**dict(pairs), **{b: a for a, b in pairs}}

    @cached_property
    def _tunnels(self) -> dict[Place, tuple[int, int, Tunnel]]:
        """The ends of tunnels: the address of each, that of the other end, and the tunnel."""
        found: dict[Place, tuple[int, int, Tunnel]] = {}
        for tunnel in self.cell.tunnels:
            a, b = (int(IPv4Address(self.interfaces[end].ip)) for end in (tunnel.a, tunnel.b))
            found |= {tunnel.a: (a, b, tunnel), tunnel.b: (b, a, tunnel)}
        return found

    @cached_property
    def interfaces(self) -> dict[Place, Interface]:
        """Every interface by its place."""
        return interfaces_of(self.cell)

    @cached_property
    def _addresses(self) -> dict[str, list[tuple[IPv4Interface, str]]]:
        """The addresses of each node, and their interfaces; each is needed hundreds of times."""
        return {
            node.name: [
                *((IPv4Interface(i.address), i.name) for i in node.interfaces),
                *((IPv4Interface(address), "lo") for address in node.addresses),
            ]
            for node in self.cell.nodes
        }

    @cached_property
    def _routes(self) -> dict[str, list[tuple[int, dict[IPv4Network, IPv4Address]]]]:
        """Destinations and next hops of each node's routes, from a time on, ns."""
        found = {}
        for node in self.cell.nodes:
            now = {IPv4Network(r.destination): IPv4Address(r.via) for r in node.routes}
            stages = [(-1, now)]
            for change in node.route_changes:
                route = change.route
                now = now | {IPv4Network(route.destination): IPv4Address(route.via)}
                if stages[-1][0] == change.at_ns:
                    stages[-1] = change.at_ns, now
                else:
                    stages.append((change.at_ns, now))
            found[node.name] = stages
        return found

    @cached_property
    def _straight(self) -> dict[str, dict[str, str]]:
        return self.cell.straight

    def is_host(self, node: str) -> bool:
        """Whether a node is a host, which forwards nothing."""
        return self._nodes[node].kind == "host"

    def is_hop(self, node: str) -> bool:
        """Whether a node is the delay node of a link."""
        return self._nodes[node].kind == "hop"

    def reroutings_of(self, node: str) -> tuple[int, ...]:
        """Return when the routes of a node change, ns after the epoch."""
        changes = self._nodes[node].route_changes
        return tuple(sorted({change.at_ns for change in changes}))

    @cached_property
    def reroutings_ns(self) -> tuple[int, ...]:
        """When routes change, ns after the epoch."""
        times = {change.at_ns for node in self.cell.nodes for change in node.route_changes}
        return tuple(sorted(times))

    @cached_property
    def _ways(self) -> dict[tuple[str, int, int | None, str | None], tuple[Place, ...]]:
        """Results of `to`."""
        return {}

    def egress(self, node: str, destination: int, at_ns: int | None = None) -> str | None:
        """Return the interface through which a node sends to an address (longest prefix), or None.

        None also when the address is the node's own.
        """
        target = IPv4Address(destination)
        found: tuple[int, str] | None = None
        connected = self._addresses[node]
        if any(address.ip == target for address, _ in connected):
            return None
        for address, name in connected:
            if target in address.network:
                found = max(found or (-1, ""), (address.network.prefixlen, name))
        stages = self._routes[node]
        times = [begin_ns for begin_ns, _ in stages]
        stage = 0 if at_ns is None else bisect_right(times, at_ns) - 1
        for network, via in stages[stage][1].items():
            if target in network and (found is None or network.prefixlen > found[0]):
                names = [name for address, name in connected if via in address.network]
                found = (network.prefixlen, names[0]) if names else found
        return found[1] if found else None

    def to(
        self, node: str, destination: int, at_ns: int | None = None, arrived: str | None = None
    ) -> tuple[Place, ...]:
        """Return the egress interfaces that a packet passes from a node to an address; arrived: the
        interface by which it came there, None for the node's own.

        Raises PathError when it does not arrive.
        """
        if (start := (node, destination, at_ns, arrived)) in self._ways:
            return self._ways[start]
        places: list[Place] = []
        towards = [destination]  # and the far ends of tunnels that it is in
        while True:
            end = self._at_end(node)
            if end is not None:
                interface: str | None = end[1]
                own, other, _ = self._tunnels[end]
                if towards[-1] == own:
                    towards.pop()
                else:
                    towards.append(other)
            else:
                interface = self._onward(node, arrived, towards[-1], at_ns)
            if interface is None:
                break
            place = (node, interface)
            if place in places or place not in self._peers:
                raise PathError(f"no route to {IPv4Address(destination)} behind {node}")
            places.append(place)
            node, arrived = self._peers[place]
        if not any(address.ip == IPv4Address(destination) for address, _ in self._addresses[node]):
            raise PathError(f"{node} has no route to {IPv4Address(destination)}")
        self._ways[start] = tuple(places)
        return self._ways[start]

    def _onward(
        self, node: str, arrived: str | None, destination: int, at_ns: int | None
    ) -> str | None:
        """Return the interface by which a packet leaves a node, or None: straight through a hop
        where routes change. arrived: by which it came; None: the node sends it.
        """
        if arrived is not None and node in self._straight:
            return self._straight[node][arrived]
        return self.egress(node, destination, at_ns)

    def _at_end(self, node: str) -> Place | None:
        """Return the end of a tunnel that a node runs, or None."""
        return next((place for place in self._tunnels if place[0] == node), None)

    def tunnel_at(self, place: Place) -> Tunnel | None:
        """Return the tunnel one of whose ends sends by an interface, or None."""
        return self._tunnels[place][2] if place in self._tunnels else None

    def added_bytes(self, way: Sequence[Place]) -> list[int]:
        """Return how much tunnels add to a packet as it leaves by each interface of a way from a
        host, bytes.
        """
        inside: list[Tunnel] = []
        found: list[int] = []
        for place in way:
            tunnel = self.tunnel_at(place)
            if tunnel is not None and tunnel in inside:
                inside.remove(tunnel)
            elif tunnel is not None:
                inside.append(tunnel)
            found.append(sum(tunnel.header_bytes for tunnel in inside))
        return found

    def of(self, flow: Flow, at_ns: int | None = None) -> tuple[Place, ...]:
        """Return the egress interfaces of a flow's data, from its server to its client."""
        return self.to(flow.server, int(IPv4Address(self.client_address(flow))), at_ns)

    def client_address(self, flow: Flow) -> str:
        """Return the address of a flow's client."""
        return flow.client_address or str(self._addresses[flow.client][0][0].ip)

    def ways(self, flow: Flow, at_ns: int | None = None) -> tuple[tuple[Place, ...], ...]:
        """Return all paths that a flow's data takes at a time."""
        if not flow.subflows:
            return (self.of(flow, at_ns),)
        return tuple(self.of_subflow(flow, path, at_ns) for path in flow.subflows)

    def of_subflow(self, flow: Flow, path: Subflow, at_ns: int | None) -> tuple[Place, ...]:
        """Return the egress interfaces of a subflow's data, which leaves by its own address."""
        return self._by_address(flow.server, path.address, path.client_address, at_ns)

    def back(self, flow: Flow, at_ns: int | None = None) -> tuple[Place, ...]:
        """Return the egress interfaces from a flow's client to its server at a time."""
        return self.to(flow.client, int(IPv4Address(flow.address)), at_ns)

    def ever(self, flow: Flow) -> tuple[set[Place], set[Place]]:
        """Return all egress interfaces by which a flow's data may leave, and its acknowledgements.

        Where routes change, a packet may come to each node before or after that.
        """
        there, back = set[Place](), set[Place]()
        if not flow.subflows:
            there.update(self.of(flow))
            back.update(self.back(flow))
        for path in flow.subflows:
            server, client = path.address, path.client_address
            there.update(self._by_address(flow.server, server, client))
            back.update(self._by_address(flow.client, client, server))
        clients = {path.client_address for path in flow.subflows} or {self.client_address(flow)}
        servers = {path.address for path in flow.subflows} or {flow.address}
        if self.reroutings_ns:
            for found, addresses in ((there, clients), (back, servers)):
                for address in addresses:
                    self._spread(found, int(IPv4Address(address)))
        return there, back

    def _by_address(
        self, host: str, source: str, destination: str, at_ns: int | None = None
    ) -> tuple[Place, ...]:
        """Return the egress interfaces of packets that leave a host by the interface of their
        source.
        """
        own = {str(address.ip): name for address, name in self._addresses[host]}
        first = (host, own[source])
        node, arrived = self._peers[first]
        return (first, *self.to(node, int(IPv4Address(destination)), at_ns, arrived))

    def _spread(self, found: set[Place], destination: int) -> None:
        """Add to the interfaces by which packets to an address leave those of all times."""
        frontier = [*found]
        while frontier:
            node, arrived = self._peers[frontier.pop()]
            for at_ns in self._stages[node]:
                egress = self._onward(node, arrived, destination, at_ns)
                place = (node, egress or "")
                if place in self._peers and place not in found:
                    found.add(place)
                    frontier.append(place)

    @cached_property
    def _stages(self) -> dict[str, list[int]]:
        """A time at which each set of a node's routes is in force, ns after the epoch."""
        return {
            node: [*{frozenset(routes.items()): at_ns for at_ns, routes in stages}.values()]
            for node, stages in self._routes.items()
        }

    def behind(self, queue: Place, flow: Flow) -> tuple[Place, ...]:
        """Return the egress interfaces that a flow's data passes after a queue."""
        path = self.of(flow)
        if queue not in path:
            raise PathError(f"the data of flow {flow.name} does not pass {'/'.join(queue)}")
        return path[path.index(queue) + 1 :]

    def before(self, queue: Place, flow: Flow) -> tuple[Place, ...]:
        """Return the egress interfaces that a flow's data passes before a queue."""
        return self.of(flow)[: -len(self.behind(queue, flow)) - 1]

    def delivery(self, queue: Place) -> Place | None:
        """Return the egress of the hop behind a queue, where `delivered` is captured, or None."""
        for capture in self.cell.captures:
            if (capture.queue, capture.point, capture.direction) == (queue, "delivered", "out"):
                return capture.node, capture.interface
        return None

    def arrival(self, place: Place) -> Interface | None:
        """Return the interface where packets arrive that leave by another one."""
        peer = self._peers.get(place)
        return None if peer is None else self.interfaces[peer]

    def onward(self, place: Place) -> Place | None:
        """Return the egress by which packets leave the hop behind an interface; None: no hop
        follows.
        """
        peer = self._peers.get(place)
        if peer is None or self._nodes[peer[0]].kind != "hop":
            return None
        others = [i.name for i in self._nodes[peer[0]].interfaces if i.name != peer[1]]
        return (peer[0], others[0]) if len(others) == 1 else None

    def impairment_behind(self, queue: Place) -> Impairment | None:
        """Return what happens to packets between a queue's exit and its `delivered` capture."""
        place = self.delivery(queue)
        return self.interfaces[place].impairment if place else None

    def loss(self, places: tuple[Place, ...]) -> float:
        """Return the probability that a packet is lost at random on these interfaces."""
        kept = 1.0
        for place in places:
            impairment = self.interfaces[place].impairment
            kept *= 1 - impairment.lost if impairment else 1.0
        return 1 - kept

    def states(self, place: Place) -> Iterator[Impairment]:
        """Yield what ever happens to packets at an interface: at first, and from each change on."""
        interface = self.interfaces[place]
        every = (interface.impairment, *(change.impairment for change in interface.changes))
        yield from (impairment for impairment in every if impairment is not None)

    def may_lose(self, places: Sequence[Place]) -> bool:
        """Return whether packets may ever be lost at random on these interfaces."""
        return any(state.lost > 0 for place in places for state in self.states(place))

    def slowest_bps(self, place: Place) -> int | None:
        """Return the lowest rate that an interface ever has, bit/s; None: it has no rate."""
        interface = self.interfaces[place]
        if interface.shaper is None:
            return None
        changed = (change.rate_bps for change in interface.changes)
        return min((interface.shaper.rate_bps, *(rate for rate in changed if rate is not None)))

    def delay_s(self, places: Sequence[Place]) -> float:
        """Return the delay that these interfaces add by themselves on average, before any change,
        s.
        """
        impairments = (self.interfaces[place].impairment for place in places)
        return sum(i.delay_ns for i in impairments if i) * 1e-9

    def longest_s(self, places: Sequence[Place], frame_bytes: int) -> float:
        """Return the longest that a frame may take over these interfaces where no other is in its
        way, s: with the largest delays, jitter included, and at the lowest rates that they ever
        have. places: of a way from a host.
        """
        delays_ns = (max(map(longest_ns, self.states(place)), default=0.0) for place in places)
        taken_s = sum(delays_ns) * 1e-9
        for place, added in zip(places, self.added_bytes(places), strict=True):
            shaper, slowest_bps = self.interfaces[place].shaper, self.slowest_bps(place)
            if slowest_bps is not None and shaper is not None and shaper.transmitter is not None:
                size = self.interfaces[place].framing.bytes(frame_bytes + added - ETHERNET_BYTES)
                taken_s += 8 * size / slowest_bps
        return taken_s

    def transmission_s(self, places: tuple[Place, ...], frame_bytes: int) -> float:
        """Return how long the links that begin at these interfaces take to send a frame, one after
        the other, s; places: of a way from a host.
        """
        taken_s = 0.0
        for place, added in zip(places, self.added_bytes(places), strict=True):
            interface = self.interfaces[place]
            shaper = interface.shaper
            if shaper and shaper.transmitter:
                size = interface.framing.bytes(frame_bytes + added - ETHERNET_BYTES)
                taken_s += 8 * size / shaper.rate_bps
        return taken_s


def longest_ns(impairment: Impairment) -> float:
    """Return the largest delay of a packet's own that an impairment draws, ns."""
    reach = 1.0 if impairment.jitter_distribution == "uniform" else JITTER_REACH
    return impairment.delay_ns + reach * impairment.jitter_ns


def max_min(
    paths: Mapping[str, Sequence[Place]],
    rates: Mapping[Place, float],
    demands: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, float]:
    """Return the max-min fair rate of each session by progressive filling, in the rates' unit.

    paths: session -> the links it crosses. rates: capacity of each link, > 0; other links are
    unlimited. demands: what a session wants at most; others want all there is. A session that
    crosses no link of `rates` gets what it wants, or infinity.

    Source: Bertsekas and Gallager, Data Networks, section 6.5.2 (a demand is a link of its own).
    """
    own = {("", name): wanted for name, wanted in demands.items() if wanted < float("inf")}
    left = {**rates, **own}
    open_sessions = {name: {*path, ("", name)} & left.keys() for name, path in paths.items()}
    shares: dict[str, float] = {}
    while open_sessions:
        crossing = {
            link: sum(link in path for path in open_sessions.values())
            for path in open_sessions.values()
            for link in path
        }
        if not crossing:
            return shares | dict.fromkeys(open_sessions, float("inf"))
        tightest = min(crossing, key=lambda link: (left[link] / crossing[link], link))
        share = left[tightest] / crossing[tightest]
        for name in [n for n, path in open_sessions.items() if tightest in path]:
            shares[name] = share
            for link in open_sessions.pop(name):
                left[link] = max(left[link] - share, 0.0)
    return shares
