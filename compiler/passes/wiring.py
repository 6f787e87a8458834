"""Nodes, cables, names and addresses of a network; a hop in every link that delays or loses.

A packet that crosses a link passes, in this order: the queue and the shaper (at the sending end),
the transmitter, the loss, the delay. Shaper and queue stay at the link's own end; loss and delay go
onto a separate node in the middle (kind `hop`, a router that only forwards), so that netem's limit
never counts packets waiting in the queue, and the sender's stack never sees packets that netem
holds. Where frames are transmitted: passes/nodes.py.

Where a direction of a link has a device, its shaper and queue are on a separate hop next to the
router (`a-NOUN`), whose program forwards the packets of one direction, before the queue.

A tunnel has a node at each end, next to the router (`a-vpn`, of `vpn`) and with this one link. Its
program takes the packets that the router sends it and gives them back, carried or taken out.

Where TCP leaves its segmentation to its host's interface, the host's own link has a hop as well,
which transmits: the link's queue takes what TCP hands over as one, and frames go over the wire.

Where proxies split connections at the ends of a link, shaper and queue are on separate hops next
to them (`a-modem`), so that their packets can be captured before the queue, and their stack never
sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from typing import Literal

from fairc.cell.framing import ETHERNET
from fairc.cell.links import Impairment
from fairc.cell.text import Place
from fairc.compiler import plan
from fairc.dsl.model import Direction, Link, Network, Tunnel

from .delay_nodes import is_changed, netem_of
from .dynamics import rate_changes

NETWORK = int(IPv4Address("10.0.0.0"))
INTERFACE_NAME_MAX = 15  # IFNAMSIZ less its terminator

Kind = Literal["host", "router", "hop"]


@dataclass(frozen=True, slots=True, eq=False)
class Egress:
    """An interface as packets leave by it, and the part of a link's direction that they meet there.

    node: the name of its node.
    interface: as in the plan, but for shaper and queue.
    address: its IPv4 address.
    link: index of the link in the network.
    forward: whether the egress leads from the link's `a` to its `b`.
    way: the direction of the link.
    part: its rate and `queue`, its loss and delay (a `hop`), or neither (a `cable`).
    """

    node: str
    interface: plan.Interface
    address: str
    link: int
    forward: bool
    way: Direction
    part: Literal["queue", "hop", "cable"]

    @property
    def name(self) -> str:
        """The name of the interface."""
        return self.interface.name

    @property
    def place(self) -> Place:
        """The interface as (node, interface)."""
        return self.node, self.interface.name

    @property
    def rate_bps(self) -> int:
        """The rate of this egress, bit/s; 0 when it is not shaped."""
        return (self.way.rate_bps or 0) if self.part == "queue" else 0

    @property
    def packet_bps(self) -> int:
        """How fast full packets leave by it, bit/s of them in the frames of Linux; 0 when it is not
        shaped.
        """
        return self.way.packet_bps if self.part == "queue" else 0

    @property
    def delay_ns(self) -> int:
        """The delay of packets that leave by it, ns."""
        return self.way.delay_ns if self.part == "hop" else 0


@dataclass(frozen=True, slots=True)
class TunnelEnd:
    """One end of a tunnel: the router, and the node beside it that runs the program.

    into, out: the egresses from the router to this node, and back. far: those of the other end, in
    the same order.
    """

    tunnel: Tunnel
    into: Egress
    out: Egress
    far: tuple[Egress, Egress]


class Wiring:
    """The nodes of a network, hops included, and what leads from one to the next.

    network: what is wired; behind its own links it has one for each end of a tunnel.
    offload: whether TCP leaves its segmentation to the interface of its host.
    links: how many of its links are its own.
    tunnels: router -> the ends of tunnels there. ends: of tunnels, by their egresses `out`.
    kinds: node -> its kind.
    egresses: node -> its egresses, in the order of the links.
    cables: as in the plan.
    """

    def __init__(self, network: Network, offload: bool = False) -> None:
        self._offload = offload
        self.links = len(network.links)
        self.network = network
        self.kinds: dict[str, Kind] = {node.name: node.kind for node in network.nodes}
        self.egresses: dict[str, list[Egress]] = {node.name: [] for node in network.nodes}
        self.cables: list[plan.Cable] = []
        self._peers: dict[Egress, Egress] = {}
        proxied = {frozenset(pair.ends) for pair in network.proxies}
        for index, link in enumerate(network.links):
            self._add_link(index, link, frozenset((link.a, link.b)) in proxied)
        self.tunnels: dict[str, list[TunnelEnd]] = {}
        self.ends: dict[Egress, TunnelEnd] = {}
        for tunnel in network.tunnels if network.links else ():
            self._add_tunnel(tunnel)

    def __iter__(self) -> Iterator[Egress]:
        """Yield every egress, node by node."""
        for egresses in self.egresses.values():
            yield from egresses

    def peer(self, egress: Egress) -> Egress:
        """Return the other end of the cable."""
        return self._peers[egress]

    def other(self, egress: Egress) -> Egress:
        """Return the first other egress of its node."""
        return next(other for other in self.egresses[egress.node] if other is not egress)

    def address(self, host: str) -> str:
        """Return the address at which a host is reached: that of its first interface."""
        return self.egresses[host][0].address

    def _add_link(self, index: int, link: Link, is_proxied: bool) -> None:
        """Add the cables of a link: with a hop, and proxies or devices, more than one."""
        left, right = link.a, link.b
        if is_proxied:
            left, right = (self._add_hop(f"{node}-modem") for node in (left, right))
        if link.forward.device is not None and not is_proxied:
            left = self._add_hop(f"{link.a}-{link.forward.device.noun}")
        if link.backward.device is not None and not is_proxied:
            right = self._add_hop(f"{link.b}-{link.backward.device.noun}")
        if left != link.a:
            self._add_cable(index, link, link.a, left)
        queued = frozenset((left, right))
        ends = ((left, link.forward), (right, link.backward))
        if any(is_changed(way) or self._segments(node, way) for node, way in ends):
            middle = self._add_hop(f"{link.a}-{link.b}")
            self._add_cable(index, link, left, middle, queued)
            self._add_cable(index, link, middle, right, queued)
        else:
            self._add_cable(index, link, left, right, queued)
        if right != link.b:
            self._add_cable(index, link, right, link.b)

    def _segments(self, node: str, way: Direction) -> bool:
        """Whether what a node hands to a link as one becomes frames on the wire only."""
        return self._offload and self.kinds[node] == "host" and bool(way.rate_bps)

    def _add_tunnel(self, tunnel: Tunnel) -> None:
        """Add the nodes and cables of a tunnel; they are wide enough for all packets."""
        mtu = max(way.mtu for link in self.network.links for way in (link.forward, link.backward))
        places: list[tuple[Egress, Egress]] = []
        for router in (tunnel.a, tunnel.b):
            node = self._add_hop(f"{router}-{tunnel.name}")
            way = Direction(
                rate_bps=None,
                impairment=Impairment(),
                queue=self.network.links[0].forward.queue,
                span=tunnel.span,
                mtu=mtu,
            )
            link = Link(router, node, way, way, tunnel.span)
            self.network = replace(self.network, links=(*self.network.links, link))
            self._add_cable(len(self.network.links) - 1, link, router, node)
            places.append((self.egresses[router][-1], self.egresses[node][-1]))
        for (into, out), far in zip(places, places[::-1], strict=True):
            end = TunnelEnd(tunnel, into, out, far)
            self.tunnels.setdefault(into.node, []).append(end)
            self.ends[out] = end

    def _add_hop(self, wanted: str) -> str:
        """Add a hop; `a-b`, which no name in the language can be, and `a-b-2`, ..."""
        name, number = wanted, 1
        while name in self.kinds:
            number += 1
            name = f"{wanted}-{number}"
        self.kinds[name] = "hop"
        self.egresses[name] = []
        return name

    def _add_cable(
        self,
        index: int,
        link: Link,
        left: str,
        right: str,
        queued: frozenset[str] = frozenset(),
    ) -> None:
        """Connect two nodes; `left` is on the side of the link's `a`. Each cable has a /30.

        queued: the nodes that have the link's queues; its loss and delay are on any other one.
        Without them, the cable is as fast as it can be.
        """
        network = NETWORK + 4 * len(self.cables)
        a = self._add_egress(index, link, left, True, queued, str(IPv4Address(network + 1)))
        b = self._add_egress(index, link, right, False, queued, str(IPv4Address(network + 2)))
        self._peers[a], self._peers[b] = b, a
        self.cables.append(plan.Cable(a.place, b.place))

    def _add_egress(
        self,
        index: int,
        link: Link,
        node: str,
        forward: bool,
        queued: frozenset[str],
        address: str,
    ) -> Egress:
        way = link.forward if forward else link.backward
        part: Literal["queue", "hop", "cable"] = "hop" if queued else "cable"
        impairment = None
        changes: tuple[plan.Change, ...] = ()
        repeat_ns = None
        ecn = dscp = None
        losses: tuple[plan.ChosenLoss, ...] = ()
        arriving = link.backward if forward else link.forward
        if node in queued:
            part = "queue"
            if way.rate_bps:
                changes, repeat_ns = rate_changes(way)
        elif part == "hop":
            impairment, changes = netem_of(way)
            ecn = None if arriving.ecn == "none" else arriving.ecn
            dscp = arriving.dscp
            losses = arriving.chosen
        interface = plan.Interface(
            name=_interface_name(node, len(self.egresses[node])),
            address=f"{address}/30",
            mtu=way.mtu,
            impairment=impairment,
            changes=changes,
            repeat_ns=repeat_ns,
            arriving_ecn=ecn,
            arriving_dscp=dscp,
            source=str(way.span),
            arriving_losses=losses,
            framing=ETHERNET if part == "cable" or not way.rate_bps else way.framing,
        )
        egress = Egress(node, interface, address, index, forward, way, part)
        self.egresses[node].append(egress)
        return egress


def _interface_name(node: str, number: int) -> str:
    """Return Mininet's usual name, `r1-eth0`; `eth0` where that would be too long for Linux."""
    name = f"{node}-eth{number}"
    return name if len(name) <= INTERFACE_NAME_MAX else f"eth{number}"
