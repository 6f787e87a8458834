"""The arguments of the programs of a cell: roles and descriptions for fairc-endpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .document import Forwarder, Program
from .frames import ETHERNET_BYTES
from .links import Interface
from .model import SAMPLE_EVERY_NS, Capture, Cell, Flow, Tunnel
from .reading import Reading
from .seeds import stream_seed

SNAPLEN, MOST_SNAPLEN = 96, 9_216

WEB_NAME = "web.fairc"
"""The name of every web server, in its certificate and in what clients ask for."""

BROWSER, IMAGE = "browser", "image"
"""No roles of fairc-endpoints: the program that drives a browser, and the companion of a
third-party image.
"""

Fields = dict[str, Any]


def monitor() -> Program:
    """Return what watches the processor."""
    return Program(
        name="monitor", node="", role="monitor", description={"every_ns": SAMPLE_EVERY_NS}
    )


def capture(capture: Capture, cell: Cell, read: Reading) -> Program:
    """Return a capture."""
    return Program(
        name=capture.name,
        node=capture.node,
        role="capture",
        description={
            "interface": capture.interface,
            "direction": capture.direction,
            "file": f"{capture.name}.{capture.form}",
            "form": capture.form,
            "snaplen": snaplen(cell),
            "ring_packets": read.ring_packets,
            "every_ns": read.every_ns,
        },
    )


def snaplen(cell: Cell) -> int:
    """Return how much of each packet is kept, bytes: its headers behind those of all tunnels; all
    of it where checksums say which packets are damaged.
    """
    if cell.captures_whole:
        mtus = (end.mtu for node in cell.nodes for end in node.interfaces)
        return min(MOST_SNAPLEN, max(mtus) + ETHERNET_BYTES)
    return min(MOST_SNAPLEN, SNAPLEN + sum(tunnel.header_bytes for tunnel in cell.tunnels))


def server(flow: Flow, cell: Cell) -> Program:
    """Return a flow's server."""
    name = f"{flow.name}.server"
    if program := flow.workload.program(flow, cell, "server"):
        return program
    if flow.image is not None:
        return Program(name=name, node=flow.server, role=IMAGE, description=_image(flow, "server"))
    role, own = SERVERS[flow.transport]
    description = _common(flow, cell) | own(flow, cell)
    return Program(name=name, node=flow.server, role=role, description=description)


def client(flow: Flow, cell: Cell, read: Reading) -> Program:
    """Return a flow's client."""
    name = f"{flow.name}.client"
    if program := flow.workload.program(flow, cell, "client"):
        return program
    if flow.image is not None:
        return Program(name=name, node=flow.client, role=IMAGE, description=_image(flow, "client"))
    role, own = CLIENTS[flow.transport]
    description = _common(flow, cell) | own(flow, cell)
    if flow.transport == "udp":
        description["poll_every_ns"] = read.every_ns
    if flow.transport == "web":
        del description["connections"]
    if flow.browser:
        # Every repetition has the same page and machine: one of them times the browser alone.
        first = cell.repetition == 1
        role, description["own_time"] = BROWSER, {"quic": _quic(flow)} if first else None
    return Program(name=name, node=flow.client, role=role, description=description)


def tunnel_end(
    tunnel: Tunnel, node: str, ends: tuple[Interface, Interface], macs: tuple[str, str]
) -> Forwarder:
    """Return one end of a tunnel, at a node.

    ends: its interface, and that of the other end. macs: of what leaves it: the neighbour's, and
    its own.
    """
    own, other = ends
    description = {
        "tunnel": tunnel.name,
        "interface": own.name,
        "next_mac": macs[0],
        "own_mac": macs[1],
        "address": own.ip,
        "peer": other.ip,
        "mtu": own.mtu,
        "header_bytes": tunnel.header_bytes,
        "ecn": tunnel.ecn,
    }
    return Forwarder(
        name=tunnel_log(tunnel, node),
        node=node,
        role="tunnel",
        description=description,
        ingress=own.name,
    )


def tunnel_log(tunnel: Tunnel, node: str) -> str:
    """Return the name of an end of a tunnel, at a node: `vpn.left-vpn.tunnel`."""
    return f"{tunnel.name}.{node}.tunnel"


def _image(flow: Flow, side: str) -> Fields:
    return {
        "name": f"{flow.name}.{side}",
        "side": side,
        "server": f"{flow.name}.server",
        "bytes": flow.workload.total_bytes(1),
        "start_ns": min(flow.starts_ns),
    }


def _common(flow: Flow, cell: Cell) -> Fields:
    options, workload = flow.options, flow.workload.description(cell)
    unsent: Fields = {}
    if options.notsent_lowat_bytes is not None:
        unsent["notsent_lowat_bytes"] = options.notsent_lowat_bytes
    if options.discovers_mtu and flow.transport == "quic":
        unsent["discovers_mtu"] = True
    if cell.rebinds and flow.transport in ("quic", "web"):
        unsent["follows"] = True
    return {
        "flow": flow.name,
        "address": flow.address,
        "port": flow.port,
        "connections": flow.connections,
        "workload": workload,
        "options": {
            "initial_window_packets": options.initial_window_packets,
            "receive_window_bytes": options.receive_window_bytes,
            "ecn": options.ecn,
            "sack": options.sack,
            "pacing": options.pacing,
            "fast_open": options.fast_open,
            "idle_restart": options.idle_restart,
            **unsent,
        },
        "starts_ns": list(flow.starts_ns),
    }


def _sending(flow: Flow) -> Fields:
    return {
        "buffer_bytes": flow.sender_bytes,
        "rate_bps": flow.rate_bps,
        "sample_every_ns": flow.sample_every_ns,
    }


def _receiving(flow: Flow, cell: Cell) -> Fields:
    return {
        "buffer_bytes": flow.receiver_bytes,
        "stop_ns": _stop_ns(flow, cell),
        "progress_every_ns": SAMPLE_EVERY_NS,
    }


def _stop_ns(flow: Flow, cell: Cell) -> int | None:
    """Return when a flow ends: with its own stop or with the cell, whatever comes first."""
    ends = (flow.stop_ns, cell.duration_ns)
    return min((ns for ns in ends if ns is not None), default=None)


def _tcp_server(flow: Flow, cell: Cell) -> Fields:
    fields = _sending(flow) | {"cca": flow.cca}
    if flow.subflows:
        fields["subflows"] = [[path.address, path.client_address] for path in flow.subflows]
    return fields


def _tcp_client(flow: Flow, cell: Cell) -> Fields:
    fields = _receiving(flow, cell)
    if flow.subflows:
        fields["mptcp_from"] = flow.subflows[0].client_address
    return fields


def _quic_server(flow: Flow, cell: Cell) -> Fields:
    return _sending(flow) | {
        "cca": {"name": flow.cca, "parameters": dict(flow.cca_parameters)},
        "qlog": flow.qlog,
        "certificate_expires_ns": None,
        "idle_timeout_ns": flow.idle_timeout_ns,
    }


def _quic_client(flow: Flow, cell: Cell) -> Fields:
    return _receiving(flow, cell) | {"idle_timeout_ns": flow.idle_timeout_ns}


def _udp_server(flow: Flow, cell: Cell) -> Fields:
    fields: Fields = {
        "peer": flow.client_address,
        "rate_bps": flow.rate_bps,
        "stop_ns": _stop_ns(flow, cell),
    }
    # Sources with times of their own bring the size of their packets.
    if "packet_bytes" not in flow.workload.plain():
        fields["packet_bytes"] = flow.packet_bytes
        if cell.processing_ns:  # at a constant rate it varies its gaps
            fields["gaps_seed"] = stream_seed(cell.seed, "gaps", flow.name)
    return fields


def _udp_client(flow: Flow, cell: Cell) -> Fields:
    return _udp_server(flow, cell) | {"progress_every_ns": SAMPLE_EVERY_NS}


def _web_server(flow: Flow, cell: Cell) -> Fields:
    return _sending(flow) | {"cca": flow.cca, "quic": _quic(flow)}


def _quic(flow: Flow) -> Fields | None:
    """Return the CCA of a page's server over QUIC; None where no load is over HTTP/3."""
    if "h3" not in flow.workload.http_versions:
        return None
    return {"name": flow.cca, "parameters": dict(flow.parameters_over("quic"))}


def _web_client(flow: Flow, cell: Cell) -> Fields:
    return _receiving(flow, cell) | {"name": WEB_NAME}


Describe = Callable[[Flow, Cell], Fields]

SERVERS: dict[str, tuple[str, Describe]] = {
    "tcp": ("tcp-server", _tcp_server),
    "quic": ("quic-server", _quic_server),
    "udp": ("udp-server", _udp_server),
    "web": ("web-server", _web_server),
}

CLIENTS: dict[str, tuple[str, Describe]] = {
    "tcp": ("tcp-client", _tcp_client),
    "quic": ("quic-client", _quic_client),
    "udp": ("udp-client", _udp_client),
    "web": ("web-client", _web_client),
}


def count(cell: Cell) -> int:
    """Return how many programs are started before the epoch, those that change links included."""
    changing = [
        node
        for node in cell.nodes
        if node.route_changes or any(each.changes for each in node.interfaces)
    ]
    return (
        1
        + len(cell.captures)
        + sum(len(device.programs) for device in cell.devices)
        + 2 * len(cell.tunnels)
        + 2 * len(cell.flows)
        + len(changing)
    )
