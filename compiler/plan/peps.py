"""Proxies that split connections."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fairc.cell.frames import MTU
from fairc.cell.numbers import Buffer, Many, Port, Rate, Setting
from fairc.cell.text import Address, CcaName, FlowName, Line, NodeName, ParameterName

from .base import Model, Mtu


class Pep(Model):
    """A split TCP connection: two transparent proxies (RFC 3135), one at each end of a link.

    terminal, gateway: the nodes on the clients' and on the servers' side; terminal_address,
    gateway_address: those of their interfaces on the link between them, where the middle
    connections run from the terminal to `port` of the gateway. ports: the servers' TCP ports that
    are intercepted; all other traffic is forwarded unchanged.
    mtu: of the link between them; left out where it is 1500.
    pool: number of middle connections kept open for clients. window_bytes: the window with
    which each of them starts, in both directions, instead of slow start. rate_bps: (down, up), the
    pacing limit of a middle connection, the rate of the link. buffer_bytes: send and receive buffer of
    each of the three connections.
    """

    name: FlowName
    terminal: NodeName
    gateway: NodeName
    terminal_address: Address
    gateway_address: Address
    port: Port
    ports: Annotated[tuple[Port, ...], Field(max_length=10_000)]
    cca: CcaName
    cca_parameters: dict[ParameterName, Setting] = {}
    pool: Many
    mtu: Mtu = MTU
    window_bytes: Buffer
    rate_bps: tuple[Rate, Rate]
    buffer_bytes: Buffer
    source: Line
