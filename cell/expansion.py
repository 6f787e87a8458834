"""A cell as a document: all that follows from it.

An emulated host whose computation takes no time answers at the instant at which a request arrives.
Packets of several hosts then arrive at the same nanosecond, and the order of events in the kernel
decides which one gets the last place in a full queue, always in the same way. A real host takes a
few microseconds, and never the same time: a random delay after its link's queue and shaper, in
order.

This delay, and the transmission of a link's frames, are netem's, on a separate interface below the
one through which the packets leave, so that a packet waits for its link first, as it would without
them: TCP counts packets in the host's queue, and netem removes them from that account
(skb_orphan_partial() in the kernel's sch_netem.c) as the wire does. The upper interface is a
macvlan in passthru mode: it uses the lower one exclusively, with its MAC address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from . import document, roles
from .batch import divided, node_lines, route_line, word
from .conductor import MOST_PATIENCE_NS
from .devices import Device, Site
from .diffserv import marking_lines
from .document import Document
from .hosts import (
    SOURCE_TABLES,
    STRAIGHT_TABLES,
    connection_routes,
    connection_rules,
    late_endpoints,
    modules,
    multipath,
    multipath_interfaces,
    static_routes,
    sysctls,
    way_to,
    window_bytes,
)
from .links import (
    REAL_TIME_SLACK_NS,
    TRANSMITTER_PACKETS,
    Impairment,
    Interface,
    Shaper,
    change_lines,
    egress_lines,
    ingress_lines,
    lower_lines,
    lower_name,
    transmitter,
)
from .model import Capture, Cell, Node
from .modules import KernelModule
from .observation import MOST_PINGING_NS, PING_BYTES, PING_EVERY_NS
from .queues import queue_bytes
from .reading import Reading, reading
from .seeds import stream_seed

PROCESSING_NS = 10_000
"""Bound of a host's time for a packet if computing takes none and the file sets none: uniform in
[0, 10 us].
"""

MAX_DRAIN_NS = 60_000_000_000
LEAD_NS = 300_000_000
LEAD_PER_PROGRAM_NS = 20_000_000
PROXY_LEAD_NS = 1_000_000_000  # with proxies, the queues' counters are read in it
BROWSER_LEAD_NS = 5_000_000_000  # a browser runs before its first load begins
IMAGE_LEAD_NS = 8_000_000_000  # its server listens before the first client begins
MOST_SEGMENTS = 65_535
"""How many segments an interface takes as one where TCP leaves its segmentation to it: Linux's own
limit; one of 64 KiB is reached first.
"""

_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,246}", re.ASCII)

PATHS = "mptcp"
"""Stands for an interface where what MPTCP knows of paths changes."""

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Lookup:
    """What is asked of a network again and again, by (node, interface).

    peers: the other end of the cable. lower: what packets pass below an interface, in order.
    straight: as of the cell.
    """

    interfaces: dict[Place, Interface]
    peers: dict[Place, Interface]
    lower: dict[Place, tuple[Impairment, ...]]
    straight: dict[str, dict[str, str]]


def expand(
    cell: Cell,
    slack_ns: int = REAL_TIME_SLACK_NS,
    epoch_ns: int | None = None,
    computing_is_free: bool = False,
) -> Document:
    """Return the document of a cell.

    slack_ns: how late the clock's timers may be, ns. epoch_ns: as in the document.
    computing_is_free: whether the hosts' computation takes no time on that clock; then by default
    they delay the packets that they send.
    Raises ValueError for a name, address or value that could be more than that in a command.
    """
    if cell.processing_ns is None:
        cell = replace(cell, processing_ns=PROCESSING_NS if computing_is_free else 0)
    at = _lookup(cell)
    clock = slack_ns, epoch_ns
    beyond = cell.beyond_tc
    qdiscs = {
        node.name: divided(list(_qdiscs(node, cell, at, clock)), beyond) for node in cell.nodes
    }
    read = reading(cell)
    made = Document(
        id=word(cell.id),
        epoch_ns=epoch_ns,
        lead_ns=_lead_ns(cell),
        duration_ns=cell.duration_ns,
        deadline_ns=cell.deadline_ns,
        drain_ns=_drain_ns(cell, at),
        stop=cell.stop,
        processing_ns=cell.processing_ns or 0,
        slack_ns=slack_ns,
        network=document.Network(
            nodes=[
                document.Node(
                    name=word(node.name),
                    sysctls=sysctls(node, cell.flows, cell.devices, cell.saves_metrics),
                    interfaces=[_interface(node, each, at, cell) for each in node.interfaces],
                    neighbours=[_neighbour(node.name, each, at) for each in node.interfaces],
                    routes=list(_routes(node, cell, at)),
                    rules=[
                        *_straight_rules(node, at),
                        *(rule for device in cell.devices for rule in device.rules(node)),
                        *connection_rules(node, cell.flows, cell.devices),
                    ],
                    **multipath(node, cell.flows),
                    **_addresses(node),
                    qdiscs=qdiscs[node.name][0],
                    beyond_tc=qdiscs[node.name][1],
                )
                for node in cell.nodes
            ],
            cables=[(_end(cable.a, at), _end(cable.b, at)) for cable in cell.cables],
        ),
        modules=modules(cell.flows, cell.devices),
        window_bytes=window_bytes(cell.flows),
        objects=cell.objects,
        inserted=[_inserted(name, module) for name, module in cell.modules.items()],
        seeds=list(_seeds(at)),
        changes=[
            *_changes(at, slack_ns),
            *_rerouting(cell, at),
            *(change for device in cell.devices for change in device.changes()),
        ],
        captures=[
            roles.capture(_on_the_wire(capture, cell, at), cell, read) for capture in cell.captures
        ],
        pings=list(_pings(cell, at)),
        monitor=roles.monitor(),
        proxies=[proxy for device in cell.devices for proxy in device.proxies(_syn_retries(cell))],
        devices=list(_devices(cell, at, read)),
        tunnels=list(_tunnels(cell, at)),
        patience_ns=_patience_ns(cell, epoch_ns),
        servers=[roles.server(flow, cell) for flow in cell.flows],
        clients=[roles.client(flow, cell, read) for flow in cell.flows],
    )
    _refuse(made)
    return made


def _lookup(cell: Cell) -> _Lookup:
    interfaces = {(node.name, each.name): each for node in cell.nodes for each in node.interfaces}
    peers = {}
    for cable in cell.cables:
        peers[cable.a], peers[cable.b] = interfaces[cable.b], interfaces[cable.a]
    return _Lookup(interfaces, peers, lower(cell), cell.straight)


def _qdiscs(node: Node, cell: Cell, at: _Lookup, clock: tuple[int, int | None]) -> Iterator[str]:
    """Yield the lines of tc of a node; clock: how late its timers are, and the epoch, ns."""
    for interface in node.interfaces:
        yield from egress_lines(interface, *clock)
        yield from ingress_lines(
            interface, device_filters(cell.devices, (node.name, interface.name))
        )
    for device in cell.devices:
        yield from device.lines(node.name)
    yield from marking_lines(node, cell.flows)
    for (name, upper), netems in at.lower.items():
        if name == node.name:
            yield from lower_lines(at.interfaces[name, upper], netems)


def _lead_ns(cell: Cell) -> int:
    """Return how long before the epoch the first program starts, ns."""
    return (
        LEAD_NS
        + PROXY_LEAD_NS * cell.is_split
        + BROWSER_LEAD_NS * sum(flow.browser for flow in cell.flows)
        + IMAGE_LEAD_NS * any(flow.image is not None for flow in cell.flows)
        + max(flow.workload.lead_ns for flow in cell.flows)
        + LEAD_PER_PROGRAM_NS * roles.count(cell)
        + max(flow.workload.early_ns(flow) for flow in cell.flows)
    )


def _seeds(at: _Lookup) -> Iterator[document.Seed]:
    for (node, name), interface in at.interfaces.items():
        if interface.impairment is not None and interface.impairment.seed is not None:
            yield document.Seed(node=node, interface=name, seed=interface.impairment.seed)
    for (node, name), netems in at.lower.items():
        for netem in netems:
            if netem.seed is not None:
                yield document.Seed(node=node, interface=lower_name(name), seed=netem.seed)


def _changes(at: _Lookup, slack_ns: int) -> Iterator[document.Changes]:
    for place, interface in at.interfaces.items():
        if not interface.changes:
            continue
        below = len(at.lower.get(place, ()))
        # Before the first change of a round there is the last one of the round before, or what
        # began.
        in_force = [change.in_force for change in interface.changes]
        ahead = [in_force[-1] if interface.repeat_ns else interface.initial, *in_force]
        yield document.Changes(
            node=place[0],
            interface=interface.name,
            repeat_ns=interface.repeat_ns,
            lines=[
                (change.at_ns, change_lines(interface, change.in_force, before, slack_ns, below))
                for change, before in zip(interface.changes, ahead, strict=False)
            ],
        )


def _rerouting(cell: Cell, at: _Lookup) -> Iterator[document.Changes]:
    """Yield the changes of routes."""
    for node in cell.nodes:
        by_time = groupby(node.route_changes, key=lambda change: change.at_ns)
        lines = []
        routes = {route.destination: route for route in node.routes}
        before = list(_connection_routes(node, cell, at))
        for at_ns, changes in by_time:
            new = {change.route.destination: change.route for change in changes}
            routes |= new
            # The routes of a proxy's connections lead where its others do.
            now = replace(node, routes=tuple(routes.values()))
            after = list(_connection_routes(now, cell, at))
            moved = [route for route in after if route not in before]
            before = after
            lines.append(
                (at_ns, [route_line(r) for r in (*static_routes([*new.values()]), *moved)])
            )
        if lines:
            yield document.Changes(node=node.name, interface="", repeat_ns=None, lines=lines)
        late = list(late_endpoints(node, cell.flows))
        if late:
            yield document.Changes(node=node.name, interface=PATHS, repeat_ns=None, lines=late)


def _pings(cell: Cell, at: _Lookup) -> Iterator[document.Ping]:
    """Yield the pings of every flow, so far apart that they do not wait for each other."""
    rates = [each.shaper or each.impairment for each in at.interfaces.values()]
    frames_ns = [
        8 * PING_BYTES * 10**9 // each.rate_bps for each in rates if each and each.rate_bps
    ]
    longest_ns = max(frames_ns, default=0)
    for flow in cell.flows:
        yield document.Ping(
            flow=flow.name,
            client=flow.client,
            server=flow.server,
            address=flow.address,
            expected_ns=flow.base_rtt_ns + sum(frames_ns),
            every_ns=max(PING_EVERY_NS, 2 * longest_ns),
        )


def device_filters(devices: Sequence[Device], place: Place) -> list[str]:
    """Return the filters of devices for packets that arrive by an interface."""
    here = (each.arriving[place] for each in devices if place in each.arriving)
    return [f"matchall action {actions}" for actions in here]


def _devices(cell: Cell, at: _Lookup, read: Reading) -> Iterator[document.Forwarder]:
    site = Site(at.interfaces, lambda place: _macs(place, at), read)
    for device in cell.devices:
        yield from device.forwarders(cell, site)


def _tunnels(cell: Cell, at: _Lookup) -> Iterator[document.Forwarder]:
    for tunnel in cell.tunnels:
        for own, other in ((tunnel.a, tunnel.b), (tunnel.b, tunnel.a)):
            ends = at.interfaces[own], at.interfaces[other]
            yield roles.tunnel_end(tunnel, own[0], ends, _macs(own, at))


def _macs(place: Place, at: _Lookup) -> tuple[str, str]:
    """Return the Ethernet addresses of what leaves by an interface: its neighbour's, its own."""
    return mac_address(at.peers[place].address), mac_address(at.interfaces[place].address)


def mac_address(address: str) -> str:
    """Return a locally administered MAC address that tells the IPv4 address (`10.0.0.1/30`)."""
    octets = address.partition("/")[0].split(".")
    return "02:00:" + ":".join(f"{int(octet):02x}" for octet in octets)


def processing_netem(bound_ns: int, seed: int | None) -> Impairment:
    """Return a delay that is uniform in [0, bound_ns], in order."""
    half_ns = bound_ns // 2
    return Impairment(
        half_ns, limit_packets=TRANSMITTER_PACKETS, seed=seed, jitter_ns=half_ns, in_order=True
    )


def lower(cell: Cell) -> dict[Place, tuple[Impairment, ...]]:
    """Return what packets pass below interfaces: the processing of a host, then the transmitter of
    a link.

    One netem does both. Where the rate changes there are two: a change restarts a netem's random
    stream. Every interface of a host has a random stream of its own, named after the host and the
    interface's number. Interfaces without either are left out.
    """
    found = dict[Place, tuple[Impairment, ...]]()
    for node in cell.nodes:
        for number, interface in enumerate(node.interfaces):
            netems = list[Impairment]()
            if node.kind == "host" and cell.processing_ns:
                seed = stream_seed(cell.seed, "processing", node.name, str(number))
                netems.append(processing_netem(cell.processing_ns, seed))
            shaper = interface.shaper
            if shaper is not None and shaper.transmitter == "below":
                if netems and not interface.changes:
                    netems = [replace(netems[0], rate_bps=shaper.rate_bps)]
                else:
                    netems.append(transmitter(shaper.rate_bps))
            if netems:
                found[node.name, interface.name] = tuple(netems)
    return found


def _inserted(name: str, module: KernelModule) -> document.KernelModule:
    """Return a module as it is loaded; switches are Y and N."""
    texts = {
        key: str(value) if not isinstance(value, bool) else "Y" if value else "N"
        for key, value in module.parameters.items()
    }
    parameters = [f"{key}={text}" for key, text in texts.items()]
    return {"name": name, "of": module.of, "parameters": parameters}


def _end(place: Place, at: _Lookup) -> document.End:
    node, name = place
    return document.End(
        node=word(node),
        interface=word(lower_name(name) if place in at.lower else name),
        mac=mac_address(at.interfaces[place].address),
    )


def _on_the_wire(capture: Capture, cell: Cell, at: _Lookup) -> Capture:
    """Return a capture where it sees frames: below an interface that takes several as one."""
    if not cell.offload or capture.point not in ("sender", "client"):
        return capture
    if (capture.node, capture.interface) not in at.lower:
        return capture
    return replace(capture, interface=lower_name(capture.interface))


def _interface(node: Node, interface: Interface, at: _Lookup, cell: Cell) -> document.Interface:
    made = document.Interface(
        name=word(interface.name),
        address=word(interface.address),
        mac=mac_address(interface.address),
        mtu=interface.mtu,
        lower=lower_name(interface.name) if (node.name, interface.name) in at.lower else None,
        segments=MOST_SEGMENTS if cell.offload and node.kind == "host" else 1,
    )
    if interface.queue is not None and interface.queue.interface_packets is not None:
        made["queue"] = interface.queue.interface_packets
    return made


def _addresses(node: Node) -> document.Addresses:
    if not node.addresses:
        return document.Addresses()
    return document.Addresses(addresses=[word(address) for address in node.addresses])


def _neighbour(node: str, interface: Interface, at: _Lookup) -> document.Neighbour:
    address = at.peers[node, interface.name].ip
    return document.Neighbour(
        address=word(address), mac=mac_address(address), interface=interface.name
    )


def _routes(node: Node, cell: Cell, at: _Lookup) -> Iterator[document.Route]:
    yield from static_routes(node.routes)
    for number, interface in enumerate(multipath_interfaces(node, cell.flows)):
        via = at.peers[node.name, interface.name].ip
        yield document.Route(destination="10.0.0.0/8", via=via, table=SOURCE_TABLES + number)
    for number, name in enumerate(at.straight.get(node.name, {}).values()):
        via = at.peers[node.name, name].ip
        yield document.Route(destination="10.0.0.0/8", via=via, table=STRAIGHT_TABLES + number)
    yield from _connection_routes(node, cell, at)
    for device in cell.devices:
        yield from device.routes(node, partial(way_to, node))


def _straight_rules(node: Node, at: _Lookup) -> Iterator[document.Rule]:
    """Yield the rules of a hop for what comes in at its one interface and leaves by the other."""
    for number, name in enumerate(at.straight.get(node.name, {})):
        yield document.Rule(interface=name, table=STRAIGHT_TABLES + number)


def _connection_routes(node: Node, cell: Cell, at: _Lookup) -> Iterator[document.Route]:
    next_hops = {each.name: at.peers[node.name, each.name].ip for each in node.interfaces}
    return connection_routes(node, cell.flows, cell.devices, next_hops)


def _patience_ns(cell: Cell, epoch_ns: int | None) -> int:
    """Return how long the connections between proxies may take until they are open, ns: in real
    time about two RTTs at first; in virtual time waiting is free.
    """
    if not cell.is_split:
        return 0
    if epoch_ns is not None:
        return MOST_PATIENCE_NS
    return PROXY_LEAD_NS + 3 * _longest_rtt_ns(cell)


def most_preparation_s(cell: Cell) -> float:
    """Return how long losses may delay the epoch of a cell in real time, s: pings that do not come
    back, and proxies that start again.
    """
    proxies_ns = 2 * (MOST_PATIENCE_NS + _patience_ns(cell, None)) if cell.is_split else 0
    return (MOST_PINGING_NS + proxies_ns) / 1e9


def _syn_retries(cell: Cell) -> int:
    """Return how often the SYN of a proxy is sent again, after 1, 3, 7, ... s, before it opens
    another connection: until two RTTs have passed.
    """
    retries = 1
    while ((2 << retries) - 1) * 10**9 < 2 * _longest_rtt_ns(cell):
        retries += 1
    return retries


def _longest_rtt_ns(cell: Cell) -> int:
    return max((flow.base_rtt_ns for flow in cell.flows), default=0)


def _drain_ns(cell: Cell, at: _Lookup) -> int:
    """Return how long packets may still be under way after the end, ns: queues and propagation."""
    waiting_ns = 0
    for each in at.interfaces.values():
        if each.bottleneck and each.queue and each.shaper:
            limit_bits = 8 * queue_bytes(each.queue, each.frame_bytes)
            rate_bps = _last_bps(each, each.shaper, cell.duration_ns)
            waiting_ns = max(waiting_ns, limit_bits * 10**9 // rate_bps)
    return min(MAX_DRAIN_NS, 100_000_000 + 2 * _longest_rtt_ns(cell) + waiting_ns)


def _last_bps(interface: Interface, shaper: Shaper, duration_ns: int | None) -> int:
    """Return the rate at which a queue drains, bit/s: that at the cell's end, none changes later.

    A cell without a duration ends when its data have arrived: the first rate.
    """
    rates = [shaper.rate_bps]
    for change in interface.changes:
        if change.rate_bps and duration_ns is not None and change.at_ns <= duration_ns:
            rates.append(change.rate_bps)
    return rates[-1]


def _refuse(made: Document) -> None:
    """Raise ValueError for what could be more than data: a line that is not words, a name that is a
    path.
    """
    for node in made["network"]["nodes"]:
        for _ in node_lines(node):
            pass
    programs = [*made["captures"], *made["proxies"], *made["servers"], *made["clients"]]
    for program in (*programs, *made["devices"], *made["tunnels"]):
        if not _FILE.fullmatch(program["name"]):
            raise ValueError(f"not a name: {program['name']!r}")
