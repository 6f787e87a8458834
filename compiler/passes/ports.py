"""Pass `assign_ports`: the ports of every flow."""

from __future__ import annotations

from .draft import Draft, DraftFlow

FIRST_PORT = 5001
LAST_PORT = 65_535
IMAGE_PORT = 443
"""The port of every server in a third-party image (quic-interop-runner)."""
NO_WEB = frozenset({5060, 5061, 6000, 6566, *range(6665, 6670), 6679, 6697, 10080})
"""Ports from the first one on that browsers refuse (fetch.spec.whatwg.org, "bad port")."""


def assign_ports(draft: Draft) -> None:
    """Give each flow a port; over UDP consecutive ports, one for each connection."""
    port = FIRST_PORT
    serving: dict[str, str] = {}
    for flow in draft.flows:
        if flow.flow.image is not None:
            flow.port = IMAGE_PORT
            other = serving.setdefault(flow.flow.server, flow.flow.name)
            if other != flow.flow.name:
                _refuse_shared(draft, flow, other)
            continue
        while flow.flow.transport == "web" and port in NO_WEB:
            port += 1
        flow.port = port
        port += flow.flow.connections if flow.flow.transport == "udp" else 1
        if port > LAST_PORT + 1:
            draft.reject(
                "too-many-ports",
                "the connections over UDP need more ports than exist",
                flow.flow.span,
                f"each has its own port, from {FIRST_PORT} to {LAST_PORT}",
                "reduce `count`",
            )
            return


def _refuse_shared(draft: Draft, flow: DraftFlow, other: str) -> None:
    draft.reject(
        "shared-image-port",
        f"`{other}` and `{flow.flow.name}` run their images on the same server",
        flow.flow.span,
        f"every image serves port {IMAGE_PORT}",
        "give each its own server (`from`)",
    )
