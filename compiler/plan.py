"""The plan: the contract between the compiler and everything that runs cells.

A plan is a header (`plan.json`, a `Plan`) and its cells as JSON Lines (`cells.jsonl`, one `Cell`
a line), so that 100,000 of them stream. Each cell is complete: whoever reads it needs neither the
language nor the header. Integers carry their unit in the name: ns, bit/s, bytes.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from fairc.dsl.model import MTU

from .frames import frame_bytes

PLAN_VERSION: Final = 1


def _usual(value: object) -> bool:
    return value == MTU


Mtu = Annotated[int, Field(exclude_if=_usual)]
"""Largest IP packet, bytes; not in the JSON where it is 1500, so that it leaves identities alone."""


class Model(BaseModel):
    """Base of every part of a plan: immutable, strictly typed, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Limited(Model):
    """What every queue has: exactly one limit. Bytes are frame bytes that wait."""

    limit_bytes: int | None = None
    limit_packets: int | None = None


class Fifo(Limited):
    """First in, first out; what does not fit is dropped (tc: bfifo or pfifo)."""

    kind: Literal["fifo"] = "fifo"


class Red(Limited):
    """Random Early Detection over the average queue (limit in bytes).

    min_bytes, max_bytes: where dropping begins, and where it has reached `probability`; above
    max_bytes everything is dropped (or marked). average_packet_bytes, burst_packets: from which
    tc derives the weight of the average. ecn: mark packets that can be marked.
    """

    kind: Literal["red"] = "red"
    min_bytes: int
    max_bytes: int
    average_packet_bytes: int
    burst_packets: int
    probability: float
    ecn: bool


class CoDel(Limited):
    """Controlled Delay (limit in packets): drops at the head while the delay exceeds the target."""

    kind: Literal["codel"] = "codel"
    target_ns: int
    interval_ns: int
    ecn: bool


class FqCoDel(Limited):
    """Fair queueing, CoDel in each of `flows` hashed queues (limit in packets)."""

    kind: Literal["fq_codel"] = "fq_codel"
    target_ns: int
    interval_ns: int
    flows: int
    quantum_bytes: int
    memory_bytes: int
    drop_batch: int
    ecn: bool


class Pie(Limited):
    """Proportional Integral controller Enhanced (limit in packets).

    alpha, beta: as tc takes them, in units of 1/16 Hz.
    """

    kind: Literal["pie"] = "pie"
    target_ns: int
    update_ns: int
    alpha: int
    beta: int
    ecn: bool


class FqPie(Limited):
    """Fair queueing, PIE in each of `flows` hashed queues (limit in packets).

    ecn_percent: packets are marked, not dropped, up to this drop probability.
    """

    kind: Literal["fq_pie"] = "fq_pie"
    target_ns: int
    update_ns: int
    alpha: int
    beta: int
    flows: int
    quantum_bytes: int
    memory_bytes: int
    ecn_percent: int
    ecn: bool


class Fq(Limited):
    """Fair queueing with one queue per flow (limit in packets).

    Forwarded packets have no socket and no departure time, so its pacing does not act on them.
    """

    kind: Literal["fq"] = "fq"
    flow_limit_packets: int
    quantum_bytes: int
    initial_quantum_bytes: int
    buckets: int


class Sfq(Limited):
    """Stochastic fair queueing (limit in packets); `depth_packets` of one flow at most."""

    kind: Literal["sfq"] = "sfq"
    flows: int
    divisor: int
    depth_packets: int
    quantum_bytes: int
    perturb_s: int


class Cake(Limited):
    """Common Applications Kept Enhanced, its own shaper off (limit in full frames).

    memory_bytes: that many frames as the kernel accounts for them; rtt_ns: sets its CoDel, target
    rtt / 20 and interval rtt. One class of traffic, fair between flows.
    """

    kind: Literal["cake"] = "cake"
    rtt_ns: int
    memory_bytes: int


Queue = Annotated[
    Fifo | Red | CoDel | FqCoDel | Pie | FqPie | Fq | Sfq | Cake, Field(discriminator="kind")
]
"""The queue of an interface, told apart by `kind`."""


class Shaper(Model):
    """A token bucket in front of the wire: rate in bit/s of frames, burst under two frames.

    Programs that run in real time make the burst larger: see `LATE_NS` of the target's tc.
    """

    rate_bps: int
    burst_bytes: int


class GilbertElliott(Model):
    """Losses in bursts: a Markov chain of a good and a bad state, one step per packet.

    p: probability of going from good to bad; r: from bad to good; h, k: probability that a packet
    passes in the bad and in the good state (Elliott, Bell System Technical Journal 42, 1963).
    """

    p: float
    r: float
    h: float
    k: float


class Impairment(Model):
    """What a delay hop does to packets that leave through this interface (netem).

    delay_ns: one-way delay, ns. loss: probability that a packet is lost; independently of the
    others, or by the chain `bursts`, whose stationary loss it then is. limit_packets: netem's own
    queue, at least 2 x rate x delay. seed: of netem's one random stream, which losses, jitter,
    reordering and duplicates draw from; None where nothing is random.
    jitter_ns: the delay of each packet varies by it: `uniform` in delay_ns -+ jitter_ns, else
    jitter_ns times a number from netem's table of the distribution, negative delays being zero.
    in_order: a packet never overtakes another one; one with less delay waits for those before it.
    reorder: probability that a packet skips the delay, and overtakes what is under way.
    duplicate: probability that a packet is sent twice; the copy can be lost as well.
    """

    delay_ns: int
    loss: float
    bursts: GilbertElliott | None = None
    limit_packets: int
    seed: int | None
    jitter_ns: int = 0
    jitter_distribution: Literal["uniform", "normal", "pareto", "paretonormal"] = "uniform"
    in_order: bool = False
    reorder: float = 0.0
    duplicate: float = 0.0

    @property
    def random(self) -> bool:
        """Whether anything here is drawn at random."""
        return bool(self.loss or self.jitter_ns or self.reorder or self.duplicate)


class Change(Model):
    """What holds from a time on, at_ns after the cell's epoch: a shaper's rate, or an impairment.

    rate_bps: > 0; a link that stops has the rate at which one full frame takes the whole stop.
    impairment: all of it, with a seed of its own.
    """

    at_ns: int
    rate_bps: int | None = None
    impairment: Impairment | None = None


class Interface(Model):
    """One end of a link.

    name: Linux interface name, at most 15 characters.
    address: IPv4 address with prefix length, `10.0.0.1/30`.
    mtu: the largest IP packet, the same at both ends of a cable; left out where it is 1500.
    shaper, queue: on its egress; impairment: instead of them, on a delay hop.
    bottleneck: whether this egress is the slowest link of some flow's data path.
    changes: of shaper or impairment, in order of time; repeat_ns: they come again after that.
    Before the first one, the shaper's rate and the impairment hold.
    source: `file:line` of the statement that it comes from.
    """

    name: str
    address: str
    mtu: Mtu = MTU
    shaper: Shaper | None = None
    queue: Queue | None = None
    impairment: Impairment | None = None
    bottleneck: bool = False
    changes: tuple[Change, ...] = ()
    repeat_ns: int | None = None
    source: str

    @property
    def frame_bytes(self) -> int:
        """A full packet in its Ethernet frame, without preamble, bytes."""
        return frame_bytes(self.mtu)


def _absent(value: object) -> bool:
    return value is None


class Route(Model):
    """A static route: `destination` is an IPv4 prefix, `via` the next hop's address.

    mtu: the largest IP packet that gets there, where it is smaller than what the next cable takes;
    else left out.
    """

    destination: str
    via: str
    mtu: Annotated[int | None, Field(exclude_if=_absent)] = None


class Node(Model):
    """An emulated host, a router, or a delay hop that the compiler put into a link."""

    name: str
    kind: Literal["host", "router", "hop"]
    interfaces: tuple[Interface, ...]
    routes: tuple[Route, ...]


class Cable(Model):
    """A pair of interfaces (node name, interface name) that are connected."""

    a: tuple[str, str]
    b: tuple[str, str]


class FileWorkload(Model):
    """Each connection moves exactly `bytes` and ends."""

    kind: Literal["file"] = "file"
    bytes: int


class BulkWorkload(Model):
    """Each connection sends until it is stopped."""

    kind: Literal["bulk"] = "bulk"


class Distribution(Model):
    """A random number, seconds or bytes, drawn by the endpoints as compiler/draws.py draws.

    kind: `constant` (value), `uniform` (low, high), `exponential` (mean), `pareto` and `gamma`
    (mean, shape), `normal` (mean, deviation; cut at zero).
    """

    kind: Literal["constant", "uniform", "exponential", "pareto", "gamma", "normal"]
    parameters: dict[str, float]

    @property
    def mean(self) -> float:
        """The mean; of a normal distribution that before it is cut."""
        given = self.parameters
        if self.kind == "uniform":
            return (given["low"] + given["high"]) / 2
        return given["value" if self.kind == "constant" else "mean"]


class VideoWorkload(Model):
    """A progressive download and its player.

    burst_ns of playing time are sent at full speed, then a chunk at a time at `factor` times the
    bit rate. The player starts with play_ns buffered, and stalls below stall_ns.
    """

    kind: Literal["video"] = "video"
    bitrate_bps: int
    length_ns: int
    burst_ns: int
    chunk_bytes: int
    factor: float
    play_ns: int
    stall_ns: int
    send_buffer_bytes: int


class RequestsWorkload(Model):
    """Answers of `size` (bytes), asked for every so often (s), the first at the start.

    seed: of both streams of random numbers; each connection has its own pair.
    """

    kind: Literal["requests"] = "requests"
    size: Distribution
    every: Distribution
    seed: int


class OnOffWorkload(Model):
    """A rate (bit/s of IP) while `on` (s), nothing while `off` (s); begins with `on`.

    packet_bytes: IP bytes of a datagram over UDP.
    """

    kind: Literal["onoff"] = "onoff"
    rate_bps: int
    on: Distribution
    off: Distribution
    packet_bytes: int
    seed: int


class PageObject(Model):
    """An object of a web page; the first one is the document.

    path: where the server offers it, `/` for the document. type: its MIME type. parent: the
    position of the object that refers to it, smaller than its own; None for the document.
    """

    path: str
    bytes: int
    type: str
    parent: int | None


class LoadWorkload(Model):
    """A page, loaded several times one after the other by one client with one profile.

    client: `chromium`, or `plain`: a client without a browser. protocols: the HTTP version of each
    load. idle_ns: the pause before each load (before the first one, none), counted from the end of
    the load before it. timeout_ns: a load that takes longer has failed.
    quic_parameters: all of those that the CCA has over QUIC; empty where no load is over HTTP/3.
    """

    kind: Literal["load"] = "load"
    page: tuple[PageObject, ...]
    client: Literal["chromium", "plain"]
    protocols: tuple[Literal["h1", "h2", "h3"], ...]
    idle_ns: tuple[int, ...]
    timeout_ns: int
    quic_parameters: dict[str, int | float | bool] = {}


Workload = Annotated[
    FileWorkload | BulkWorkload | VideoWorkload | RequestsWorkload | OnOffWorkload | LoadWorkload,
    Field(discriminator="kind"),
]
"""What each connection moves, told apart by `kind`."""


class TransportOptions(Model):
    """Options of a transport, defaults written out.

    initial_window_packets: first congestion window. receive_window_bytes: the largest window that
    the receiver offers; None: as its buffer allows. pacing: for TCP, inside TCP.
    """

    initial_window_packets: int = 10
    receive_window_bytes: int | None = None
    ecn: bool = False
    sack: bool = True
    pacing: bool = False
    fast_open: bool = False


class Flow(Model):
    """A flow: one session of `connections` parallel connections.

    starts_ns: of each connection. starts_ns, stop_ns: after the cell's epoch.
    base_rtt_ns: propagation both ways, no queueing.
    bottleneck: (node, interface) of its data path's slowest egress.
    mtu: the smallest one on the way of its data and back; left out where it is 1500.
    buffer_bytes: send and receive buffer of each connection.
    declared: the name in the file, `name` unless it is one of several users' flows; users: their
    group. Neither is part of the cell's identity.
    cca: None over UDP, and where an image brings its own. cca_parameters: over TCP those that the file gives, named as under
    /sys/module/tcp_<cca>/parameters, for the whole kernel; over QUIC all of them.
    rate_bps: limit of the sending rate at the generator, bit/s of IP.
    send_buffer_bytes, receive_buffer_bytes: instead of buffer_bytes, where the file gives them.
    transport: `web`: HTTP over TCP, over QUIC, or over both, as the loads of a page ask for.
    qlog: whether a QUIC server writes one. cca_object: the BPF struct_ops
    object that registers the CCA, compressed (zlib), in base64.
    image: the container image of another QUIC stack, both server and client; left out where there
    is none.
    """

    name: str
    server: str
    client: str
    address: str
    port: int
    transport: Literal["tcp", "quic", "udp", "web"] = "tcp"
    cca: str | None
    connections: int
    workload: Workload
    starts_ns: tuple[int, ...]
    stop_ns: int | None
    base_rtt_ns: int
    bottleneck: tuple[str, str]
    mtu: Mtu = MTU
    buffer_bytes: int
    source: str
    declared: str = ""
    users: str | None = None
    client_address: str = ""
    cca_parameters: dict[str, int | float | bool] = {}
    options: TransportOptions = TransportOptions()
    rate_bps: int | None = None
    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    qlog: bool = False
    cca_object: str | None = None
    image: Annotated[str | None, Field(exclude_if=_absent)] = None

    @property
    def frame_bytes(self) -> int:
        """A full packet of this flow in its Ethernet frame, without preamble, bytes."""
        return frame_bytes(self.mtu)

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
    def start_ns(self) -> int:
        """When its first connection starts, ns after the cell's epoch."""
        return min(self.starts_ns)


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


class Capture(Model):
    """A packet capture of one direction of one interface (what it means: docs/architecture.md).

    point: `entry` (arriving at the bottleneck's router), `exit` (leaving the bottleneck queue),
    `delivered` (after the loss), `client` (arriving at the client of a page load; of an image of
    others, also leaving it).
    queue: the (node, interface) of the bottleneck it belongs to.
    """

    name: str
    node: str
    interface: str
    direction: Literal["in", "out"]
    point: Literal["entry", "exit", "delivered", "client"]
    queue: tuple[str, str]


class Cell(Model):
    """One configuration and one repetition: everything that an engine needs to run it.

    id: SHA-256 of the cell's JSON without white space, fields in the schema's order, without `id`,
    `bindings`, `captures`, every `source`, and `peps` where there are none; its first 16 hexadecimal digits.
    configuration: the same over the bindings, keys sorted; so repetitions share it.
    bindings: swept name -> canonical value. stop: when the cell ends by itself.
    duration_ns: a fixed length after the epoch, or None. deadline_ns: the latest end.
    """

    id: str
    experiment: str
    configuration: str
    bindings: dict[str, str]
    repetition: int
    seed: int
    nodes: tuple[Node, ...]
    cables: tuple[Cable, ...]
    flows: tuple[Flow, ...]
    captures: tuple[Capture, ...]
    peps: tuple[Pep, ...] = ()
    warmup_ns: int
    duration_ns: int | None
    deadline_ns: int
    stop: Literal["first", "all"]


class Axis(Model):
    """A swept name and its values in canonical text, in file order.

    numbers, unit: the values in an SI base unit (bytes for sizes) where all are quantities of one
    dimension, else empty.
    """

    name: str
    values: tuple[str, ...]
    numbers: tuple[float, ...] = ()
    unit: str = ""


class MetricRequest(Model):
    """An entry of `measure`: metric name, flows named by position, keyword options (SI units)."""

    name: str
    sessions: tuple[str, ...] = ()
    options: dict[str, float | str] = {}


class Selection(Model):
    """The cells for which a condition holds, without the condition: whoever reads it needs no syntax.

    text: the condition as written. names: the swept names (and `repetition`) that it depends on;
    rows: their values for which it holds, in canonical text.
    """

    text: str
    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class FigureRequest(Model):
    """An entry of `report`: kind of figure, the metric shown (`fairness.F`), its options.

    options: complete, defaults written out; quantities in SI base units. where: the cells that it
    shows, or None for all.
    """

    kind: str
    metric: str | None = None
    options: dict[str, str | float | tuple[str, ...]] = {}
    where: Selection | None = None


class Input(Model):
    """A file that the spec reads: its path from the spec's folder, its SHA-256."""

    path: str
    sha256: str


class Plan(Model):
    """The header: what was asked for, and how many cells there are.

    varied: in words, what differs between repetitions (measurement.md, rule 11).
    source: the text of the file itself, so that a run directory explains itself.
    excluded, unsampled: cells that `exclude` drops, and of the others those that `sample` does.
    """

    format: Literal["fairc-plan"] = "fairc-plan"
    version: Literal[1] = PLAN_VERSION
    experiment: str
    title: str
    citation: str
    file: str
    source: str
    source_sha256: str
    axes: tuple[Axis, ...]
    repeat: int
    seed: int
    configurations: int
    excluded: int
    unsampled: int = 0
    cells: int
    measure: tuple[MetricRequest, ...]
    figures: tuple[FigureRequest, ...]
    varied: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
