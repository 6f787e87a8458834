"""What a flow's two programs are told: roles and descriptions for fairc-endpoints, by transport."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fairc.compiler.passes.frames import frame_bytes
from fairc.compiler.plan import (
    SAMPLE_EVERY_NS,
    Cell,
    Flow,
    LoadWorkload,
    OnOffWorkload,
    Pep,
    Policer,
)

from . import images, processing

WEB_NAME = "web.fairc"
"""The name of every web server, in its certificate and in what clients ask for."""

BROWSER = "browser"
"""No role of fairc-endpoints, but the program that drives a browser."""

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Program:
    """A role, and what it is told beside what all programs are; without: what of that it is not."""

    role: str
    fields: Callable[[Flow, Cell], Fields]
    without: str = ""


def server(flow: Flow, cell: Cell) -> tuple[str, str]:
    """Return the role and the description of a flow's server."""
    if flow.image is not None:
        return images.ROLE, json.dumps(images.description(flow, "server"), separators=(",", ":"))
    return _told(SERVERS[flow.transport], flow, cell)


def client(flow: Flow, cell: Cell) -> tuple[str, str]:
    """Return the role and the description of a flow's client."""
    if flow.image is not None:
        return images.ROLE, json.dumps(images.description(flow, "client"), separators=(",", ":"))
    program = CLIENTS[flow.transport]
    if isinstance(flow.workload, LoadWorkload) and flow.workload.client != "plain":
        program = replace(program, role=BROWSER, fields=_browser)
    return _told(program, flow, cell)


def proxies(pep: Pep) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield, for each end of a split connection, its name, its node, and its role and description.

    The rate is that of the link on the wire; a proxy is told how much of that is IP.
    """
    ends = (("terminal", pep.terminal, pep.rate_bps[1]), ("gateway", pep.gateway, pep.rate_bps[0]))
    for name, node, rate_bps in ends:
        fields = {
            "flow": pep.name,
            "listen_ports": pep.ports,
            "terminal_address": pep.terminal_address,
            "gateway_address": pep.gateway_address,
            "port": pep.port,
            "cca": pep.cca,
            "pool": pep.pool,
            "window_bytes": pep.window_bytes,
            "rate_bps": rate_bps * pep.mtu // frame_bytes(pep.mtu),
            "buffer_bytes": pep.buffer_bytes,
            "sample_every_ns": SAMPLE_EVERY_NS,
        }
        yield name, node, (f"pep-{name}", json.dumps(fields, separators=(",", ":")))


def policer(policer: Policer, cell: Cell, macs: tuple[str, str], mtu: int) -> tuple[str, str]:
    """Return the role and the description of a policer.

    macs: of what leaves: the neighbour's, and that of the policer's own interface. mtu: of its link.
    """
    flows = {flow.name: flow for flow in cell.flows}
    fields = {
        "policer": policer.name,
        "ingress": policer.ingress,
        "egress": policer.egress,
        "next_mac": macs[0],
        "own_mac": macs[1],
        "mtu": mtu,
        "buckets": max(1, len(policer.buckets)),
        "policed": [
            {"address": flows[p.flow].address, "port": flows[p.flow].port, "bucket": p.bucket}
            for p in policer.policed
        ],
        "rate": policer.rate,
        "depth": policer.depth,
        "harshness": policer.harshness,
        "charge": policer.charge,
        "feedback": policer.feedback,
        "seed": policer.seed,
        "times": f"{policer.name}.policer.times",
        "read_every_ns": SAMPLE_EVERY_NS,
    }
    return "policer", json.dumps(fields, separators=(",", ":"))


def _told(program: Program, flow: Flow, cell: Cell) -> tuple[str, str]:
    fields = {
        "flow": flow.name,
        "address": flow.address,
        "port": flow.port,
        "connections": flow.connections,
        "workload": _workload(flow, cell),
        "options": flow.options.model_dump(exclude={"accurate_ecn"}),
        "starts_ns": flow.starts_ns,
    } | program.fields(flow, cell)
    fields.pop(program.without, None)
    # One argument of a program has at most 128 KiB.
    return program.role, json.dumps(fields, separators=(",", ":"))


def _workload(flow: Flow, cell: Cell) -> Fields:
    varied: Fields = {"vary_gaps": True} if processing.varies_gaps(flow, cell) else {}
    return flow.workload.model_dump() | varied


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
    return min((ns for ns in (flow.stop_ns, cell.duration_ns) if ns is not None), default=None)


def _tcp_server(flow: Flow, cell: Cell) -> Fields:
    return _sending(flow) | {"cca": flow.cca}


def _quic_server(flow: Flow, cell: Cell) -> Fields:
    return _sending(flow) | {
        "cca": {"name": flow.cca, "parameters": flow.cca_parameters},
        "qlog": flow.qlog,
        "certificate_expires_ns": None,
        "idle_timeout_ns": None,
    }


def _quic_client(flow: Flow, cell: Cell) -> Fields:
    return _receiving(flow, cell) | {"idle_timeout_ns": None}


def _udp_server(flow: Flow, cell: Cell) -> Fields:
    stop_ns = _stop_ns(flow, cell)
    # A source that pauses brings the size of its packets; others send what the path takes.
    packet: Fields = {} if isinstance(flow.workload, OnOffWorkload) else {"packet_bytes": flow.mtu}
    seed = processing.gaps_seed(flow, cell)
    gaps: Fields = {} if seed is None else {"gaps_seed": seed}
    return {
        "peer": flow.client_address,
        "rate_bps": flow.rate_bps,
        "stop_ns": stop_ns,
        **packet,
        **gaps,
    }


def _udp_client(flow: Flow, cell: Cell) -> Fields:
    return _udp_server(flow, cell) | {"progress_every_ns": SAMPLE_EVERY_NS}


def _web_server(flow: Flow, cell: Cell) -> Fields:
    assert isinstance(flow.workload, LoadWorkload)
    quic = {"name": flow.cca, "parameters": flow.workload.quic_parameters}
    wanted = "h3" in flow.workload.protocols
    return _sending(flow) | {"cca": flow.cca, "quic": quic if wanted else None}


def _web_client(flow: Flow, cell: Cell) -> Fields:
    return _receiving(flow, cell) | {"name": WEB_NAME}


def _browser(flow: Flow, cell: Cell) -> Fields:
    """Every repetition has the same page and machine: one of them times the browser alone."""
    return _web_client(flow, cell) | {"own_time": cell.repetition == 1}


SERVERS = {
    "tcp": Program("tcp-server", _tcp_server),
    "quic": Program("quic-server", _quic_server),
    "udp": Program("udp-server", _udp_server),
    "web": Program("web-server", _web_server),
}

CLIENTS = {
    "tcp": Program("tcp-client", _receiving),
    "quic": Program("quic-client", _quic_client),
    "udp": Program("udp-client", _udp_client),
    "web": Program("web-client", _web_client, without="connections"),
}
