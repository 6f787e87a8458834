"""The plan: the contract between the compiler and everything that runs cells.

A plan is a header (`plan.json`, a `Plan`) and its cells as JSON Lines (`cells.jsonl`, one `Cell`
a line), so that 100,000 of them stream. Each cell is complete: whoever reads it needs neither the
language nor the header. Integers carry their unit in the name: ns, bit/s, bytes.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

PLAN_VERSION: Final = 1


class Model(BaseModel):
    """Base of every part of a plan: immutable, strictly typed, nothing unknown accepted."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class Queue(Model):
    """The queue of an interface; exactly one limit. Bytes are frame bytes waiting to be sent."""

    kind: Literal["fifo"]
    limit_bytes: int | None = None
    limit_packets: int | None = None


class Shaper(Model):
    """A token bucket in front of the wire: rate in bit/s of frames, burst under two frames."""

    rate_bps: int
    burst_bytes: int


class Impairment(Model):
    """What a delay hop does to packets that leave through this interface (netem).

    delay_ns: one-way delay, ns. loss: Bernoulli probability. limit_packets: netem's own queue,
    at least 2 x rate x delay. seed: of the loss stream; None where nothing is random.
    """

    delay_ns: int
    loss: float
    limit_packets: int
    seed: int | None


class Interface(Model):
    """One end of a link.

    name: Linux interface name, at most 15 characters.
    address: IPv4 address with prefix length, `10.0.0.1/30`.
    shaper, queue: on its egress; impairment: instead of them, on a delay hop.
    bottleneck: whether this egress is the slowest link of some flow's data path.
    source: `file:line` of the statement that it comes from.
    """

    name: str
    address: str
    shaper: Shaper | None = None
    queue: Queue | None = None
    impairment: Impairment | None = None
    bottleneck: bool = False
    source: str


class Route(Model):
    """A static route: `destination` is an IPv4 prefix, `via` the next hop's address."""

    destination: str
    via: str


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


class Flow(Model):
    """A flow: one session of `connections` parallel TCP connections.

    start_ns, stop_ns: after the cell's epoch. base_rtt_ns: propagation both ways, no queueing.
    bottleneck: (node, interface) of its data path's slowest egress.
    buffer_bytes: send and receive buffer of each connection.
    """

    name: str
    server: str
    client: str
    address: str
    port: int
    transport: Literal["tcp"] = "tcp"
    cca: str
    connections: int
    workload: FileWorkload | BulkWorkload
    start_ns: int
    stop_ns: int | None
    base_rtt_ns: int
    bottleneck: tuple[str, str]
    buffer_bytes: int
    source: str


class Capture(Model):
    """A packet capture of one direction of one interface (what it means: docs/architecture.md).

    point: `entry` (arriving at the bottleneck's router), `exit` (leaving the bottleneck queue),
    `delivered` (after the loss). queue: the (node, interface) of the bottleneck it belongs to.
    """

    name: str
    node: str
    interface: str
    direction: Literal["in", "out"]
    point: Literal["entry", "exit", "delivered"]
    queue: tuple[str, str]


class Cell(Model):
    """One configuration and one repetition: everything that an engine needs to run it.

    id: SHA-256 of the cell's JSON without white space, fields in the schema's order, without `id`,
    `bindings`, `captures` and every `source`; its first 16 hexadecimal digits.
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
    warmup_ns: int
    duration_ns: int | None
    deadline_ns: int
    stop: Literal["first", "all"]


class Axis(Model):
    """A swept name and its values in canonical text, in file order."""

    name: str
    values: tuple[str, ...]


class MetricRequest(Model):
    """An entry of `measure`: metric name, flows named by position, keyword options (SI units)."""

    name: str
    sessions: tuple[str, ...] = ()
    options: dict[str, float | str] = {}


class FigureRequest(Model):
    """An entry of `report`: kind of figure, the metric shown (`fairness.F`), its options."""

    kind: str
    metric: str | None = None
    options: dict[str, str | tuple[str, ...]] = {}


class Plan(Model):
    """The header: what was asked for, and how many cells there are.

    varied: in words, what differs between repetitions (measurement.md, rule 11).
    source: the text of the file itself, so that a run directory explains itself.
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
    cells: int
    measure: tuple[MetricRequest, ...]
    figures: tuple[FigureRequest, ...]
    varied: tuple[str, ...]
