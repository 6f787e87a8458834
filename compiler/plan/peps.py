"""Proxies that split connections."""

from __future__ import annotations

from fairc.dsl.model import MTU

from .base import Model, Mtu


class Pep(Model):
    """A split TCP connection: two transparent proxies (RFC 3135), one at each end of a link.

    terminal, gateway: the nodes on the clients' and on the servers' side; terminal_address,
    gateway_address: those of their interfaces on the link between them, where the middle
    connections run from the terminal to `port` of the gateway. ports: the servers' TCP ports that
    are intercepted; nothing else is touched.
    mtu: of the link between them; left out where it is 1500.
    pool: middle connections that are kept open, ready for clients. window_bytes: the window with
    which each of them begins, both ways, instead of slow start. rate_bps: (down, up), the
    pacing limit of a middle connection, the rate of the link. buffer_bytes: send and receive buffer of
    each of the three connections.
    """

    name: str
    terminal: str
    gateway: str
    terminal_address: str
    gateway_address: str
    port: int
    ports: tuple[int, ...]
    cca: str
    cca_parameters: dict[str, int | float | bool] = {}
    pool: int
    mtu: Mtu = MTU
    window_bytes: int
    rate_bps: tuple[int, int]
    buffer_bytes: int
    source: str
