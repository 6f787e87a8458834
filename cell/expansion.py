"""An experiment in a network as a document: all that follows from what an emitted program says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from . import document, iperf3, roles
from .batch import is_beyond_tc, node_lines, word
from .document import Document
from .experiment import End, Experiment, Flow, Network
from .frames import frame_bytes
from .hosts import (
    modules,
    pep_routes,
    pep_rules,
    static_routes,
    sysctls,
    window_routes,
    window_rules,
)
from .links import (
    REAL_TIME_SLACK_NS,
    TRANSMITTER_PACKETS,
    Egress,
    Impairment,
    change_lines,
    egress_lines,
    lower_lines,
    lower_name,
    transmitter,
)
from .observation import PING_BYTES, PING_EVERY_NS
from .queues import queue_bytes

MAX_DRAIN_NS = 10_000_000_000
LEAD_NS = 300_000_000
LEAD_PER_PROGRAM_NS = 20_000_000
PROXY_LEAD_NS = 1_000_000_000
POLICER_PATIENCE_NS = 5_000_000_000
BROWSER_LEAD_NS = 5_000_000_000  # a browser runs before its first load begins
IMAGE_LEAD_NS = 8_000_000_000  # its server listens before the first client begins

_FILE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,246}", re.ASCII)

Place = tuple[str, str]


@dataclass(frozen=True)
class _Lookup:
    """What is asked of a network again and again: by node, and by node and interface.

    own: interfaces in the order of the links. peers: the other end of the link. lower: what packets
    pass below an interface, in order: the processing of a host, and the transmitter of a link.
    """

    own: dict[str, list[End]]
    ends: dict[Place, End]
    peers: dict[Place, End]
    mtus: dict[Place, int]
    lower: dict[Place, tuple[Impairment, ...]]


def expand(
    network: Network,
    experiment: Experiment,
    slack_ns: int = REAL_TIME_SLACK_NS,
    epoch_ns: int | None = None,
) -> Document:
    """Return the document of a cell.

    slack_ns: how late the clock's timers may be, ns. epoch_ns: as in the document.
    Raises ValueError for a name, address or value that could be more than that in a command.
    """
    at = _lookup(network, experiment)
    flows = [_complete(flow, at.own) for flow in experiment.flows]
    qdiscs = _qdiscs(network, experiment, at, slack_ns)
    processing = experiment.processing
    made = Document(
        id=word(experiment.id),
        epoch_ns=epoch_ns,
        lead_ns=_lead_ns(experiment, flows),
        duration_ns=experiment.duration_ns,
        deadline_ns=experiment.deadline_ns,
        drain_ns=_drain_ns(experiment, at.mtus),
        stop=experiment.stop,
        processing_ns=processing.bound_ns if processing else 0,
        slack_ns=slack_ns,
        network=document.Network(
            nodes=[
                document.Node(
                    name=word(name),
                    sysctls=sysctls(name, kind, flows, experiment.peps),
                    interfaces=[_interface(end, at) for end in at.own[name]],
                    neighbours=[_neighbour(end, at.peers) for end in at.own[name]],
                    routes=list(_routes(name, at.own[name], experiment, flows)),
                    rules=[
                        *pep_rules(name, _addresses(at.own[name]), experiment.peps),
                        *window_rules(name, flows),
                    ],
                    qdiscs=[text for text in qdiscs[name] if not is_beyond_tc(text)],
                    beyond_tc=[text for text in qdiscs[name] if is_beyond_tc(text)],
                )
                for name, kind in network.nodes.items()
            ],
            cables=[(_end(link.a, at.lower), _end(link.b, at.lower)) for link in network.links],
        ),
        modules=modules(flows, experiment.peps),
        window_bytes=iperf3.window_bytes(flows),
        objects=dict(experiment.objects),
        seeds=list(_seeds(experiment, at.lower)),
        changes=list(_changes(experiment, at, slack_ns)),
        captures=[roles.capture(capture, experiment) for capture in experiment.captures],
        pings=list(_pings(experiment, flows)),
        monitor=roles.monitor(),
        proxies=[program for pep in experiment.peps for program in roles.proxies(pep)],
        policers=list(_policers(experiment, flows, at)),
        patience_ns=_proxy_lead_ns(experiment),
        servers=[roles.server(flow, experiment) for flow in flows if not iperf3.uses(flow)],
        clients=[roles.client(flow, experiment) for flow in flows if not iperf3.uses(flow)],
        tests=list(iperf3.tests(flows)),
    )
    _refuse(made)
    return made


def _lookup(network: Network, experiment: Experiment) -> _Lookup:
    own: dict[str, list[End]] = {node: [] for node in network.nodes}
    ends, peers, mtus = {}, {}, {}
    for link in network.links:
        for end, peer in ((link.a, link.b), (link.b, link.a)):
            place = (end.node, end.interface)
            ends[place], peers[place], mtus[place] = end, peer, link.mtu
    for end in ends.values():
        own[end.node].append(end)
    return _Lookup(own, ends, peers, mtus, lower(experiment))


def _qdiscs(
    network: Network, experiment: Experiment, at: _Lookup, slack_ns: int
) -> dict[str, list[str]]:
    """Return the lines of tc of each node."""
    lines: dict[str, list[str]] = {node: [] for node in network.nodes}
    for egress in experiment.egress:
        lines[egress.node] += egress_lines(egress, _frame(egress, at.mtus), slack_ns)
    for (node, name), netems in at.lower.items():
        lines[node] += lower_lines(name, netems)
    return lines


def _lead_ns(experiment: Experiment, flows: Sequence[Flow]) -> int:
    """Return how long before the epoch the first program starts, ns."""
    return (
        LEAD_NS
        + _proxy_lead_ns(experiment)
        + BROWSER_LEAD_NS * sum(flow.browser for flow in flows)
        + IMAGE_LEAD_NS * any(flow.image is not None for flow in flows)
        + LEAD_PER_PROGRAM_NS * roles.count(experiment, flows)
        + iperf3.early_ns(flows)
    )


def _seeds(
    experiment: Experiment, lower: dict[Place, tuple[Impairment, ...]]
) -> Iterator[document.Seed]:
    for egress in experiment.egress:
        if egress.impairment is not None and egress.impairment.seed is not None:
            yield document.Seed(
                node=egress.node, interface=egress.interface, seed=egress.impairment.seed
            )
    for (node, name), netems in lower.items():
        for netem in netems:
            if netem.seed is not None:
                yield document.Seed(node=node, interface=lower_name(name), seed=netem.seed)


def _changes(experiment: Experiment, at: _Lookup, slack_ns: int) -> Iterator[document.Changes]:
    for egress in experiment.egress:
        if not egress.changes:
            continue
        frame, below = (
            _frame(egress, at.mtus),
            len(at.lower.get((egress.node, egress.interface), ())),
        )
        # Before the first change of a round there is the last one of the round before, or what
        # began.
        ahead = [egress.changes[-1].in_force if egress.repeat_ns else _initial(egress)]
        ahead += [change.in_force for change in egress.changes]
        yield document.Changes(
            node=egress.node,
            interface=egress.interface,
            repeat_ns=egress.repeat_ns,
            lines=[
                (
                    change.at_ns,
                    change_lines(egress, change.in_force, before, frame, slack_ns, below),
                )
                for change, before in zip(egress.changes, ahead, strict=False)
            ],
        )


def _initial(egress: Egress) -> int | Impairment:
    """Return what holds at an interface before any change."""
    if egress.shaper is not None:
        return egress.shaper.rate_bps
    assert egress.impairment is not None, "what changes is there"
    return egress.impairment


def _pings(experiment: Experiment, flows: Sequence[Flow]) -> Iterator[document.Ping]:
    """Yield the pings of every flow, so far apart that they do not wait for each other."""
    rates = [each.shaper or each.impairment for each in experiment.egress]
    frames_ns = [
        8 * PING_BYTES * 10**9 // each.rate_bps for each in rates if each and each.rate_bps
    ]
    longest_ns = max(frames_ns, default=0)
    for flow in flows:
        yield document.Ping(
            flow=flow.name,
            client=flow.client,
            server=flow.server,
            address=flow.address,
            expected_ns=flow.base_rtt_ns + sum(frames_ns),
            every_ns=max(PING_EVERY_NS, 2 * longest_ns),
        )


def _policers(
    experiment: Experiment, flows: Sequence[Flow], at: _Lookup
) -> Iterator[document.Policer]:
    by_name = {flow.name: flow for flow in flows}
    for policer in experiment.policers:
        out = (policer.node, policer.egress)
        macs = (mac_address(at.peers[out].address), mac_address(at.ends[out].address))
        yield roles.policer(policer, by_name, macs, at.mtus[policer.node, policer.ingress])


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


def lower(experiment: Experiment) -> dict[Place, tuple[Impairment, ...]]:
    """Return what packets pass below interfaces: the processing of a host, then the transmitter of
    a link.

    One netem does both. Where the rate changes there are two: a change restarts a netem's random
    stream.
    """
    processing, found = experiment.processing, dict[Place, tuple[Impairment, ...]]()
    if processing is not None:
        for place, seed in processing.seeds.items():
            found[place] = (processing_netem(processing.bound_ns, seed),)
    for egress in experiment.egress:
        if egress.shaper is None or egress.shaper.transmitter != "below":
            continue
        place, rate_bps = (egress.node, egress.interface), egress.shaper.rate_bps
        delays = found.get(place, ())
        if delays and not egress.changes:
            found[place] = (replace(delays[0], rate_bps=rate_bps),)
        else:
            found[place] = (*delays, transmitter(rate_bps))
    return found


def _complete(flow: Flow, own: dict[str, list[End]]) -> Flow:
    """Return a flow with its addresses."""

    def first(node: str) -> str:
        return own[node][0].address.partition("/")[0]

    return replace(
        flow,
        address=flow.address or first(flow.server),
        client_address=flow.client_address or first(flow.client),
    )


def _end(end: End, lower: Mapping[Place, object]) -> document.End:
    below = (end.node, end.interface) in lower
    name = lower_name(end.interface) if below else end.interface
    return document.End(node=word(end.node), interface=word(name), mac=mac_address(end.address))


def _frame(egress: Egress, mtus: dict[Place, int]) -> int:
    return frame_bytes(mtus[egress.node, egress.interface])


def _interface(end: End, at: _Lookup) -> document.Interface:
    place = (end.node, end.interface)
    return document.Interface(
        name=word(end.interface),
        address=word(end.address),
        mac=mac_address(end.address),
        mtu=at.mtus[place],
        lower=lower_name(end.interface) if place in at.lower else None,
    )


def _neighbour(end: End, peers: dict[Place, End]) -> document.Neighbour:
    address = peers[end.node, end.interface].address.partition("/")[0]
    return document.Neighbour(
        address=word(address), mac=mac_address(address), interface=end.interface
    )


def _addresses(ends: Sequence[End]) -> list[tuple[str, str]]:
    return [(end.interface, end.address) for end in ends]


def _routes(
    name: str, ends: Sequence[End], experiment: Experiment, flows: Sequence[Flow]
) -> Iterator[document.Route]:
    interfaces, routes = _addresses(ends), experiment.routes.get(name, ())
    yield from static_routes(routes)
    yield from window_routes(name, interfaces, routes, flows)
    yield from pep_routes(name, interfaces, routes, experiment.peps)


def _proxy_lead_ns(experiment: Experiment) -> int:
    """Return how long it may take until the connections between proxies are open, ns: two RTTs."""
    if not experiment.peps:
        return 0
    return PROXY_LEAD_NS + 3 * max((flow.base_rtt_ns for flow in experiment.flows), default=0)


def _drain_ns(experiment: Experiment, mtus: dict[Place, int]) -> int:
    """Return how long packets may still be under way after the end, ns: queues and propagation."""
    waiting_ns = 0
    for egress in experiment.egress:
        if egress.bottleneck and egress.queue and egress.shaper:
            limit_bits = 8 * queue_bytes(egress.queue, _frame(egress, mtus))
            waiting_ns = max(waiting_ns, limit_bits * 10**9 // egress.shaper.rate_bps)
    longest_rtt_ns = max((flow.base_rtt_ns for flow in experiment.flows), default=0)
    return min(MAX_DRAIN_NS, 100_000_000 + 2 * longest_rtt_ns + waiting_ns)


def _refuse(made: Document) -> None:
    """Raise ValueError for what could be more than data: a line that is not words, a name that is a
    path.
    """
    for node in made["network"]["nodes"]:
        for _ in node_lines(node):
            pass
    programs = (made["captures"], made["proxies"], made["policers"], made["servers"])
    for program in [p for several in programs for p in several] + made["clients"]:
        if not _FILE.fullmatch(program["name"]):
            raise ValueError(f"not a name: {program['name']!r}")
