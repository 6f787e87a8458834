"""The checked experiment: what the front end hands to the compiler. No syntax, SI units, spans kept.

A configuration is one point of the sweep; its scenario is the network and the flows with every
name resolved. Sizes that depend on the path (`2bdp`, `100ms`, `10pkt`) stay symbolic, because
only the compiler knows the routes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol

from .diagnostics import Diagnostics
from .source import Source, Span

Transport = Literal["tcp", "quic", "udp", "web"]

MTU = 1500
"""Largest IP packet of a link where the file says nothing, bytes: Ethernet's."""
ETHERNET_BYTES = 14
"""What Ethernet adds to an IP packet on the wire, without preamble and checksum, bytes."""


@dataclass(frozen=True, slots=True)
class Size:
    """An amount of data: bytes, packets, multiples of the BDP, or seconds at the link's rate.

    A threshold of a queue may also be a share of the queue's `limit`.
    """

    amount: Fraction
    unit: Literal["B", "pkt", "bdp", "s", "limit"]
    span: Span


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue by its registry name, its size, and its other arguments as far as they are given.

    options: by parameter; a threshold is a Size, a switch a bool, all else a number in SI units.
    """

    kind: str
    size: Size
    span: Span
    options: Mapping[str, Size | Fraction | bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GilbertElliott:
    """Losses in bursts, by a chain of a good and a bad state; all are probabilities.

    p: of going from good to bad, r: from bad to good, p + r > 0; h, k: of passing in the bad and
    in the good state.
    """

    p: float
    r: float
    h: float
    k: float

    @property
    def loss(self) -> float:
        """The stationary probability of a loss: (p (1 - h) + r (1 - k)) / (p + r)."""
        return (self.p * (1 - self.h) + self.r * (1 - self.k)) / (self.p + self.r)


JitterDistribution = Literal["uniform", "normal", "pareto", "paretonormal"]


@dataclass(frozen=True, slots=True)
class Jitter:
    """A random part of the delay, drawn for each packet.

    deviation_ns: `uniform`: half the range; else the unit of netem's table, > 0.
    overtake: packets with less delay overtake others; else they leave in order.
    """

    deviation_ns: int
    distribution: JitterDistribution
    overtake: bool


@dataclass(frozen=True, slots=True)
class Change:
    """What is another value from a time on, ns after the cell's begin; None: it stays.

    rate_bps: 0: packets wait. is_up: whether anything gets across; else what is sent is lost.
    """

    at_ns: int
    rate_bps: int | None = None
    delay_ns: int | None = None
    loss: float | None = None
    bursts: GilbertElliott | None = None
    is_up: bool | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A file that a spec reads: its path from the folder of the spec, its SHA-256."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Trace:
    """A rate over time: in each bin so many chances to send one packet of 1500 bytes.

    Bins follow each other from the cell's begin; after period_ns the first one comes again. The
    last bin ends with the period, and may be shorter.
    """

    file: Input
    period_ns: int
    every_ns: int
    chances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Direction:
    """One way of a link. On the way of a packet: queue and rate, then loss, then delay.

    rate_bps: bit/s on the wire, > 0, or None for a link that is not shaped.
    delay_ns: one-way delay, ns, >= 0.
    loss: probability of a loss, 0 <= loss < 1: independent of other packets (Bernoulli), or the
    stationary one of `bursts`. reorder: probability that a packet skips the delay. duplicate:
    probability that it arrives twice. changes: in order of time. trace: what the rate follows;
    rate_bps is then its mean. mtu: the largest IP packet, bytes; the same both ways.
    """

    rate_bps: int | None
    delay_ns: int
    loss: float
    queue: Queue
    span: Span
    bursts: GilbertElliott | None = None
    jitter: Jitter | None = None
    reorder: float = 0.0
    duplicate: float = 0.0
    changes: tuple[Change, ...] = ()
    trace: Trace | None = None
    mtu: int = MTU

    @property
    def frame_bytes(self) -> int:
        """A full packet in its Ethernet frame, without preamble, bytes."""
        return self.mtu + ETHERNET_BYTES


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


@dataclass(frozen=True, slots=True)
class Pep:
    """Two proxies that split TCP connections, at both ends of the link between two routers.

    terminal: at the clients' side; gateway: at the servers'. cca: of the connections between them,
    of which `connections` are open ahead; each begins with `window`.
    """

    name: str
    terminal: str
    gateway: str
    cca: str
    cca_parameters: Mapping[str, int | float | bool]
    connections: int
    window: Size
    span: Span


@dataclass(frozen=True, slots=True)
class Network:
    """Nodes and links of one configuration."""

    nodes: tuple[Node, ...]
    links: tuple[Link, ...]
    span: Span
    peps: tuple[Pep, ...] = ()


@dataclass(frozen=True, slots=True)
class File:
    """The workload `file(size)`: each connection moves exactly `size_bytes`."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """A random number by its distribution's registry name; arguments in SI base units."""

    kind: str
    arguments: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Bulk:
    """The workload `bulk`: each connection sends for as long as the flow lasts."""


@dataclass(frozen=True, slots=True)
class Video:
    """The workload `video`: a progressive download, and the player that waits for it.

    burst_ns: playing time that is sent at full speed at first; then chunks of `chunk_bytes` at
    `factor` times the bit rate. The player starts with play_ns buffered, and stalls below stall_ns.
    """

    bitrate_bps: int
    length_ns: int
    burst_ns: int
    chunk_bytes: int
    factor: float
    play_ns: int
    stall_ns: int
    send_buffer_bytes: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole video, rounded up."""
        return -(-self.bitrate_bps * self.length_ns // (8 * 10**9))


@dataclass(frozen=True, slots=True)
class Requests:
    """The workload `requests`: answers of random sizes (bit), asked for at random times (s)."""

    size: Distribution
    every: Distribution


@dataclass(frozen=True, slots=True)
class OnOff:
    """The workload `onoff`: a rate (bit/s of IP), with pauses; times in s.

    packet_bytes: of a datagram over UDP with its IP header; None: what the path takes.
    """

    rate_bps: int
    on: Distribution
    off: Distribution
    packet_bytes: int | None


@dataclass(frozen=True, slots=True)
class PageObject:
    """An object of a web page: where it is offered, its MIME type, the position of what names it.

    parent: None for the document, which is the first object; else less than its own position.
    """

    path: str
    size_bytes: int
    type: str
    parent: int | None
    span: Span = field(compare=False)


@dataclass(frozen=True, slots=True)
class Page:
    """A web page: its document, then all else in the order in which it is asked for.

    file: the recording that it comes from. remarks: what the page does not have of it.
    """

    objects: tuple[PageObject, ...]
    file: Input | None = None
    remarks: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(item.size_bytes for item in self.objects)

    @property
    def depth(self) -> int:
        """How many objects are asked for one after the other, the document included."""
        levels: list[int] = []
        for item in self.objects:
            levels.append(1 if item.parent is None else levels[item.parent] + 1)
        return max(levels)


Client = Literal["chromium", "plain"]
HttpVersion = Literal["h1", "h2", "h3"]


@dataclass(frozen=True, slots=True)
class Load:
    """The workload `load`: a page, loaded so many times one after the other, with pauses (s).

    http: h3: the first load is over h2, and learns of h3. timeout_ns: None: by the page's size.
    """

    page: Page
    client: Client
    http: HttpVersion
    loads: int
    idle: Distribution
    timeout_ns: int | None

    @property
    def protocols(self) -> tuple[HttpVersion, ...]:
        """The HTTP version of each load."""
        versions: list[HttpVersion] = [self.http] * self.loads
        if self.http == "h3":
            versions[0] = "h2"
        return tuple(versions)

    @property
    def size_bytes(self) -> int:
        """Bytes of all loads."""
        return self.page.size_bytes * self.loads


Workload = File | Bulk | Video | Requests | OnOff | Load


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a flow's transport, each what the file says or else its default.

    send_buffer_bytes, receive_buffer_bytes: None: large enough to limit nothing.
    """

    initial_window_packets: int = 10
    receive_window_bytes: int | None = None
    ecn: bool = False
    sack: bool = True
    pacing: bool = False
    fast_open: bool = False
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    qlog: bool = False


@dataclass(frozen=True, slots=True)
class OwnCca:
    """A CCA of the user's own: a BPF struct_ops object that registers it under `name`."""

    name: str
    content: bytes
    span: Span


@dataclass(frozen=True, slots=True)
class Flow:
    """A flow: `connections` parallel connections from `server` to `client`, one session.

    cca: None over UDP, and where an image brings its own. cca_parameters: over TCP those that the file gives, under the names
    of the kernel; over QUIC all of them.
    start_ns: ns after the start of the cell; None: drawn for each connection from `random_start` (s),
    and without one 0 plus the seeded offset of measurement.md.
    stop_ns: ns after the start of the cell, or None.
    declared: the name of the statement that it comes from, `name` unless there are users.
    users: the group that it is a user's flow of.
    rate_bps: limit of the sending rate at the generator, bit/s of IP, or None.
    extra_rtt_ns: round trip that is added for this flow alone, ns.
    own_cca: the object that `cca` comes from, unless it is the kernel's or the QUIC stack's.
    image: the container image of another QUIC stack, which has a CCA of its own.
    quic_parameters: of a page load over HTTP/3: all of those that the CCA has over QUIC.
    """

    name: str
    server: str
    client: str
    connections: int
    cca: str | None
    workload: Workload
    start_ns: int | None
    stop_ns: int | None
    span: Span
    random_start: Distribution | None = None
    declared: str = ""
    users: str | None = None
    transport: Transport = "tcp"
    cca_parameters: Mapping[str, int | float | bool] = field(default_factory=dict)
    options: Options = Options()
    rate_bps: int | None = None
    extra_rtt_ns: int = 0
    own_cca: OwnCca | None = None
    quic_parameters: Mapping[str, int | float | bool] = field(default_factory=dict)
    image: str | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that one configuration says, resolved.

    stop: `all`: the cell ends when every flow has ended; `first`: when the first one has.
    offload: False (always, so far): no super-packets.
    """

    network: Network
    flows: tuple[Flow, ...]
    duration_ns: int | None
    warmup_ns: int
    deadline_ns: int | None
    stop: Literal["first", "all"]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that it depends on, each once."""
        links = self.network.links
        traces = (way.trace for link in links for way in (link.forward, link.backward))
        pages = (f.workload.page for f in self.flows if isinstance(f.workload, Load))
        files = (*(trace.file for trace in traces if trace), *(page.file for page in pages))
        return tuple(dict.fromkeys(file for file in files if file))


@dataclass(frozen=True, slots=True)
class Axis:
    """One swept name (or one name of a bound tuple) and its values in canonical text.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    unit: str = ""


@dataclass(frozen=True, slots=True)
class MetricRequest:
    """An entry of `measure`: `name` is in METRICS; arguments in canonical form.

    sessions: the flows named by position (`fairness(tcp, quic)`); empty means all.
    options: keyword arguments, times in seconds, sizes in bytes.
    """

    name: str
    sessions: tuple[str, ...]
    options: Mapping[str, float | str]


@dataclass(frozen=True, slots=True)
class Selection:
    """The cells for which a condition holds, without the condition.

    text: the condition as written. names: the swept names (and `repetition`) that it depends on;
    rows: their values, in canonical text, for which it holds.
    """

    text: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """An entry of `report`: figure kind, the metric it shows (`fairness.F`), its options.

    options: words and names as text, quantities in SI base units; defaults are filled in.
    where: the cells that it shows, or None for all.
    """

    kind: str
    metric: str | None
    options: Mapping[str, str | float | tuple[str, ...]]
    where: Selection | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """One point of the sweep.

    bindings: swept name -> value in canonical text, in file order.
    repetitions: the repetitions (from 1) that `exclude` leaves.
    scenario: resolved network and flows.
    """

    bindings: Mapping[str, str]
    repetitions: tuple[int, ...]
    scenario: Scenario


class Count(NamedTuple):
    """Sizes of a grid. unsampled: cells that are not excluded, but that `sample` does not draw."""

    configurations: int
    cells: int
    excluded: int
    unsampled: int


class Experiment(Protocol):
    """A checked experiment; everything but `diagnostics` is the same for ever."""

    @property
    def name(self) -> str:
        """The name behind `experiment`."""
        ...

    @property
    def title(self) -> str:
        """The file's `title`, or an empty text."""
        ...

    @property
    def citation(self) -> str:
        """The file's `source`, or an empty text."""
        ...

    @property
    def file(self) -> Source:
        """The text that it comes from."""
        ...

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The swept names in file order."""
        ...

    @property
    def repeat(self) -> int:
        """The number of repetitions of each configuration, >= 1."""
        ...

    @property
    def seed(self) -> int:
        """Where all randomness comes from, >= 0."""
        ...

    @property
    def paired(self) -> bool:
        """Whether the losses are the same for every value of the sweep."""
        ...

    @property
    def measure(self) -> tuple[MetricRequest, ...]:
        """The metrics, in file order."""
        ...

    @property
    def figures(self) -> tuple[FigureRequest, ...]:
        """The figures of `report`, in file order."""
        ...

    @property
    def diagnostics(self) -> Diagnostics:
        """Warnings found so far; making configurations may add to them."""
        ...

    def configurations(self, repetition: int = 1) -> Iterator[Configuration]:
        """Yield every configuration that keeps a repetition and is drawn, as they are to be run.

        repetition: `order = shuffled` has another order for each one; else it is file order.
        Equal configurations are yielded once. Raises CompileError.
        """
        ...

    def some(self, most: int) -> Iterator[Configuration]:
        """Yield at most so many configurations, evenly spread over all. Raises CompileError."""
        ...

    def count(self) -> Count:
        """Count configurations and cells without building scenarios."""
        ...
