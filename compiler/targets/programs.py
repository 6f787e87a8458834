"""What a flow's two programs are told: roles and descriptions for fairc-endpoints, by transport."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from fairc.compiler.plan import Cell, Flow

SAMPLE_EVERY_NS = 100_000_000

Fields = dict[str, object]


@dataclass(frozen=True, slots=True)
class Roles:
    """The two programs of a transport, and the fields of their descriptions.

    only_server, only_both: what only this transport's server, and both of its programs, are told.
    is_whole: whether they take workloads, options and rate as the plan has them.
    """

    server: str
    client: str
    only_server: Callable[[Flow], Fields]
    only_both: Fields
    is_whole: bool


def server(flow: Flow) -> tuple[str, str]:
    """Return the role and the description of a flow's server."""
    roles = ROLES[flow.transport]
    fields = _common(flow, flow.send_buffer_bytes) | roles.only_server(flow) | roles.only_both
    fields["sample_every_ns"] = SAMPLE_EVERY_NS
    if roles.is_whole:
        fields |= _application(flow)
        fields |= {"starts_ns": flow.starts_ns, "rate_bps": flow.rate_bps}
    return roles.server, _text(fields)


def client(flow: Flow, cell: Cell) -> tuple[str, str]:
    """Return those of its client: it stops with its flow or with the cell, what comes first."""
    roles = ROLES[flow.transport]
    stops = [ns for ns in (flow.stop_ns, cell.duration_ns) if ns is not None]
    fields = _common(flow, flow.receive_buffer_bytes) | {
        "workload": flow.workload.model_dump(),
        "starts_ns": flow.starts_ns,
        "stop_ns": min(stops, default=None),
        "progress_every_ns": SAMPLE_EVERY_NS,
    }
    fields |= roles.only_both
    if roles.is_whole:
        fields |= _application(flow)
    return roles.client, _text(fields)


def _tcp(flow: Flow) -> Fields:
    return {"cca": flow.cca}


def _quic(flow: Flow) -> Fields:
    return {
        "cca": {"name": flow.cca, "parameters": flow.cca_parameters},
        "qlog": flow.qlog,
        "certificate_expires_ns": None,
    }


ROLES: dict[str, Roles] = {
    "tcp": Roles("tcp-server", "tcp-client", _tcp, {}, is_whole=False),
    "quic": Roles("quic-server", "quic-client", _quic, {"idle_timeout_ns": None}, is_whole=True),
}


def _common(flow: Flow, buffer_bytes: int | None) -> Fields:
    return {
        "flow": flow.name,
        "address": flow.address,
        "port": flow.port,
        "connections": flow.connections,
        "buffer_bytes": flow.buffer_bytes if buffer_bytes is None else buffer_bytes,
    }


def _application(flow: Flow) -> Fields:
    return {"workload": flow.workload.model_dump(), "options": flow.options.model_dump()}


def _text(fields: Fields) -> str:
    return json.dumps(fields, separators=(",", ":"))  # a program's argument has at most 128 KiB
