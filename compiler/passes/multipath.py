"""The paths of flows over Multipath TCP: one for each pair of addresses of their hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fairc.cell.hosts import MOST_SUBFLOWS
from fairc.compiler import plan
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import Flow, Multipath

from .report import Report
from .routing import RoutedPath, Routing, all_paths
from .wiring import Egress, Wiring

NEVER = -1


@dataclass(frozen=True, slots=True)
class SubflowPath:
    """A path of a flow. opens_ns: when its client gets to know of the address; None: at first."""

    name: str
    path: RoutedPath
    is_backup: bool
    opens_ns: int | None


def find_subflows(
    flow: Flow, path: RoutedPath, routing: Routing, report: Report
) -> list[SubflowPath]:
    """Return the paths of a flow, the first one's first; none: it is not over Multipath TCP."""
    if flow.multipath is None:
        return []
    wiring = routing.wiring
    paths = [path, *(other for other in all_paths(flow, routing) if not _same(other, path))]
    if len(paths) == 1:
        report.reject(
            "one-path",
            f"MPTCP has one path here: `{flow.server}` and `{flow.client}` have one link each",
            flow.span,
            "it opens a subflow for each pair of addresses, and a host has one for each link",
            "give one of them a second link, or write `over = tcp`",
        )
        return []
    if len(paths) > MOST_SUBFLOWS + 1:
        report.reject(
            "too-many",
            f"the hosts of `{flow.label}` have {len(paths)} paths between them",
            flow.span,
            f"Linux opens at most {MOST_SUBFLOWS} subflows besides the first one",
            "leave out links of the hosts",
        )
    backups = _backups(flow.multipath, flow, paths, wiring, report)
    opens_ns = _failure_ns(wiring, path) if flow.multipath.on_failure else None
    names = [_name(wiring, each, paths) for each in paths]
    found = [
        SubflowPath(name, each, each in backups, opens_ns if number else None)
        for number, (name, each) in enumerate(zip(names, paths, strict=True))
    ]
    return found[:1] if opens_ns == NEVER else found


def lowered(found: Sequence[SubflowPath]) -> tuple[plan.Subflow, ...]:
    """Return the paths of a flow as the plan holds them."""
    made = []
    for one in found:
        path = one.path
        assert path.bottleneck is not None, "no-bottleneck has been reported"
        made.append(
            plan.Subflow(
                name=one.name,
                address=path.server.address,
                client_address=path.client.address,
                base_rtt_ns=path.base_rtt_ns,
                bottleneck=path.bottleneck.place,
                opens_ns=one.opens_ns,
                backup=one.is_backup,
            )
        )
    return tuple(made)


def _backups(
    multipath: Multipath,
    flow: Flow,
    paths: Sequence[RoutedPath],
    wiring: Wiring,
    report: Report,
) -> list[RoutedPath]:
    """Return the paths that cross the node of `backup`; report one that none or all cross."""
    node = multipath.backup
    if node is None:
        return []
    crossing = [path for path in paths if any(egress.node == node for egress in path.data)]
    nodes = sorted({name for name, kind in wiring.kinds.items() if kind != "hop"})
    if node not in nodes:
        report.reject(
            "unknown-node",
            f"this topology has no node called `{node}`",
            multipath.span,
            help=f"nodes: {', '.join(nodes)}",
        )
    elif not crossing or len(crossing) == len(paths) or paths[0] in crossing:
        which = "no path" if not crossing else "every path"
        if crossing and len(crossing) < len(paths):
            which = "the first path"
        report.reject(
            "not-a-backup",
            f"{which} of the flow `{flow.label}` crosses `{node}`, so it is no backup",
            multipath.span,
            "the first path opens the connection: it has the fewest links, then the least delay",
            "name a node that some other path crosses",
            labels=(Label(flow.span, "the flow"),),
        )
    return crossing


def _failure_ns(wiring: Wiring, path: RoutedPath) -> int:
    """Return when a link of a host on a path is down first, ns, or NEVER."""
    links = [wiring.network.links[end.link] for end in (path.client, path.server)]
    times = [
        at_ns
        for link in links
        for way in (link.forward, link.backward)
        for at_ns, is_up in way.ups
        if not is_up
    ]
    return min(times, default=NEVER)


def _name(wiring: Wiring, path: RoutedPath, paths: Sequence[RoutedPath]) -> str:
    """Return the name of a path: the neighbour of its client or of its server, whichever tells it
    from all others, or both.
    """
    for end in ("client", "server"):
        if len({_neighbour(wiring, getattr(each, end)) for each in paths}) == len(paths):
            return _neighbour(wiring, getattr(path, end))
    return "-".join(_neighbour(wiring, end) for end in (path.client, path.server))


def _neighbour(wiring: Wiring, egress: Egress) -> str:
    """Return the node at the other end of a host's link."""
    arrived = wiring.peer(egress)
    while wiring.kinds[arrived.node] == "hop":
        arrived = wiring.peer(wiring.other(arrived))
    return arrived.node


def _same(one: RoutedPath, other: RoutedPath) -> bool:
    return (one.server, one.client) == (other.server, other.client)


Subflows = Mapping[str, Sequence[SubflowPath]]
"""The paths of each flow over Multipath TCP, by its name."""
