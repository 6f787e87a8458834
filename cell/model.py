"""A cell: hosts, links, flows, captures, and when it ends.

A plan holds it, an emitted program is written in it, and all that a conductor does follows from it
(`expansion`). Times are ns, after the cell's epoch where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Annotated, Any, Literal

from .devices import AnyDevice
from .effects import Effect
from .frames import MTU, frame_bytes
from .links import Interface
from .medium import Medium, Repair
from .modules import QUEUE_PREFIX, KernelModule
from .numbers import (
    Buffer,
    CodePoint,
    HeaderBytes,
    InitialWindow,
    LeastTimeout,
    Many,
    MtuBytes,
    Port,
    Range,
    Rate,
    Repetition,
    Seed,
    Setting,
    SpanNs,
    TimeNs,
)
from .part import UNLESS_ABSENT, UNLESS_EMPTY, UNLESS_OFF, UNLESS_USUAL, Part, unless
from .queues import Queue
from .text import (
    Address,
    Base64,
    CaptureName,
    CcaName,
    FlowName,
    Identity,
    ImageName,
    InterfaceAddress,
    InterfaceName,
    Line,
    NodeName,
    Nothing,
    ParameterName,
    Place,
    Sha256,
    Text,
    Word,
)
from .workloads import BROWSER, AnyWorkload

MAX_PROCESSING_NS = 4_000_000_000
MAX_SYSCALL_COST_NS = 100_000

SAMPLE_EVERY_NS = 100_000_000
"""How often endpoints sample a connection unless a metric requests more (measurement.md, rule
19).
"""
BUFFER_BYTES = 262_144
LARGEST_BUFFER = 2**29
"""A socket buffer that limits nothing, bytes: Linux keeps twice this in a signed number. It takes
no memory before it is used.
"""


@dataclass(frozen=True, slots=True)
class Route(Part):
    """A static route: `destination` is an IPv4 prefix, `via` the next hop's address.

    mtu: the path MTU, where it is smaller than that of the next cable; else left out. source: from
    which of its host's addresses packets are sent that have none; left out where it is that of the
    interface.
    """

    destination: InterfaceAddress
    via: Address
    mtu: MtuBytes | None = field(default=None, metadata=UNLESS_ABSENT)
    source: Address | None = field(default=None, metadata=UNLESS_ABSENT)


@dataclass(frozen=True, slots=True)
class RouteChange(Part):
    """A route that a node gets `at_ns` after the epoch, instead of that to its destination."""

    at_ns: TimeNs
    route: Route


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportOptions(Part):
    """Options of a transport, defaults written out.

    initial_window_packets: initial congestion window. receive_window_bytes: the largest window that
    the receiver advertises; None: as its buffer allows. accurate_ecn: the receiver counts marks for
    the sender (AccECN, over TCP); left out where it does not. cca_needs_ecn: the kernel replaces
    the CCA without ECN; then both ends have it, but where marks are counted.
    cca_outgrows_receivers: its window may grow to all that a receiver's allows. pacing: for TCP, by
    TCP itself. idle_restart: whether an idle time reduces the congestion window; left out where the
    transport decides (TCP does, QUIC does not). min_rto_ms: TCP's retransmission timeout is at
    least this over the round trip. notsent_lowat_bytes: below this a source refills what waits in
    its socket beyond the window. Both are left out where the file does not set them.
    discovers_mtu: no route has the MTU of its path; left out where they have.
    """

    initial_window_packets: InitialWindow = 10
    receive_window_bytes: Buffer | None = None
    ecn: bool = False
    accurate_ecn: bool = field(default=False, metadata=UNLESS_OFF)
    cca_needs_ecn: bool = field(default=False, metadata=UNLESS_OFF)
    cca_outgrows_receivers: bool = field(default=False, metadata=UNLESS_OFF)
    sack: bool = True
    pacing: bool = False
    fast_open: bool = False
    idle_restart: bool | None = field(default=None, metadata=UNLESS_ABSENT)
    min_rto_ms: LeastTimeout | None = field(default=None, metadata=UNLESS_ABSENT)
    notsent_lowat_bytes: Buffer | None = field(default=None, metadata=UNLESS_ABSENT)
    discovers_mtu: bool = field(default=False, metadata=UNLESS_OFF)


@dataclass(frozen=True, slots=True)
class Node(Part):
    """An emulated host, a router, or a delay hop that the compiler put into a link.

    interfaces: in the order of the cables. Its first one has the address by which others reach it.
    route_changes: in order of time, around links that are down; left out where there are none.
    addresses: further ones of a host, of flows that have a way of their own; left out where there
    are none.
    """

    name: NodeName
    kind: Literal["host", "router", "hop"]
    interfaces: tuple[Interface, ...]
    routes: tuple[Route, ...] = ()
    route_changes: tuple[RouteChange, ...] = field(default=(), metadata=UNLESS_EMPTY)
    addresses: tuple[Address, ...] = field(default=(), metadata=UNLESS_EMPTY)


@dataclass(frozen=True, slots=True)
class Cable(Part):
    """A pair of interfaces (node name, interface name) that are connected."""

    a: Place
    b: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Subflow(Part):
    """A path of a flow over Multipath TCP, and the subflow of each of its connections there.

    name: the node next to its client, or to its server, by which it differs from others. address,
    client_address: between which it runs. opens_ns: when the client's host gets to know of this
    address, after the epoch; left out where it does from the start. backup: whether it carries data
    only while no other does.
    """

    name: NodeName
    address: Address
    client_address: Address
    base_rtt_ns: TimeNs
    bottleneck: Place
    opens_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)
    backup: bool = field(default=False, metadata=UNLESS_OFF)


@dataclass(frozen=True, slots=True)
class Flow(Part):
    """A flow: one session of `connections` parallel connections; the server sends the data.

    starts_ns: of each connection. starts_ns, stop_ns: after the cell's epoch.
    base_rtt_ns: propagation both ways, no queueing.
    bottleneck: (node, interface) of its data path's slowest egress.
    further_bottlenecks: those of the other paths that it takes in the course of the cell; left out
    where there are none.
    mtu: the smallest MTU on the paths of its data and acknowledgements, less what tunnels add; left
    out where it is 1500. header_bytes: what tunnels add to each of its packets at its bottleneck;
    left out where there is none.
    buffer_bytes: what a connection may have under way, twice: sizes a send buffer that is part of
    the workload. waiting_bytes: what may wait at a receiver behind lost packets: sizes TCP's
    receive buffer, and estimates of memory.
    source: `file:line` of the statement that it comes from.
    declared: the name in the file, `name` unless it is one of several users' flows; users: their
    group. Neither is part of the cell's identity.
    cca: None over UDP, and where an image brings its own. cca_parameters: over TCP those that the
    file sets, named as under /sys/module/tcp_<cca>/parameters, for the whole kernel; over QUIC all
    of them.
    rate_bps: limit of the sending rate at the source, bit/s of IP.
    send_buffer_bytes, receive_buffer_bytes: where the file sets them, else None: see `sender_bytes`
    and `receiver_bytes`.
    subflows: over Multipath TCP, the first one opens the connection; left out over one path.
    transport: `web`: HTTP over TCP, over QUIC, or over both, as the loads of a page require.
    idle_timeout_ns: silence of the peer that ends a connection over QUIC; left out where none does.
    qlog: whether a QUIC server writes one. cca_object: the BPF struct_ops
    object that registers the CCA, compressed (zlib), in base64. cca_module: the kernel module that
    does; left out where there is none.
    image: the container image of a third-party QUIC stack, both server and client; left out where
    there is none.
    dscp: the Diffserv code point of its packets, both ways; left out where it is 0.
    sample_every_ns: interval at which the sender samples a connection's state, 100 us or more; left
    out where it is 100 ms.
    """

    name: FlowName
    _: KW_ONLY
    server: NodeName
    client: NodeName
    address: Address
    port: Port
    transport: Literal["tcp", "quic", "udp", "web"] = "tcp"
    cca: CcaName | None = None
    connections: Many = 1
    workload: AnyWorkload
    starts_ns: Annotated[tuple[TimeNs, ...], Range(1, 10_000)]
    stop_ns: TimeNs | None = None
    base_rtt_ns: TimeNs
    bottleneck: Place
    further_bottlenecks: tuple[Place, ...] = field(default=(), metadata=UNLESS_EMPTY)
    mtu: MtuBytes = field(default=MTU, metadata=UNLESS_USUAL)
    header_bytes: HeaderBytes = field(default=0, metadata=unless(0))
    buffer_bytes: Buffer = BUFFER_BYTES
    waiting_bytes: Buffer = 4 * BUFFER_BYTES
    source: Line = ""
    declared: Word | Nothing = ""
    users: Word | None = None
    subflows: tuple[Subflow, ...] = field(default=(), metadata=UNLESS_EMPTY)
    client_address: Address | Nothing = ""
    cca_parameters: dict[ParameterName, Setting] = field(default_factory=dict)
    options: TransportOptions = TransportOptions()
    rate_bps: Rate | None = None
    send_buffer_bytes: Buffer | None = None
    receive_buffer_bytes: Buffer | None = None
    idle_timeout_ns: SpanNs | None = field(default=None, metadata=UNLESS_ABSENT)
    qlog: bool = False
    cca_object: Base64 | None = None
    cca_module: KernelModule | None = field(default=None, metadata=UNLESS_ABSENT)
    image: ImageName | None = field(default=None, metadata=UNLESS_ABSENT)
    dscp: CodePoint = field(default=0, metadata=unless(0))
    sample_every_ns: Annotated[int, Range(100_000, SAMPLE_EVERY_NS)] = field(
        default=SAMPLE_EVERY_NS, metadata=unless(SAMPLE_EVERY_NS)
    )

    @property
    def frame_bytes(self) -> int:
        """A full packet of this flow in its Ethernet frame at its bottleneck, without preamble,
        bytes.
        """
        return frame_bytes(self.mtu + self.header_bytes)

    @property
    def packet_bytes(self) -> int:
        """A packet of its data, bytes of IP: a datagram of the size that it has, else a full
        packet.
        """
        return self.workload.datagram_bytes or self.mtu

    @property
    def data_frame_bytes(self) -> int:
        """A packet of its data in its Ethernet frame at its bottleneck, bytes."""
        return frame_bytes(self.packet_bytes + self.header_bytes)

    @property
    def start_ns(self) -> int:
        """When its first connection starts, ns after the cell's epoch."""
        return min(self.starts_ns)

    @property
    def sender_bytes(self) -> int | None:
        """The send buffer of each connection; None: it limits nothing.

        A source that waits for its send buffer has one: its own, or one for its path.
        """
        given = self.workload.server_buffer_bytes or self.send_buffer_bytes
        return self.buffer_bytes if given is None and self.workload.paced else given

    @property
    def receiver_bytes(self) -> int | None:
        """The receive buffer of each connection; None: it limits nothing.

        Over TCP it is what waits behind lost packets. It is no larger, because Linux acknowledges
        each segment for as long as the window still grows towards its buffer (net/ipv4/tcp_input.c,
        tcp_grow_window), and not every second one.
        """
        if self.receive_buffer_bytes is None and self.transport == "tcp":
            return self.waiting_bytes
        return self.receive_buffer_bytes

    @property
    def pulled_image(self) -> str | None:
        """Its image where a container engine has that, and not a tar beside the experiment."""
        return self.image if self.workload.own_code is None else None

    @property
    def browser(self) -> bool:
        """Whether it loads pages in a browser."""
        return BROWSER in self.workload.programs

    def parameters_over(self, transport: str) -> Mapping[str, Any]:
        """Return the parameters of its CCA over a transport, of pages `tcp` or `quic`."""
        both = self.transport == "web" and transport == "quic"
        return self.workload.parameters_over_quic if both else self.cca_parameters


@dataclass(frozen=True, slots=True)
class Capture(Part):
    """A packet capture at one interface (what it means: docs/reference/artefacts.md).

    It writes NAME.pcap as `tcpdump -i INTERFACE -Q DIRECTION -s 96 --time-stamp-precision=nano`
    would (tcpdump says `inout` for both), and at a sender NAME.headers: what round trips need of
    TCP and UDP.
    direction: what comes in, what goes out, or both.
    point: `entry` (arriving at the bottleneck's router), `exit` (leaving the bottleneck queue),
    `delivered` (after the loss), `client` (arriving at the client of a page load; for a third-party
    image, also leaving it), `device` (packets that a device sees and no other point shows),
    `sender` (data and ACKs at the interface of a host that sends; each belongs to the queue of its
    first flow), `echo` (arriving at a host that pings over its own link, where that is the
    bottleneck).
    queue: the (node, interface) of the bottleneck it belongs to.
    """

    name: CaptureName
    node: NodeName
    interface: InterfaceName
    direction: Literal["in", "out", "both"]
    point: Literal["entry", "exit", "delivered", "client", "device", "sender", "echo"]
    queue: Place

    @property
    def form(self) -> Literal["pcap", "headers"]:
        """What it writes, and the ending of its file."""
        return "headers" if self.point == "sender" else "pcap"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tunnel(Part):
    """A tunnel between two routers: packets in packets (definition: docs/learn/links.md).

    a, b: the interfaces of the nodes beside the routers that run its ends, whose addresses are
    those of the packets that carry others. header_bytes: of what carries a packet. ecn: how the two
    fields of ECN go together (RFC 6040), `copy`: normal mode, `clear`: compatibility mode. source:
    `file:line` of the statement that it comes from.
    """

    name: NodeName
    a: Place
    b: Place
    header_bytes: HeaderBytes
    ecn: Literal["copy", "clear"] = "copy"
    source: Line = ""


@dataclass(frozen=True, slots=True)
class OwnKernel(Part):
    """A custom kernel, by its name and the hash of its program."""

    name: Word
    sha256: Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell(Part):
    """One configuration and one repetition: everything that an engine needs to run it.

    id: SHA-256 of the cell's JSON without white space, fields in the schema's order, without `id`,
    `bindings`, `captures`, `baselines`, every `source`, and `devices` and `tunnels` where
    there are none; its first 16 hexadecimal digits.
    configuration: the same over the bindings, keys sorted; so repetitions share it.
    bindings: swept name -> canonical value. stop: the condition on which the cell ends.
    repetition: the first one times a browser alone.
    duration_ns: a fixed length after the epoch, or None. deadline_ns: the latest end.
    processing_ns: a host delays each packet that it sends by a random time in [0, processing_ns],
    after its link's queue and shaper, in order; constant-rate sources vary their gaps. 0: neither.
    Left out where the file does not set it: then as the engine needs it (`expansion`).
    syscall_cost_ns: the virtual time of each system call, where computation takes none; left out
    where the file does not set it: then as the engine needs it.
    kernel: a custom kernel; left out where it is the engine's.
    saves_metrics: whether hosts keep what TCP has learnt of another host for later connections;
    left out where they do not.
    offload: whether TCP leaves its segmentation to the interface of its host; left out where it
    does not.
    captured: `none`: no packets are captured, and there are no `captures`; left out where it is
    `full`.
    baseline: whether it is there to be compared with: some flows of another configuration, without
    the others, on the same network. Then `configuration` is a hash of what it is, and `bindings`
    are those of the first configuration that it is a baseline of. Left out where it is none.
    baselines: name of flows -> `configuration` of the cells of the same repetition in which they
    are alone. Like the captures no part of the identity; left out where there are none.
    """

    id: Identity
    experiment: Word
    configuration: Identity
    bindings: dict[Word, Text] = field(default_factory=dict)
    repetition: Repetition
    seed: Seed
    nodes: Annotated[tuple[Node, ...], Range(low=1)]
    cables: Annotated[tuple[Cable, ...], Range(low=1)]
    flows: Annotated[tuple[Flow, ...], Range(low=1)]
    captures: tuple[Capture, ...] = ()
    devices: tuple[AnyDevice, ...] = field(default=(), metadata=UNLESS_EMPTY)
    tunnels: tuple[Tunnel, ...] = field(default=(), metadata=UNLESS_EMPTY)
    warmup_ns: TimeNs = 0
    duration_ns: SpanNs | None = None
    deadline_ns: SpanNs
    stop: Literal["first", "all"] = "all"
    captured: Literal["full", "none"] = field(default="full", metadata=unless("full"))
    processing_ns: Annotated[int, Range(0, MAX_PROCESSING_NS)] | None = field(
        default=None, metadata=UNLESS_ABSENT
    )
    syscall_cost_ns: Annotated[int, Range(1, MAX_SYSCALL_COST_NS)] | None = field(
        default=None, metadata=UNLESS_ABSENT
    )
    kernel: OwnKernel | None = field(default=None, metadata=UNLESS_ABSENT)
    baseline: bool = field(default=False, metadata=UNLESS_OFF)
    baselines: dict[Text, Identity] = field(default_factory=dict, metadata=unless({}))
    saves_metrics: bool = field(default=False, metadata=UNLESS_OFF)
    offload: bool = field(default=False, metadata=UNLESS_OFF)

    @property
    def straight(self) -> dict[str, dict[str, str]]:
        """The hops through which packets go straight, as routes change: what comes in at one end
        of a link leaves by the other, wherever its destination may be now. Node -> interface ->
        the other one; none where no routes change.
        """
        if not any(node.route_changes for node in self.nodes):
            return {}
        found = {}
        for node in self.nodes:
            if node.kind == "hop" and len(node.interfaces) == 2:
                one, other = (interface.name for interface in node.interfaces)
                found[node.name] = {one: other, other: one}
        return found

    @property
    def mechanisms(self) -> Iterator[Part]:
        """Its parts of several kinds: the queues, those inside them, the workloads, the devices,
        the media, repairs and effects of links.
        """
        for queue in self.queues:
            yield queue
            yield from queue.inner
        for flow in self.flows:
            yield flow.workload
        yield from self.devices
        for node in self.nodes:
            for interface in node.interfaces:
                if interface.shaper is not None and interface.shaper.medium is not None:
                    yield interface.shaper.medium
                if interface.impairment is not None and interface.impairment.repair is not None:
                    yield interface.impairment.repair
        yield from self.effects

    @property
    def beyond_tc(self) -> frozenset[str]:
        """The disciplines of its parts that tc does not know."""
        parts = (p for p in self.mechanisms if isinstance(p, Queue | Medium | Repair))
        return frozenset().union(*(part.beyond_tc for part in parts))

    @property
    def is_split(self) -> bool:
        """Whether a device splits TCP connections."""
        return any(device.splits for device in self.devices)

    @property
    def captures_whole(self) -> bool:
        """Whether packets are captured whole: only their checksums show which are damaged."""
        return any(effect.damaged for effect in self.effects)

    @property
    def effects(self) -> Iterator[Effect]:
        """The effects of its links."""
        ends = (interface for node in self.nodes for interface in node.interfaces)
        yield from (x for end in ends if end.impairment for x in end.impairment.effects)

    @property
    def rebinds(self) -> bool:
        """Whether a device gives connections other ports."""
        return any(device.rebinds for device in self.devices)

    @property
    def queues(self) -> Iterator[Queue]:
        """The queues of its links."""
        for node in self.nodes:
            yield from (each.queue for each in node.interfaces if each.queue is not None)

    @property
    def modules(self) -> dict[str, KernelModule]:
        """Kernel modules: CCAs by the names that they register, queues by these after `sch-`, so
        that both can have one name.
        """
        found = {each.cca: each.cca_module for each in self.flows if each.cca and each.cca_module}
        for queue in self.queues:
            if (own := queue.own_module) is not None:
                found[QUEUE_PREFIX + own[0]] = own[1]
        return found

    @property
    def objects(self) -> dict[str, str]:
        """CCAs as BPF struct_ops objects, compressed (zlib), in base64."""
        return {each.cca: each.cca_object for each in self.flows if each.cca and each.cca_object}
