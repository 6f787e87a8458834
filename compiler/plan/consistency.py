"""Consistency of a cell: references to missing parts, and parts that contradict each other.

The writers of programs rely on it: every name that a cell uses is that of one of its parts, so a
plan from a stranger cannot bring them into a state that no compiled experiment has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from socket import inet_aton

from fairc.cell.links import Interface
from fairc.cell.model import Cell, Flow, Node
from fairc.cell.roles import tunnel_log
from fairc.cell.text import Place
from fairc.words.ccas import QUIC_CCAS, TCP_CCAS, CcaParameter
from fairc.words.losses.packets import LAST

from .places import interfaces_of

RESERVED = frozenset({"all", "default", "lo"})
"""Names with a meaning in Linux where an interface's name is expected."""

LOGS = frozenset({"changes", "monitor"})
"""What else writes a log, apart from captures and the programs of flows."""

LEAST_HEADER_BYTES = 20

LEAST_CHANGE_NS = 10**6
"""Of what repeats, on average: the resolution of a trace. A report goes through all of them."""

USUAL_WINDOW = 10
"""Linux's default initial window; any other needs its own route from the server to the client."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a cell by their names. owners: address -> name of the node that has it."""

    nodes: dict[str, Node]
    ends: dict[Place, Interface]
    owners: dict[str, str]


def contradiction(cell: Cell) -> str:
    """Return the first contradiction in a cell; empty if there is none.

    Every cell that is read passes through here, 10,000 per second, so no step is repeated.
    """
    ends = interfaces_of(cell)
    owners = {end.address.partition("/")[0]: place[0] for place, end in ends.items()}
    further = {address: node.name for node in cell.nodes for address in node.addresses}
    if len(further) != sum([len(node.addresses) for node in cell.nodes]) or further.keys() & owners:
        return "two hosts have the same address"
    parts = Parts({node.name: node for node in cell.nodes}, ends, owners | further)
    for check in (_network, _flows, _devices, _tunnels, _captures):
        if why := check(cell, parts):
            return why
    return ""


def _network(cell: Cell, parts: Parts) -> str:
    """Report what is wrong with nodes, interfaces, cables and routes."""
    ends = parts.ends
    interfaces = sum([len(node.interfaces) for node in cell.nodes])
    if len(parts.nodes) != len(cell.nodes):
        return "two nodes have the same name"
    if len(ends) != interfaces:
        return "a node has two interfaces with the same name"
    if len(parts.owners) != interfaces + sum([len(node.addresses) for node in cell.nodes]):
        return "two interfaces have the same address"
    cabled = {place for cable in cell.cables for place in (cable.a, cable.b)}
    if 2 * len(cell.cables) != interfaces or cabled != ends.keys():
        return "each interface is at one end of one cable, and each end of a cable is an interface"
    # What can be reached over one cable: where a node's routes may lead.
    next_to: set[tuple[str, str]] = set()
    for cable in cell.cables:
        a, b = _pair(ends[cable.a].address, ends[cable.b].address)
        if not b:
            return f"the two ends of a cable of `{cable.a[0]}` are not in the same network"
        next_to.add((cable.a[0], b))
        next_to.add((cable.b[0], a))
    for node in cell.nodes:
        for route in (*node.routes, *(change.route for change in node.route_changes)):
            if not _is_network(route.destination):
                return f"`{route.destination}` is not a network: it has bits beyond its prefix"
            if (node.name, route.via) not in next_to:
                return f"`{route.via}` is not a neighbour of `{node.name}`"
    for place, end in ends.items():
        if place[1] in RESERVED:
            return f"no interface can be called `{end.name}`"
        if end.changes and (why := _changes(end)):
            return why
        if any(number > LAST for loss in end.arriving_losses for number in loss.numbers):
            return f"`{end.name}` loses packets beyond the one with the number {LAST}"
    return ""


def _changes(end: Interface) -> str:
    """Report what is wrong with the changes of an interface."""
    shaped = end.shaper is not None and end.queue is not None
    for change in end.changes:
        if (change.rate_bps is None) == (change.impairment is None):
            return f"a change of `{end.name}` must change either the rate or the impairment"
        if change.impairment is None and not shaped:
            return f"the rate of `{end.name}` changes, but it has none"
        if change.rate_bps is None and end.impairment is None:
            return f"the impairment of `{end.name}` changes, but it has none"
    alone = len(end.changes) == 1 and end.repeat_ns is None
    if not alone and any(change.entering for change in end.changes):
        return f"`{end.name}` changes upon a state, and in another way as well"
    if end.repeat_ns is not None and end.repeat_ns < end.changes[-1].at_ns:
        return f"the changes of `{end.name}` repeat before the last of them"
    if end.repeat_ns is not None and end.repeat_ns < LEAST_CHANGE_NS * len(end.changes):
        return f"the changes of `{end.name}` repeat faster than one each millisecond"
    return ""


def _flows(cell: Cell, parts: Parts) -> str:
    """Report what is wrong with flows."""
    nodes, owners = parts.nodes, parts.owners
    intercepted = {port for device in cell.devices for port in device.split_ports}
    if len({flow.name for flow in cell.flows}) != len(cell.flows):
        return "two flows have the same name"
    for flow in cell.flows:
        server, client = flow.server, flow.client
        if server not in nodes or client not in nodes or server == client:
            return f"the flow `{flow.name}` does not run between two nodes of the cell"
        if owners.get(flow.address) != server:
            return f"`{flow.address}` is not an address of `{server}`"
        if flow.client_address and owners.get(flow.client_address) != client:
            return f"`{flow.client_address}` is not an address of `{client}`"
        if not {flow.bottleneck, *flow.further_bottlenecks} <= parts.ends.keys():
            return f"the bottleneck of `{flow.name}` is not an interface of the cell"
        for path in flow.subflows:
            if (owners.get(path.address), owners.get(path.client_address)) != (server, client):
                return f"the subflow `{path.name}` of `{flow.name}` is not between its hosts"
            if path.bottleneck not in (flow.bottleneck, *flow.further_bottlenecks):
                return f"the bottleneck of the subflow `{path.name}` is none of `{flow.name}`"
        if flow.subflows and flow.transport != "tcp":
            return f"the flow `{flow.name}` has subflows, which only TCP has"
        if len(flow.starts_ns) != flow.connections:
            return f"each connection of `{flow.name}` must have exactly one start"
        if flow.transport == "udp" and flow.port + flow.connections > 65_536:
            return f"the flow `{flow.name}` needs more ports than exist"
        if why := _stack(flow, cell.kernel is not None) or flow.workload.contradiction(
            flow, intercepted
        ):
            return why
        window = flow.options.initial_window_packets
        if window != USUAL_WINDOW and not _reaches(nodes[server], flow.client_address):
            return f"`{server}` has no route to the client of `{flow.name}`"
    return ""


def _stack(flow: Flow, has_own_kernel: bool) -> str:
    """Report what cannot be combined in a flow: transport, workload, CCA and image.

    has_own_kernel: whether the kernel is one that only its builder knows, with parameters of its
    own.
    """
    workload, transport = flow.workload, flow.transport
    if transport not in workload.transports:
        return f"the flow `{flow.name}` cannot move `{workload.kind}` over `{transport}`"
    if flow.image is not None and not (workload.by_images and transport == "quic"):
        return f"the image of `{flow.name}` can only move a file over QUIC"
    if flow.cca is None and transport != "udp" and flow.image is None:
        return f"the flow `{flow.name}` has no CCA"
    if flow.cca_object is not None and transport not in ("tcp", "web"):
        return f"the BPF program of `{flow.name}` is a CCA of the kernel's TCP"
    if flow.cca_module is not None and transport not in ("tcp", "web"):
        return f"the kernel module of `{flow.name}` is a CCA of the kernel's TCP"
    if flow.cca_module is not None and flow.cca_object is not None:
        return f"the CCA of `{flow.name}` is both a BPF program and a kernel module"
    why = ""
    if flow.cca_parameters and not (has_own_kernel and transport != "quic"):
        parameters = _parameters("quic" if transport == "quic" else "tcp", flow.cca or "")
        why = _settings(parameters, flow.cca_parameters, flow.name)
    if workload.parameters_over_quic:
        parameters = _parameters("quic", flow.cca or "")
        why = why or _settings(parameters, workload.parameters_over_quic, flow.name)
    return why


def _devices(cell: Cell, parts: Parts) -> str:
    """Report what is wrong with devices."""
    if len({(device.kind, device.name) for device in cell.devices}) != len(cell.devices):
        return "two devices of one kind have the same name"
    nodes = [node for device in cell.devices for node in device.nodes]
    if len(set(nodes)) != len(nodes):
        return "two devices are at the same node"
    for device in cell.devices:
        if why := device.contradiction(cell, parts.nodes):
            return why
        for cca, parameters in device.ccas.items():
            if parameters and (why := _settings(_parameters("tcp", cca), parameters, device.name)):
                return why
    return ""


def _tunnels(cell: Cell, parts: Parts) -> str:
    """Report what is wrong with tunnels: each end is the one interface of a hop of its own."""
    if len({tunnel.name for tunnel in cell.tunnels}) != len(cell.tunnels):
        return "two tunnels have the same name"
    places = [place for tunnel in cell.tunnels for place in (tunnel.a, tunnel.b)]
    if len(set(places)) != len(places):
        return "two ends of tunnels are at the same interface"
    for tunnel in cell.tunnels:
        for place in (tunnel.a, tunnel.b):
            node = parts.nodes.get(place[0])
            if (
                node is None
                or node.kind != "hop"
                or [i.name for i in node.interfaces] != [place[1]]
            ):
                return f"an end of the tunnel `{tunnel.name}` is not the one interface of a hop"
        if tunnel.header_bytes < LEAST_HEADER_BYTES:
            return f"the header of the tunnel `{tunnel.name}` is smaller than that of IPv4"
    return ""


def _captures(cell: Cell, parts: Parts) -> str:
    """Report what is wrong with captures."""
    if cell.captured == "none":
        if cell.captures:
            return "a cell without captures has captures"
        for flow in cell.flows:
            if flow.image or flow.workload.only_in_packets:
                return (
                    f"the flow `{flow.name}` can be measured only from captured packets, and the"
                    f" cell has no captures"
                )
    if len({capture.name for capture in cell.captures}) != len(cell.captures):
        return "two captures have the same name"
    others = {f"{flow.name}.{side}" for flow in cell.flows for side in ("server", "client")}
    others |= {name for device in cell.devices for name in device.programs}
    others |= {tunnel_log(t, node) for t in cell.tunnels for node, _ in (t.a, t.b)}
    others |= LOGS
    if not others.isdisjoint([capture.name for capture in cell.captures]):
        return "a capture and a program have the same name, and so the same log"
    for capture in cell.captures:
        place = capture.node, capture.interface
        if place not in parts.ends or capture.queue not in parts.ends:
            return f"the capture `{capture.name}` is not of interfaces of the cell"
    return ""


def _reaches(node: Node, address: str) -> bool:
    """Whether a node has an interface or a route towards an address."""
    prefixes = (*(i.address for i in node.interfaces), *(r.destination for r in node.routes))
    return address != "" and any(_covers(prefix, address) for prefix in prefixes)


def _pair(a: str, b: str) -> tuple[str, str]:
    """Return two addresses without their prefixes; nothing twice if they are in different
    networks.
    """
    (one, of_one), (other, of_other) = a.split("/"), b.split("/")
    same = of_one == of_other and _covers(a, other)
    return (one, other) if same else ("", "")


def _is_network(prefix: str) -> bool:
    network, length = prefix.split("/")
    return _number(network) % (1 << (32 - int(length))) == 0


def _covers(prefix: str, address: str) -> bool:
    network, length = prefix.split("/")
    return (_number(network) ^ _number(address)) >> (32 - int(length)) == 0


def _number(address: str) -> int:
    """Return an address as a number; `ipaddress` takes ten times as long."""
    return int.from_bytes(inet_aton(address))


# ---- Parameters of CCAs ----------------------------------------------------------------------


def _settings(
    parameters: Mapping[str, CcaParameter], given: Mapping[str, float | bool | str], user: str
) -> str:
    """Report what is wrong with parameters of a CCA: those of a kernel apply to the whole
    machine.
    """
    for name, value in given.items():
        parameter = parameters.get(name)
        if parameter is None:
            return f"the CCA of `{user}` has no such parameter: `{name}`"
        if not parameter.admits(value):
            return f"`{name}` of the CCA of `{user}` is beyond its limits"
    return ""


def _parameters(transport: str, cca: str) -> Mapping[str, CcaParameter]:
    """Return the parameters of a CCA of the language by their names in the plan."""
    ccas = QUIC_CCAS if transport == "quic" else TCP_CCAS
    return ccas[cca].fields if cca in ccas else {}
