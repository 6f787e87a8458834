"""What an emitted program says: a network and an experiment in it, typed.

Nothing is here that follows from the rest (`expansion`). Times are ns, after the epoch where
nothing else is said; an address that is not given is that of the node's first interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from .frames import MTU
from .links import Egress
from .numbers import (
    Buffer,
    InitialWindow,
    Many,
    MtuBytes,
    PacketRate,
    Port,
    Range,
    Rate,
    Seed,
    Setting,
    Small,
    Tokens,
)
from .part import UNLESS_ABSENT, UNLESS_OFF, UNLESS_USUAL, Part
from .text import (
    Address,
    CcaName,
    FlowName,
    InterfaceAddress,
    InterfaceName,
    Line,
    NodeName,
    ParameterName,
)
from .workloads import LoadWorkload, VideoWorkload, Workload

SAMPLE_EVERY_NS = 100_000_000
BUFFER_BYTES = 262_144


@dataclass(frozen=True)
class End:
    """An interface, and its address with the length of its prefix: `10.0.0.1/30`."""

    node: str
    interface: str
    address: str


@dataclass(frozen=True)
class Link:
    """A cable between two interfaces."""

    a: End
    b: End
    mtu: int = MTU


@dataclass(frozen=True)
class Network:
    """nodes: name -> `host`, or what forwards: `router`, `hop` (which delays and loses packets)."""

    nodes: Mapping[str, str]
    links: Sequence[Link]


@dataclass(frozen=True, slots=True)
class Route(Part):
    """A static route: `destination` is an IPv4 prefix, `via` the next hop's address.

    mtu: the path MTU, where it is smaller than that of the next cable; else left out.
    """

    destination: InterfaceAddress
    via: Address
    mtu: MtuBytes | None = field(default=None, metadata=UNLESS_ABSENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportOptions(Part):
    """Options of a transport, defaults written out.

    initial_window_packets: initial congestion window. receive_window_bytes: the largest window that
    the receiver advertises; None: as its buffer allows. accurate_ecn: the receiver counts marks for
    the sender (AccECN, over TCP); left out where it does not. pacing: for TCP, by TCP itself.
    """

    initial_window_packets: InitialWindow = 10
    receive_window_bytes: Buffer | None = None
    ecn: bool = False
    accurate_ecn: bool = field(default=False, metadata=UNLESS_OFF)
    sack: bool = True
    pacing: bool = False
    fast_open: bool = False


@dataclass(frozen=True)
class Flow:
    """A flow: who sends what to whom; the server sends the data.

    starts_ns: of each connection. mtu: the smallest on the way. buffer_bytes: of each connection,
    both ends;
    send_buffer_bytes, receive_buffer_bytes: instead of it. rate_bps: limit at the generator, bit/s
    of IP.
    cca_parameters: over TCP for the whole kernel, over QUIC all of them. image: a third-party QUIC
    stack.
    gaps_seed: a source over UDP at a constant rate varies its gaps.
    """

    name: str
    server: str
    client: str
    workload: Workload
    port: int
    starts_ns: Sequence[int]
    base_rtt_ns: int
    transport: Literal["tcp", "quic", "udp", "web"] = "tcp"
    cca: str | None = None
    cca_parameters: Mapping[str, Setting] = field(default_factory=dict)
    connections: int = 1
    stop_ns: int | None = None
    address: str = ""
    client_address: str = ""
    mtu: int = MTU
    buffer_bytes: int = BUFFER_BYTES
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    options: TransportOptions = TransportOptions()
    rate_bps: int | None = None
    qlog: bool = False
    image: str | None = None
    sample_every_ns: int = SAMPLE_EVERY_NS
    gaps_seed: int | None = None

    @property
    def sender_bytes(self) -> int:
        """The send buffer of each connection; a video server brings its own."""
        if isinstance(self.workload, VideoWorkload):
            return self.workload.send_buffer_bytes
        return self.buffer_bytes if self.send_buffer_bytes is None else self.send_buffer_bytes

    @property
    def receiver_bytes(self) -> int:
        """The receive buffer of each connection."""
        wanted = self.receive_buffer_bytes
        return self.buffer_bytes if wanted is None else wanted

    @property
    def browser(self) -> bool:
        """Whether it loads pages in a browser."""
        return isinstance(self.workload, LoadWorkload) and self.workload.client != "plain"


@dataclass(frozen=True)
class Capture:
    """A packet capture of an interface, of one direction or `both`.

    It writes NAME.pcap as `tcpdump -i INTERFACE -Q DIRECTION -s 96 --time-stamp-precision=nano`
    would (tcpdump says `inout` for both). Of the form `headers` it writes NAME.headers: what round
    trips need of TCP and UDP.
    """

    node: str
    interface: str
    direction: Literal["in", "out", "both"]
    name: str
    form: Literal["pcap", "headers"] = "pcap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pep(Part):
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
    of each of the three connections. source: `file:line` of the statement that it comes from.
    """

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
    source: Line = ""


@dataclass(frozen=True, slots=True)
class Policed(Part):
    """A flow that is policed: all packets of its TCP connections from its server's port.

    bucket: number of its bucket.
    """

    flow: FlowName
    bucket: Small


@dataclass(frozen=True, slots=True, kw_only=True)
class Policer(Part):
    """A congestion policer with a token bucket for each user (definition: docs/learn/links.md).

    name: of its artefact, `NAME.policer.ndjson`. node: the hop that runs it; packets that arrive at
    `ingress` leave through `egress`, before its queue, or are dropped.
    rate: fill rate, packets/s; depth: packets. buckets: the host of each bucket. seed: of its
    random numbers. source: `file:line` of the statement that it comes from.
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
    buckets: Annotated[tuple[NodeName, ...], Range(0, 10_000)]
    policed: Annotated[tuple[Policed, ...], Range(0, 10_000)]
    seed: Seed = 0
    source: Line = ""


@dataclass(frozen=True)
class Processing:
    """Each host delays each packet that it sends by a random time up to bound_ns, in order.

    seeds: (node, interface) -> seed.
    """

    bound_ns: int
    seeds: Mapping[tuple[str, str], int]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One cell. It ends when all flows have, or the `first` one, or after a fixed duration_ns; by
    deadline_ns.

    repetition: the first one times a browser alone. routes: of each node. objects: CCAs as BPF
    struct_ops objects, compressed, in base64.
    """

    id: str
    repetition: int
    duration_ns: int | None = None
    deadline_ns: int
    stop: Literal["first", "all"] = "all"
    routes: Mapping[str, Sequence[Route]] = field(default_factory=dict)
    egress: Sequence[Egress] = ()
    processing: Processing | None = None
    peps: Sequence[Pep] = ()
    policers: Sequence[Policer] = ()
    objects: Mapping[str, str] = field(default_factory=dict)
    flows: Sequence[Flow]
    captures: Sequence[Capture] = ()
