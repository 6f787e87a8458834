"""What a flow's two programs are told: roles and descriptions for fairc-endpoints, by transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from fairc.compiler.plan import Cell, Flow

SAMPLE_EVERY_NS = 100_000_000

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Program:
    """A role, and what it is told beside what all programs are."""

    role: str
    fields: Callable[[Flow, Cell], Fields]


def server(flow: Flow, cell: Cell) -> tuple[str, str]:
    """Return the role and the description of a flow's server."""
    return _told(SERVERS[flow.transport], flow, cell)


def client(flow: Flow, cell: Cell) -> tuple[str, str]:
    """Return the role and the description of a flow's client."""
    return _told(CLIENTS[flow.transport], flow, cell)


def _told(program: Program, flow: Flow, cell: Cell) -> tuple[str, str]:
    fields = {
        "flow": flow.name,
        "address": flow.address,
        "port": flow.port,
        "connections": flow.connections,
        "workload": flow.workload.model_dump(),
        "options": flow.options.model_dump(),
        "starts_ns": flow.starts_ns,
    } | program.fields(flow, cell)
    # One argument of a program has at most 128 KiB.
    return program.role, json.dumps(fields, separators=(",", ":"))


def _sending(flow: Flow) -> Fields:
    return {
        "buffer_bytes": flow.sender_bytes,
        "rate_bps": flow.rate_bps,
        "sample_every_ns": SAMPLE_EVERY_NS,
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
    return {"peer": flow.client_address, "rate_bps": flow.rate_bps, "stop_ns": stop_ns}


def _udp_client(flow: Flow, cell: Cell) -> Fields:
    return _udp_server(flow, cell) | {"progress_every_ns": SAMPLE_EVERY_NS}


SERVERS = {
    "tcp": Program("tcp-server", _tcp_server),
    "quic": Program("quic-server", _quic_server),
    "udp": Program("udp-server", _udp_server),
}

CLIENTS = {
    "tcp": Program("tcp-client", _receiving),
    "quic": Program("quic-client", _quic_client),
    "udp": Program("udp-client", _udp_client),
}
