"""The part of a plan that is `pep`: two proxies, and what lets them split connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Literal

from fairc.cell.devices import DEVICE_KINDS, Device
from fairc.cell.document import Program, Rule, Side
from fairc.cell.document import Route as RouteOf
from fairc.cell.frames import MTU, frame_bytes
from fairc.cell.hosts import way_to
from fairc.cell.model import SAMPLE_EVERY_NS, Cell, Flow, Node
from fairc.cell.numbers import Buffer, Many, MtuBytes, Port, Range, Rate, Setting
from fairc.cell.part import UNLESS_USUAL
from fairc.cell.text import Address, CcaName, FlowName, NodeName, ParameterName

TABLE = 100
"""Of the routes that keep intercepted packets on their node."""


@DEVICE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Pep(Device):
    """A split TCP connection: two transparent proxies (RFC 3135), one at each end of a link
    (docs/build/endpoints.md).

    terminal, gateway: the nodes on the clients' and on the servers' side; terminal_address,
    gateway_address: those of their interfaces on the link between them, where the middle
    connections run from the terminal to `port` of the gateway. ports: the servers' TCP ports that
    are intercepted; all other traffic is forwarded unchanged.
    mtu: of the link between them; left out where it is 1500.
    pool: number of middle connections kept open for clients. window_bytes: the window with
    which each of them starts, in both directions, instead of slow start. rate_bps: (down, up), the
    pacing limit of a middle connection, the rate of the link. buffer_bytes: send and receive buffer
    of each of the three connections.
    """

    splits = True
    sentence = "a PEP that splits TCP connections"

    kind: Literal["pep"] = "pep"
    name: FlowName
    terminal: NodeName
    gateway: NodeName
    terminal_address: Address
    gateway_address: Address
    port: Port
    ports: Annotated[tuple[Port, ...], Range(0, 10_000)]
    cca: CcaName
    cca_parameters: dict[ParameterName, Setting] = field(default_factory=dict)
    pool: Many
    mtu: MtuBytes = field(default=MTU, metadata=UNLESS_USUAL)
    window_bytes: Buffer
    rate_bps: tuple[Rate, Rate]
    buffer_bytes: Buffer

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its two ends."""
        return self.terminal, self.gateway

    @property
    def programs(self) -> tuple[str, ...]:
        """The names of its two proxies."""
        return f"{self.name}.terminal", f"{self.name}.gateway"

    def proxies(self, syn_retries: int) -> Iterator[Program]:
        """Yield its two ends.

        The rate is that of the link on the wire; a proxy gets the part of it that is IP.
        """
        down_bps, up_bps = self.rate_bps
        ends = (("terminal", self.terminal, up_bps), ("gateway", self.gateway, down_bps))
        for end, node, rate_bps in ends:
            description = {
                "flow": self.name,
                "listen_ports": list(self.ports),
                "terminal_address": self.terminal_address,
                "gateway_address": self.gateway_address,
                "port": self.port,
                "cca": self.cca,
                "pool": self.pool,
                "window_bytes": self.window_bytes,
                "rate_bps": rate_bps * self.mtu // frame_bytes(self.mtu),
                "buffer_bytes": self.buffer_bytes,
                "syn_retries": syn_retries,
                "sample_every_ns": SAMPLE_EVERY_NS,
            }
            yield Program(
                name=f"{self.name}.{end}", node=node, role=f"pep-{end}", description=description
            )

    @property
    def split_ports(self) -> tuple[int, ...]:
        """The ports that it intercepts."""
        return self.ports

    @property
    def middle(self) -> tuple[str, int] | None:
        """Where its middle connections end at the gateway."""
        return self.gateway_address, self.port

    @property
    def splitting(self) -> str:
        """What the report says of the connections that it splits."""
        return f"by a PEP: 3 connections, the middle one with {self.cca} and without slow start"

    @property
    def held_bytes(self) -> int:
        """Its buffer."""
        return self.buffer_bytes

    @property
    def ccas(self) -> Mapping[str, Mapping[str, Setting]]:
        """The CCA of its connections."""
        return {self.cca: self.cca_parameters}

    def opens_at(self, node: str) -> bool:
        """Whether a node is its gateway."""
        return node == self.gateway

    def ends_at(self, node: str) -> bool:
        """Whether a node is one of its ends."""
        return node in self.nodes

    def sysctls(self, node: str) -> Mapping[str, str]:
        """Return the kernel options of one of its ends."""
        if not self.ends_at(node):
            return {}
        settings = {
            "net.ipv4.tcp_slow_start_after_idle": "0",
            "net.ipv4.tcp_no_metrics_save": "1",
        }
        if node == self.gateway:
            settings["net.ipv4.tcp_tw_reuse"] = "1"
        return settings

    def routes(self, node: Node, way: Callable[[str], RouteOf | None]) -> Iterator[RouteOf]:
        """Yield the routes of a node with a proxy.

        One keeps on the node what the proxy intercepts; that to the other proxy has the window with
        which a middle connection begins, its receive window twice that.
        """
        if (end := self._end(node.name)) is None:
            return
        _, other, _ = end
        yield RouteOf(destination="0.0.0.0/0", interface="lo", local=True, table=TABLE)
        packets = -(-self.window_bytes // self.mtu)
        if (made := way(other)) is not None:
            made["initcwnd"], made["initrwnd"] = packets, 2 * packets
            yield made

    def rules(self, node: Node) -> Iterator[Rule]:
        """Yield the rules by which a proxy gets packets of its ports, from all interfaces but that
        to the other one.
        """
        if (end := self._end(node.name)) is None:
            return
        own, _, side = end
        for interface in node.interfaces:
            if interface.ip == own:
                continue
            for port in self.ports:
                yield Rule(interface=interface.name, side=side, port=port, table=TABLE)

    def _end(self, node: str) -> tuple[str, str, Side] | None:
        """Return an end's own address, the other one's, and which port of packets counts."""
        if node == self.terminal:
            return self.terminal_address, self.gateway_address, "dport"
        if node == self.gateway:
            return self.gateway_address, self.terminal_address, "sport"
        return None

    def of_flows(self, flows: Sequence[Flow]) -> Pep:
        """Return it where some flows are alone."""
        there = {flow.port for flow in flows}
        return replace(self, ports=tuple(port for port in self.ports if port in there))

    def contradiction(self, cell: Cell, nodes: Mapping[str, Node]) -> str:
        """Report what is wrong with its ends."""
        terminal, gateway = nodes.get(self.terminal), nodes.get(self.gateway)
        if terminal is None or gateway is None or terminal is gateway:
            return f"the proxy `{self.name}` is not at two nodes of the cell"
        ends = ((terminal, self.terminal_address), (gateway, self.gateway_address))
        if any(address not in {i.ip for i in node.interfaces} for node, address in ends):
            return f"the addresses of the proxy `{self.name}` are not those of its nodes"
        reached = ((terminal, self.gateway_address), (gateway, self.terminal_address))
        if any(way_to(node, address) is None for node, address in reached):
            return f"the two ends of the proxy `{self.name}` have no route to each other"
        return ""
