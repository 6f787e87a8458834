"""Routers move traffic around links that are down, at once.

A link is down while either of its directions is. Every router knows at that moment, as with a
failure detection that takes no time, and the routes are again the shortest: there are none with
loops in between. Where there is no other way the route stays. Hosts keep theirs, and each address
of a host with several links stays with its link.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairc.compiler import plan
from fairc.dsl.model import Flow, Network

from .routing import RoutedPath, Routing, Traffic, moved, routes
from .wiring import Egress, Wiring


@dataclass(frozen=True, slots=True)
class Detour:
    """Which way packets take from a time on, ns after the epoch, and which links are then down."""

    at_ns: int
    down: frozenset[int]
    routing: Routing


def find_detours(wiring: Wiring) -> list[Detour]:
    """Return how packets find their way whenever that changes, in order of time."""
    return [
        Detour(at_ns, down, Routing.of(wiring, paths_change=True, down=down))
        for at_ns, down in outages(wiring.network)
    ]


def outages(network: Network) -> list[tuple[int, frozenset[int]]]:
    """Return which links between routers are down from a time on, ns, whenever that changes."""
    routers = {node.name for node in network.nodes if node.kind == "router"}
    changes: dict[int, list[tuple[int, bool, bool]]] = defaultdict(list)
    for number, link in enumerate(network.links):
        if {link.a, link.b} <= routers:
            for is_forward, way in ((True, link.forward), (False, link.backward)):
                for at_ns, is_up in way.ups:
                    changes[at_ns].append((number, is_forward, is_up))
    found: list[tuple[int, frozenset[int]]] = []
    down: set[tuple[int, bool]] = set()
    known: frozenset[int] = frozenset()
    for at_ns in sorted(changes):
        for number, is_forward, is_up in changes[at_ns]:
            (down.discard if is_up else down.add)((number, is_forward))
        now = frozenset(number for number, _ in down)
        if now != known:
            found.append((at_ns, now))
            known = now
    return found


def further_paths(path: RoutedPath, detours: Sequence[Detour]) -> list[RoutedPath]:
    """Return the other paths that a flow's packets take in the course of a cell, each once."""
    found: list[RoutedPath] = []
    for detour in detours:
        other = moved(path, detour.routing)
        if other is not path and all((other.data, other.acks) != (p.data, p.acks) for p in found):
            found.append(other)
    return found


def mixed_ways(traffic: Traffic, routing: Routing, detours: Sequence[Detour]) -> Traffic:
    """Return ways of packets that are under way while routes change, so that each router sends them
    as at another time: data or acknowledgements alone, up to any egress.

    Each pair of an egress and the next one that packets may pass is on one of them. Flows between
    two addresses share them.
    """
    if not detours:
        return []
    times = [routing, *{detour.down: detour.routing for detour in detours}.values()]
    ends = {(path.server, path.client): (flow, path) for flow, path in traffic}
    found: list[tuple[Flow, RoutedPath]] = []
    for flow, path in ends.values():
        data, acks = (
            _spread(way[0], home, times)
            for way, home in ((path.data, path.client), (path.acks, path.server))
        )
        found += [(flow, replace(path, data=way, acks=())) for way in data]
        found += [(flow, replace(path, data=(), acks=way)) for way in acks]
    return found


Leaving = tuple[Egress, tuple[Egress, ...]]
"""An egress by which packets leave, and where they go: an address, then the far ends of tunnels
that they are in.
"""


def _spread(first: Egress, home: Egress, times: Sequence[Routing]) -> Iterator[tuple[Egress, ...]]:
    """Yield the shortest way over each pair of egresses that packets to an address pass one after
    the other, with any of some routes at each router.
    """
    wiring = times[0].wiring
    begin: Leaving = first, (home,)
    ways: dict[Leaving, tuple[Egress, ...]] = {begin: (first,)}
    frontier: deque[Leaving] = deque([begin])
    while frontier:
        last, homes = frontier.popleft()
        for onward in _onward(wiring.peer(last), homes, times):
            way = (*ways[last, homes], onward[0])
            yield way
            if onward not in ways:
                ways[onward] = way
                frontier.append(onward)


def _onward(
    arrived: Egress, homes: tuple[Egress, ...], times: Sequence[Routing]
) -> dict[Leaving, None]:
    """Return the egresses by which packets may leave a node, and where they go then: straight on
    through hops, and carried or taken out at the ends of tunnels.
    """
    wiring = times[0].wiring
    if arrived in wiring.ends:
        if arrived is homes[-1]:
            return {(arrived, homes[:-1]): None}
        far = wiring.ends[arrived].far[1]
        return {(arrived, (*homes, far)): None} if far not in homes else {}
    if wiring.kinds[arrived.node] == "hop":
        return {(wiring.other(arrived), homes): None}
    found: dict[Leaving, None] = {}
    for routing in times:
        end = routing.tunnel(arrived.node, homes[-1])
        egress = routing.towards[homes[-1]].get(arrived.node) if end is None else end.into
        if egress is not None:
            found[egress, homes] = None
    return found


def fitting(path: RoutedPath, further: Sequence[RoutedPath]) -> RoutedPath:
    """Return a path with the smallest MTU of all that a flow takes: its segments fit them all."""
    mtu = min((way.mtu for way in further), default=path.mtu)
    return path if mtu >= path.mtu else replace(path, mtu=mtu)


def route_changes(
    routing: Routing, detours: Sequence[Detour], traffic: Traffic
) -> dict[str, list[plan.RouteChange]]:
    """Return the changes of every node's routes, in order of time."""
    wiring = routing.wiring
    found: dict[str, list[plan.RouteChange]] = {name: [] for name in wiring.kinds}
    now = _by_destination(routes(routing, traffic))
    for detour in detours:
        moving = [(flow, moved(path, detour.routing)) for flow, path in traffic]
        # A host's segments fit all of its paths at any time.
        fitting = [
            (flow, replace(new, mtu=min(new.mtu, path.mtu)))
            for (flow, new), (_, path) in zip(moving, traffic, strict=True)
        ]
        then = _by_destination(routes(detour.routing, fitting))
        for name, by_destination in then.items():
            if wiring.kinds[name] == "hop":
                continue  # what is under way goes on to the other end
            for destination, route in by_destination.items():
                if now[name].get(destination) != route:
                    found[name].append(plan.RouteChange(detour.at_ns, route))
                    now[name][destination] = route
    return found


def _by_destination(
    found: Mapping[str, Sequence[plan.Route]],
) -> dict[str, dict[str, plan.Route]]:
    return {name: {r.destination: r for r in several} for name, several in found.items()}
