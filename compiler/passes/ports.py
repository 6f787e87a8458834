"""The ports of every flow."""

from __future__ import annotations

from fairc.dsl.model import Flow

from .report import Report
from .routing import Traffic

FIRST_PORT = 5001
LAST_PORT = 65_535
IMAGE_PORT = 443
"""The port of every server in a third-party image (quic-interop-runner)."""
NO_WEB = frozenset({5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080})
"""Ports from the first one on that browsers refuse (fetch.spec.whatwg.org, "bad port")."""


def assign_ports(traffic: Traffic, report: Report) -> dict[str, int]:
    """Return the port of each flow; over UDP the first of several, one for each connection."""
    ports: dict[str, int] = {}
    port = FIRST_PORT
    serving: dict[str, str] = {}
    for flow, _ in traffic:
        if flow.image is not None:
            ports[flow.name] = IMAGE_PORT
            other = serving.setdefault(flow.server, flow.label)
            if other != flow.label:
                _refuse_shared(report, flow, other)
            continue
        while flow.transport == "web" and port in NO_WEB:
            port += 1
        ports[flow.name] = port
        following = port + (flow.connections if flow.transport == "udp" else 1)
        if port <= LAST_PORT + 1 < following:
            report.reject(
                "too-many-ports",
                "the connections over UDP need more ports than exist",
                flow.span,
                f"each has its own port, from {FIRST_PORT} to {LAST_PORT}",
                "reduce `count`",
            )
        port = following
    return ports


def _refuse_shared(report: Report, flow: Flow, other: str) -> None:
    report.reject(
        "shared-image-port",
        f"`{other}` and `{flow.label}` run their images on the same server",
        flow.span,
        f"every image serves port {IMAGE_PORT}",
        "give each its own server (`from`)",
    )
