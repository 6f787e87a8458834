"""Congestion policing: who is policed, and by which rule."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fairc.cell.numbers import PacketRate, Seed, Small, Tokens
from fairc.cell.text import FlowName, InterfaceName, Line, NodeName

from .base import Model


class Policed(Model):
    """A flow that is policed: all packets of its TCP connections from its server's port.

    bucket: number of its bucket.
    """

    flow: FlowName
    bucket: Small


class Policer(Model):
    """A congestion policer with a token bucket for each user (definition: docs/learn/links.md).

    name: of its artefact, `NAME.policer.ndjson`. node: the hop that runs it; packets that arrive at
    `ingress` leave through `egress`, before its queue, or are dropped.
    rate: fill rate, packets/s; depth: packets. buckets: the host of each bucket. seed: of its
    random numbers.
    """

    name: NodeName
    node: NodeName
    ingress: InterfaceName
    egress: InterfaceName
    rate: PacketRate
    depth: Tokens
    harshness: Literal["soft", "mild", "strict"]
    feedback: Literal["none", "classic", "accurate"]
    charge: Literal["forwarded", "arrived"]
    buckets: Annotated[tuple[NodeName, ...], Field(max_length=10_000)]
    policed: Annotated[tuple[Policed, ...], Field(max_length=10_000)]
    seed: Seed = 0
    source: Line
