"""Nodes, the links between them, proxies and tunnels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairc.dsl.core.source import Span

from .links import Direction

Hashed = Literal["ports", "hosts"]
"""The part of a flow that decides its way, where several are equal."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link between nodes `a` and `b`; `forward` is a to b."""

    a: str
    b: str
    forward: Direction
    backward: Direction
    span: Span


@dataclass(frozen=True, slots=True)
class Node:
    """A host (`node`) or a router of the topology."""

    name: str
    kind: Literal["host", "router"]
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxies:
    """Two proxies that split TCP connections, at both ends of the link between two routers.

    kind: what the file calls them.
    terminal: on the clients' side.
    gateway: on the servers'.
    cca: of the connections between them.
    """

    kind: str
    name: str
    terminal: str
    gateway: str
    cca: str
    cca_parameters: Mapping[str, int | float | bool | str]
    span: Span

    @property
    def ends(self) -> tuple[str, str]:
        """The routers where they run."""
        return self.terminal, self.gateway


TunnelEcn = Literal["copy", "clear"]
"""The modes of a tunnel for ECN: normal mode and compatibility mode of RFC 6040."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """Packets that pass one router and then the other, either way, are carried between them in
    packets of the two ends.

    header_bytes: of what carries them. mtu: the largest packet inside, bytes; None: what the path
    leaves. mtu_given: where the file says so. header_given: where it gives the header.
    """

    name: str
    a: str
    b: str
    header_bytes: int
    ecn: TunnelEcn
    mtu: int | None
    mtu_given: Span | None
    header_given: Span
    span: Span


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes and links of one configuration.

    pairs: whether each flow between `client` and `server` gets copies of them as hosts of its own.
    own: links of such hosts that differ from those of the others: of `client[a]`, or `server[a]`,
    for the flow `a`.
    """

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    span: Span
    proxies: tuple[Proxies, ...] = ()
    pairs: bool = False
    own: tuple[Link, ...] = ()
    tunnels: tuple[Tunnel, ...] = ()
