"""Passes `route` and `trace`: static shortest paths to every host, and what each flow crosses."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence

from fairc.compiler import plan
from fairc.dsl.model import Link

from .draft import Draft, DraftFlow, End
from .wiring import host_address


def route(draft: Draft) -> None:
    """Give every node a route to every host's address.

    Prefer the fewest links, then the least delay, then the link declared first. A node with
    one interface gets a single default route.
    """
    for node in draft.nodes.values():
        if node.kind == "host" and node.ends:
            draft.next_hops[node.name] = _towards(draft, node.name)
    for name, node in draft.nodes.items():
        if len(node.ends) == 1:
            via = draft.peer(node.ends[0]).address
            node.routes.append(plan.Route("10.0.0.0/8", via))
            continue
        for host, egresses in draft.next_hops.items():
            if name != host and name in egresses:
                address, via = host_address(draft, host), draft.peer(egresses[name]).address
                if address != via:  # else it is the neighbour on this cable
                    node.routes.append(plan.Route(f"{address}/32", via))


def trace(draft: Draft) -> None:
    """Find the egresses that each flow's data and acks pass; refuse a flow that has no path."""
    for flow in draft.scenario.flows:
        data = _path(draft, flow.server, flow.client)
        acks = _path(draft, flow.client, flow.server)
        if data is None or acks is None:
            draft.reject(
                "unreachable",
                f"no path leads from `{flow.server}` to `{flow.client}`",
                flow.span,
                note="this flow cannot run",
                help="connect the two with links; only routers forward packets",
            )
            continue
        delays = (end.impaired.delay_ns for end in (*data, *acks) if end.impaired)
        draft.flows.append(DraftFlow(flow, data, acks, base_rtt_ns=sum(delays)))
    _warn_of_unused_paths(draft)


def _warn_of_unused_paths(draft: Draft) -> None:
    """Warn of links that no flow crosses although they are part of a second way to somewhere."""
    links = draft.scenario.network.links
    crossed = {end.link for flow in draft.flows for end in (*flow.data, *flow.acks)}
    bridges = _bridges(links)
    idle = [n for n in range(len(links)) if n not in crossed and n not in bridges]
    if draft.flows and idle:
        names = [f"`{links[n].a} -- {links[n].b}`" for n in idle]
        draft.warn(
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


def _towards(draft: Draft, host: str) -> dict[str, End]:
    """Return node -> egress on its shortest path to a host (Dijkstra from the host backwards)."""
    egresses: dict[str, End] = {}
    done: set[str] = set()
    counter = 0
    frontier: list[tuple[int, int, int, int, str, End | None]] = [(0, 0, 0, counter, host, None)]
    while frontier:
        links, delay_ns, _, _, name, egress = heapq.heappop(frontier)
        if name in done:
            continue
        done.add(name)
        if egress is not None:
            egresses[name] = egress
        if draft.nodes[name].kind == "host" and name != host:
            continue  # hosts do not forward
        for end in draft.nodes[name].ends:
            towards = draft.peer(end)
            impaired = towards.impaired
            counter += 1
            heapq.heappush(
                frontier,
                (
                    links + (draft.nodes[towards.node].kind != "hop"),
                    delay_ns + (impaired.delay_ns if impaired else 0),
                    towards.link,
                    counter,
                    towards.node,
                    towards,
                ),
            )
    return egresses


def _path(draft: Draft, origin: str, destination: str) -> tuple[End, ...] | None:
    """Return the egresses from one host to another, or None if there is no path."""
    egresses = draft.next_hops.get(destination, {})
    path: list[End] = []
    name = origin
    while name != destination:
        if name not in egresses:
            return None
        path.append(egresses[name])
        name = draft.peer(egresses[name]).node
    return tuple(path)
