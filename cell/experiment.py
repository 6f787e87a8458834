"""What an emitted program says: a network and an experiment in it, typed.

Nothing is here that follows from the rest (`expansion`). Times are ns, after the epoch where nothing else is
said; an address that is not given is that of the node's first interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from .frames import MTU
from .links import Egress
from .workloads import LoadWorkload, VideoWorkload, Workload

SAMPLE_EVERY_NS = 100_000_000
BUFFER_BYTES = 262_144

Setting = bool | int | float | str


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


@dataclass(frozen=True)
class Route:
    """A static route to a prefix; mtu: of its way, where that takes less than its first cable."""

    destination: str
    via: str
    mtu: int | None = None


@dataclass(frozen=True)
class Options:
    """Options of a transport. accurate_ecn: AccECN, over TCP. pacing: for TCP, inside TCP."""

    initial_window_packets: int = 10
    receive_window_bytes: int | None = None
    ecn: bool = False
    accurate_ecn: bool = False
    sack: bool = True
    pacing: bool = False
    fast_open: bool = False


@dataclass(frozen=True)
class Flow:
    """A flow: who sends what to whom; the server sends the data.

    starts_ns: of each connection. mtu: the smallest on the way. buffer_bytes: of each connection, both ends;
    send_buffer_bytes, receive_buffer_bytes: instead of it. rate_bps: limit at the generator, bit/s of IP.
    cca_parameters: over TCP for the whole kernel, over QUIC all of them. image: a third-party QUIC stack.
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
    options: Options = field(default=Options())
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

    It writes what `tcpdump -i INTERFACE -Q DIRECTION -s 96 --time-stamp-precision=nano -w NAME.pcap` would (tcpdump
    says `inout` for both). Of the form `headers` it writes NAME.headers: what round trips need of TCP and UDP.
    """

    node: str
    interface: str
    direction: Literal["in", "out", "both"]
    name: str
    form: Literal["pcap", "headers"] = "pcap"


@dataclass(frozen=True)
class Pep:
    """A split TCP connection: two transparent proxies, one at each end of a link (docs/build/endpoints.md)."""

    name: str
    terminal: str
    gateway: str
    terminal_address: str
    gateway_address: str
    port: int
    ports: Sequence[int]
    cca: str
    pool: int
    window_bytes: int
    rate_bps: tuple[int, int]
    buffer_bytes: int
    mtu: int = MTU
    cca_parameters: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Policer:
    """A congestion policer (docs/learn/links.md); policed: (flow, number of its bucket)."""

    name: str
    node: str
    ingress: str
    egress: str
    rate: float
    depth: float
    harshness: str
    feedback: str
    charge: str
    buckets: int
    policed: Sequence[tuple[str, int]]
    seed: int = 0


@dataclass(frozen=True)
class Processing:
    """Each host delays each packet that it sends by a random time up to bound_ns, in order.

    seeds: (node, interface) -> seed.
    """

    bound_ns: int
    seeds: Mapping[tuple[str, str], int]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One cell. It ends when all flows have, or the `first` one, or after a fixed duration_ns; by deadline_ns.

    repetition: the first one times a browser alone. routes: of each node. objects: CCAs as BPF struct_ops
    objects, compressed, in base64.
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
