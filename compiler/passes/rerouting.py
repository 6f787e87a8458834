"""Routers move traffic around links that are down, at once.

A link is down while either of its directions is. Every router knows at that moment, as with a
failure detection that takes no time, and the routes are again the shortest: there are none with
loops in between. Where there is no other way the route stays. Hosts keep theirs, and each address
of a host with several links stays with its link.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairc.compiler import plan
from fairc.dsl.model import Network

from .routing import RoutedPath, Routing, Traffic, moved, routes
from .wiring import Wiring


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
        taken = _taken(detour.routing)
        for name, by_destination in then.items():
            is_hop = wiring.kinds[name] == "hop"
            link = wiring.egresses[name][0].link if is_hop else -1
            if is_hop and link in detour.down:
                continue  # what waits for a link that is down goes there, and is lost
            for destination, route in by_destination.items():
                if is_hop and (link, destination) not in taken:
                    continue  # what is still under way goes on to the other end
                if now[name].get(destination) != route:
                    found[name].append(plan.RouteChange(detour.at_ns, route))
                    now[name][destination] = route
    return found


def _taken(routing: Routing) -> set[tuple[int, str]]:
    """Return which links packets take to which destinations, by number and as routes have them."""
    links = routing.wiring.network.links
    found: set[tuple[int, str]] = set()
    for home, towards in routing.towards.items():
        for number, link in enumerate(links):
            out = [egress for end in (link.a, link.b) if (egress := towards.get(end)) is not None]
            if any(egress.link == number for egress in out):
                found.add((number, f"{home.address}/32"))
    return found


def _by_destination(
    found: Mapping[str, Sequence[plan.Route]],
) -> dict[str, dict[str, plan.Route]]:
    return {name: {r.destination: r for r in several} for name, several in found.items()}
