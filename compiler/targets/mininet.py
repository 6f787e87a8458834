"""Target `mininet`: one standalone Mininet program per cell (template: `mininet.py.j2`)."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from fairc.compiler.passes.queues import queue_bytes
from fairc.compiler.plan import SAMPLE_EVERY_NS, Capture, Cell, Interface, LoadWorkload, Node

from . import images, iperf3, processing
from .binary import NAME, find_endpoints
from .hosts import (
    EVERYWHERE,
    modules,
    objects,
    pep_routes,
    pep_sysctls,
    sysctls,
    window_routes,
)
from .lines import line, word
from .programs import client, policer, proxies, server
from .tc import BEYOND_TC, LATE_NS, change_line, interface_lines, is_beyond_tc

SNAPLEN = 96
RING_PACKETS = 25_000  # 100,000 packets/s for 250 ms: one reading may come late
MAX_DRAIN_NS = 10_000_000_000
LEAD_NS = 300_000_000
MEANINGS = {"client": "client of page loads", "policer": "what a policer sees"}
"""Of captures that are not of a queue, by their point."""
LEAD_PER_PROGRAM_NS = 20_000_000
PROXY_LEAD_NS = 1_000_000_000
POLICER_PATIENCE_NS = 5_000_000_000
BROWSER_LEAD_NS = 5_000_000_000  # a browser runs before its first load begins
IMAGE_LEAD_NS = 8_000_000_000  # its server listens before the first client begins


def begin(directory: Path) -> Callable[[Cell], None]:
    """Put the endpoints' program beside the scripts; return what writes `cells/<id>.py`.

    Raises EndpointsMissing.
    """
    cells = directory / "cells"
    cells.mkdir(exist_ok=True)
    shutil.copy(find_endpoints(), cells / NAME)

    def write(cell: Cell) -> None:
        images.refuse(cell, "mininet")
        script = cells / f"{cell.id}.py"
        script.write_bytes(render(cell).encode())
        script.chmod(0o755)

    return write


def render(
    cell: Cell,
    late_ns: int = LATE_NS,
    epoch_ns: int | None = None,
    computing_is_free: bool = False,
) -> str:
    """Write the Mininet program of a cell: equal text for equal arguments.

    late_ns: how late the timers of its clock may be, as in `tc.interface_lines`. epoch_ns: when its
    flows begin, ns after 1970; None: as soon as its programs have been started. computing_is_free:
    whether what its hosts compute takes no time of that clock; then they delay what they send, by
    default.
    """
    resolved = processing.resolved(cell, computing_is_free)
    return program(resolved, "mininet.py.j2", late_ns, epoch_ns=epoch_ns)


def program(
    cell: Cell, name: str, late_ns: int = LATE_NS, epoch_ns: int | None = None, **more: object
) -> str:
    """Write a cell with a template of programs; more: what that one needs beside."""
    cell = processing.resolved(cell, computing_is_free=False)
    nics = processing.nics(cell)
    ends = {
        (node.name, interface.name): interface
        for node in cell.nodes
        for interface in node.interfaces
    }
    peers = {cable.a: cable.b for cable in cell.cables} | {c.b: c.a for c in cell.cables}
    return template(name).render(
        more,
        id=cell.id,
        epoch_ns=epoch_ns,
        header=list(header(cell)),
        duration_ns=cell.duration_ns,
        deadline_ns=cell.deadline_ns,
        stop=cell.stop,
        drain_ns=drain_ns(cell),
        browsers=browsers(cell),
        lead_ns=LEAD_NS
        + proxy_lead_ns(cell)
        + BROWSER_LEAD_NS * browsers(cell)
        + IMAGE_LEAD_NS * bool(images.names(cell))
        + LEAD_PER_PROGRAM_NS
        * (
            1
            + len(cell.captures)
            + 2 * len(cell.peps)
            + len(cell.policers)
            + 2 * len(cell.flows)
            + sum(map(changing, cell.nodes))
        )
        + iperf3.early_ns(cell),
        nodes=[
            (
                node.name,
                node.kind,
                (sysctls(node, cell.flows) | pep_sysctls(node, cell.peps)).items(),
                [
                    *map(
                        line,
                        (
                            *_ip_lines(
                                node,
                                {i.name: ends[peers[node.name, i.name]] for i in node.interfaces},
                                [nics[place] for place in _places(node) if place in nics],
                            ),
                            *window_routes(node, cell.flows),
                            *pep_routes(node, cell.peps),
                        ),
                    )
                ],
                [
                    (i.source, lines)
                    for i in node.interfaces
                    if (
                        lines := [
                            line(text)
                            for text in interface_lines(i, late_ns)
                            if not is_beyond_tc(text)
                        ]
                    )
                ]
                + [
                    (f"processing of {node.name}", [line(processing.tc_line(nics[place]))])
                    for place in _places(node)
                    if place in nics
                ],
            )
            for node in cell.nodes
        ],
        beyond_tc=sorted(BEYOND_TC),
        qdiscs=[
            (i.source, node.name, json.dumps({"lines": lines}))
            for node in cell.nodes
            for i in node.interfaces
            if (lines := [line(t) for t in interface_lines(i, late_ns) if is_beyond_tc(t)])
        ],
        everywhere=EVERYWHERE.items(),
        cables=[
            (
                ends[cable.a].source,
                word(cable.a[0]),
                word(nics[cable.a].name if cable.a in nics else cable.a[1]),
                mac_address(ends[cable.a].address),
                word(cable.b[0]),
                word(nics[cable.b].name if cable.b in nics else cable.b[1]),
                mac_address(ends[cable.b].address),
            )
            for cable in cell.cables
        ],
        modules=list(modules(cell)),
        objects=objects(cell.flows),
        seeds=[
            (*place, interface.impairment.seed)
            for place, interface in ends.items()
            if interface.impairment is not None and interface.impairment.seed is not None
        ]
        + [(nic.node, nic.name, nic.impairment.seed) for nic in nics.values()],
        processing_ns=cell.processing_ns,
        changes=[
            (
                interface.source,
                *place,
                interface.repeat_ns,
                [(c.at_ns, line(change_line(interface, c, late_ns))) for c in interface.changes],
            )
            for place, interface in ends.items()
            if interface.changes
        ],
        captures=[
            (
                MEANINGS[capture.point]
                if capture.point in MEANINGS
                else f"{capture.point} of the bottleneck {'/'.join(capture.queue)}",
                capture.name,
                capture.node,
                _capture(capture),
            )
            for capture in cell.captures
        ],
        pings=[
            (flow.name, flow.client, flow.server, flow.address, flow.base_rtt_ns)
            for flow in cell.flows
        ],
        monitor=json.dumps({"every_ns": SAMPLE_EVERY_NS}),
        proxies=[
            (pep.source, f"{pep.name}.{end}", node, *told)
            for pep in cell.peps
            for end, node, told in proxies(pep)
        ],
        proxy_patience_ns=proxy_lead_ns(cell),
        policers=[
            (
                one.source,
                f"{one.name}.policer",
                one.node,
                word(one.ingress),
                *policer(
                    one,
                    cell,
                    (
                        mac_address(ends[peers[one.node, one.egress]].address),
                        mac_address(ends[one.node, one.egress].address),
                    ),
                    ends[one.node, one.ingress].mtu,
                ),
            )
            for one in cell.policers
        ],
        policer_patience_ns=POLICER_PATIENCE_NS,
        servers=[
            (flow.source, f"{flow.name}.server", flow.server, *server(flow, cell))
            for flow in cell.flows
            if not iperf3.uses(flow)
        ],
        clients=[
            (flow.source, f"{flow.name}.client", flow.client, *client(flow, cell))
            for flow in cell.flows
            if not iperf3.uses(flow)
        ],
        iperf3_servers=[(t.source, t.name, t.node, t.command) for t in iperf3.servers(cell)],
        iperf3_clients=[
            (t.source, t.name, t.node, t.begin_ns, t.stop_ns, t.command)
            for t in iperf3.clients(cell)
        ],
        iperf3_window_bytes=iperf3.window_bytes(cell),
    )


def browsers(cell: Cell) -> int:
    """Return how many flows load pages in a browser."""
    loads = (flow.workload for flow in cell.flows if isinstance(flow.workload, LoadWorkload))
    return sum(load.client != "plain" for load in loads)


def proxy_lead_ns(cell: Cell) -> int:
    """Return how long it may take until the connections between proxies are open, ns: two RTTs."""
    if not cell.peps:
        return 0
    return PROXY_LEAD_NS + 3 * max((flow.base_rtt_ns for flow in cell.flows), default=0)


def changing(node: Node) -> bool:
    """Whether anything at a node changes while the flows run."""
    return any(interface.changes for interface in node.interfaces)


@lru_cache(maxsize=4096)
def mac_address(address: str) -> str:
    """Return a locally administered MAC address that tells the IPv4 address (`10.0.0.1/30`)."""
    octets = address.partition("/")[0].split(".")
    return "02:00:" + ":".join(f"{int(octet):02x}" for octet in octets)


def drain_ns(cell: Cell) -> int:
    """Return how long packets may still be under way after the end, ns: queues and propagation."""
    waiting_ns = 0
    for node in cell.nodes:
        for interface in node.interfaces:
            if interface.bottleneck and interface.queue and interface.shaper:
                limit_bits = 8 * queue_bytes(interface.queue, interface.frame_bytes)
                waiting_ns = max(waiting_ns, limit_bits * 10**9 // interface.shaper.rate_bps)
    longest_rtt_ns = max((flow.base_rtt_ns for flow in cell.flows), default=0)
    return min(MAX_DRAIN_NS, 100_000_000 + 2 * longest_rtt_ns + waiting_ns)


def header(cell: Cell) -> Iterator[str]:
    """Yield the comment lines that say which cell this is."""
    yield f"cell           {cell.id}"
    yield f"experiment     {cell.experiment}"
    yield f"configuration  {cell.configuration}"
    for name, value in cell.bindings.items():
        yield f"  {name} = {value}"
    yield f"repetition     {cell.repetition}, seed {cell.seed}"


def _places(node: Node) -> Iterator[tuple[str, str]]:
    """Yield (node, interface) of each interface."""
    for interface in node.interfaces:
        yield node.name, interface.name


def _ip_lines(
    node: Node, peers: dict[str, Interface], nics: Iterable[processing.Nic]
) -> Iterator[str]:
    """Yield the lines of `ip -batch` that bring a node's interfaces up and its routes in.

    peers: interface name -> the other end of its cable. nics: what is below its interfaces.
    """
    yield "link set dev lo up"
    for nic in nics:
        yield from processing.ip_lines(nic)
    for interface in node.interfaces:
        name = interface.name
        yield f"link set dev {name} mtu {interface.mtu} gso_max_segs 1 up"
        yield f"address add {interface.address} dev {name}"
    for name, peer in peers.items():
        address = peer.address.partition("/")[0]
        yield f"neighbour add {address} lladdr {mac_address(address)} dev {name} nud permanent"
    for route in node.routes:
        limit = f" mtu {route.mtu}" if route.mtu else ""
        yield f"route add {route.destination} via {route.via}{limit}"


def _capture(capture: Capture) -> str:
    """Describe a capture to the endpoints."""
    return json.dumps(
        {
            "interface": capture.interface,
            "direction": capture.direction,
            "file": f"{capture.name}.pcap",
            "snaplen": SNAPLEN,
            "ring_packets": RING_PACKETS,
            "every_ns": SAMPLE_EVERY_NS,
        }
    )


@cache
def template(name: str) -> Template:
    """Compile a template once."""
    environment = Environment(
        loader=PackageLoader("fairc.compiler.targets"),
        undefined=StrictUndefined,
        line_statement_prefix="#%",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters["pyrepr"] = repr
    environment.filters["yaml"] = quoted
    environment.filters["comment"] = comment
    return environment.get_template(name)


def quoted(text: object) -> str:
    """Write a text for Compose: quoted as YAML and JSON have it, and a dollar stands for itself."""
    return json.dumps(text).replace("$", "$$")


def comment(text: object) -> str:
    """Make a text safe for a comment: one line, nothing but printable characters."""
    line = str(text)
    if line.isprintable():
        return line
    return "".join(char if char.isprintable() else "?" for char in line)
