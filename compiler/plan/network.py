"""Nodes with their interfaces and routes, and the cables between them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from fairc.cell.experiment import Route
from fairc.cell.frames import MTU, frame_bytes
from fairc.cell.links import Change, Impairment, Shaper
from fairc.cell.numbers import SpanNs
from fairc.cell.queues import Queue
from fairc.cell.text import InterfaceAddress, InterfaceName, Line, NodeName, Place
from fairc.dsl.model.base import Model

from .base import Mtu


class Interface(Model):
    """One end of a link.

    name: Linux interface name, at most 15 characters.
    address: IPv4 address with prefix length, `10.0.0.1/30`.
    mtu: the largest IP packet, the same at both ends of a cable; left out where it is 1500.
    shaper, queue: on its egress; impairment: instead of them, on a delay hop.
    bottleneck: whether this egress is the slowest link of some flow's data path.
    changes: of shaper or impairment, in order of time; repeat_ns: the period with which they
    repeat. Before the first one, the shaper's rate and the impairment apply.
    source: `file:line` of the statement that it comes from.
    """

    name: InterfaceName
    address: InterfaceAddress
    mtu: Mtu = MTU
    shaper: Shaper | None = None
    queue: Annotated[Queue, Field(discriminator="kind")] | None = None
    impairment: Impairment | None = None
    bottleneck: bool = False
    changes: tuple[Change, ...] = ()
    repeat_ns: SpanNs | None = None
    source: Line

    @property
    def frame_bytes(self) -> int:
        """A full packet in its Ethernet frame, without preamble, bytes."""
        return frame_bytes(self.mtu)


class Node(Model):
    """An emulated host, a router, or a delay hop that the compiler put into a link."""

    name: NodeName
    kind: Literal["host", "router", "hop"]
    interfaces: tuple[Interface, ...]
    routes: tuple[Route, ...]


class Cable(Model):
    """A pair of interfaces (node name, interface name) that are connected."""

    a: Place
    b: Place
