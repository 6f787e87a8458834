"""Queue disciplines: their parameters, and what `tc` takes for each, every parameter written
out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Annotated, Literal

from .batch import duration
from .numbers import CodePoint, Packets, Probability, QueueBytes, Range, Small, TimeNs
from .part import BY_KIND, UNLESS_ABSENT, Part, unless
from .text import ArgumentName, ArgumentWord, DisciplineName

STEP = "instant"
"""Of a line about `gred`: the average is the queue as it is. `tc` gives the present half of the
weight at most.
"""

Tins = Literal["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"]
Isolation = Literal[
    "none",
    "flows",
    "sources",
    "destinations",
    "hosts",
    "dual_sources",
    "dual_destinations",
    "triple",
]
AckFilter = Literal["off", "on", "aggressive"]

Percent = Annotated[int, Range(0, 100)]


def _check_one_limit(limit_bytes: int | None, limit_packets: int | None) -> None:
    """Raise ValueError unless one of them is set."""
    if (limit_bytes is None) == (limit_packets is None):
        raise ValueError("a queue has one limit: limit_bytes or limit_packets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fifo(Part):
    """First in, first out, drop-tail.

    It has one limit, of bytes of waiting frames or of packets.
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["fifo"] = "fifo"

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one limit."""
        _check_one_limit(self.limit_bytes, self.limit_packets)

    @property
    def discipline(self) -> str:
        """tc's name of it."""
        return "bfifo" if self.limit_bytes is not None else "pfifo"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        return f"limit {self.limit_packets if self.limit_bytes is None else self.limit_bytes}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Red(Part):
    """Random Early Detection over the average queue, as Linux's `gred` with one queue.

    min_bytes, max_bytes: the average at which dropping begins, and at which its probability reaches
    `probability`; above max_bytes every packet is dropped (or marked). average_packet_bytes,
    burst_packets: tc derives the weight of the average from them. ecn: mark ECN-capable packets.

    Where min_bytes and max_bytes are equal it is a step: a packet that finds them waiting is
    dropped (or marked), whatever was before. There is no average then, and no burst.

    `gred` is RED that notices when the link falls idle. Linux's `red` counts a link as idle from
    when it is asked for a packet and has none. Shapers look first (peek) and never ask, so beneath
    one the average stays as it was while nothing waits, and goes down by the packet alone: it went
    on to drop on an empty link for seconds. `gred` counts from the last packet.
    """

    limit_bytes: QueueBytes
    limit_packets: None = None
    kind: Literal["red"] = "red"
    min_bytes: QueueBytes
    max_bytes: QueueBytes
    average_packet_bytes: Small
    burst_packets: Small | None = field(default=None, metadata=UNLESS_ABSENT)
    probability: Probability
    ecn: bool
    discipline = "gred"

    def __post_init__(self) -> None:
        """Raise ValueError for a step with an average, or for an average without a burst."""
        if (self.burst_packets is None) != (self.min_bytes == self.max_bytes):
            raise ValueError("red has a burst unless min_bytes and max_bytes are equal")

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        average = STEP if self.burst_packets is None else f"burst {self.burst_packets}"
        return (
            f"vq 0 limit {self.limit_bytes} min {self.min_bytes} max {self.max_bytes}"
            f" avpkt {self.average_packet_bytes} {average}"
            f" probability {self.probability:.10f} bandwidth {rate_bps}bit{' ecn' * self.ecn}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InPackets(Part):
    """What is limited in packets."""

    limit_bytes: None = None
    limit_packets: Packets


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDel(InPackets):
    """Controlled Delay: drops at the head while the delay exceeds the target.

    ce_threshold_ns: every ECN-capable packet that waited longer is marked.
    """

    kind: Literal["codel"] = "codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    ecn: bool
    ce_threshold_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)
    discipline = "codel"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" interval {duration(self.interval_ns)} {_ecn(self.ecn)}"
            f"{_ce_threshold(self.ce_threshold_ns)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FqCoDel(InPackets):
    """Fair queueing, CoDel in each of `flows` hashed queues; ce_threshold_ns: as of CoDel."""

    kind: Literal["fq_codel"] = "fq_codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    flows: Small
    quantum_bytes: Small
    memory_bytes: QueueBytes
    drop_batch: Small
    ecn: bool
    ce_threshold_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)
    discipline = "fq_codel"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} quantum {self.quantum_bytes}"
            f" target {duration(self.target_ns)} interval {duration(self.interval_ns)}"
            f" memory_limit {self.memory_bytes} drop_batch {self.drop_batch} {_ecn(self.ecn)}"
            f"{_ce_threshold(self.ce_threshold_ns)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pie(InPackets):
    """Proportional Integral controller Enhanced; alpha, beta: in units of 1/16 Hz."""

    kind: Literal["pie"] = "pie"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    ecn: bool
    discipline = "pie"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha} beta {self.beta}"
            f" {_ecn(self.ecn)} nobytemode no_dq_rate_estimator"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FqPie(InPackets):
    """Fair queueing, PIE in each of `flows` hashed queues.

    ecn_percent: packets are marked, not dropped, up to this drop probability.
    """

    kind: Literal["fq_pie"] = "fq_pie"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    flows: Small
    quantum_bytes: Small
    memory_bytes: QueueBytes
    ecn_percent: Percent
    ecn: bool
    discipline = "fq_pie"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha} beta {self.beta}"
            f" quantum {self.quantum_bytes} memory_limit {self.memory_bytes}"
            f" ecn_prob {self.ecn_percent} {_ecn(self.ecn)} nobytemode no_dq_rate_estimator"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fq(InPackets):
    """Fair queueing with one queue per flow.

    Forwarded packets have no socket and no departure time, so its pacing does not act on them.
    flows: how many queues flows are hashed to, a power of two. ce_threshold_ns: as of CoDel.
    """

    kind: Literal["fq"] = "fq"
    flow_limit_packets: Small
    quantum_bytes: Small
    initial_quantum_bytes: Small
    buckets: Small
    flows: Annotated[int, Range(1, 1024)] = field(default=1024, metadata=unless(1024))
    ce_threshold_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)
    discipline = "fq"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flow_limit {self.flow_limit_packets}"
            f" quantum {self.quantum_bytes} initial_quantum {self.initial_quantum_bytes}"
            f" buckets {self.buckets} orphan_mask {self.flows - 1} nopacing"
            f"{_ce_threshold(self.ce_threshold_ns)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sfq(InPackets):
    """Stochastic fair queueing; `depth_packets` of one flow at most."""

    kind: Literal["sfq"] = "sfq"
    flows: Small
    divisor: Small
    depth_packets: Small
    quantum_bytes: Small
    perturb_s: Small
    discipline = "sfq"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} divisor {self.divisor}"
            f" depth {self.depth_packets} quantum {self.quantum_bytes} perturb {self.perturb_s}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cake(InPackets):
    """Common Applications Kept Enhanced, its own shaper off (limit in full frames).

    memory_bytes: that many frames as the kernel accounts for them; rtt_ns: sets its CoDel, target
    rtt / 20 and interval rtt. diffserv: its classes of traffic (tins), by DSCP. isolate: what it is
    fair between. ack_filter: whether an ACK that waits gives way to a later one of its connection.
    """

    kind: Literal["cake"] = "cake"
    rtt_ns: TimeNs
    memory_bytes: QueueBytes
    diffserv: Tins = field(default="besteffort", metadata=unless("besteffort"))
    isolate: Isolation = field(default="flows", metadata=unless("flows"))
    ack_filter: AckFilter = field(default="off", metadata=unless("off"))
    discipline = "cake"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"unlimited {self.diffserv} {_ISOLATIONS[self.isolate]} nowash"
            f" {_ACK_FILTERS[self.ack_filter]} no-split-gso raw overhead 0"
            f" rtt {duration(self.rtt_ns)} memlimit {self.memory_bytes}"
        )


_ISOLATIONS: dict[str, str] = {
    "none": "flowblind",
    "flows": "flows",
    "sources": "srchost",
    "destinations": "dsthost",
    "hosts": "hosts",
    "dual_sources": "dual-srchost",
    "dual_destinations": "dual-dsthost",
    "triple": "triple-isolate",
}
_ACK_FILTERS = {
    "off": "no-ack-filter",
    "on": "ack-filter",
    "aggressive": "ack-filter-aggressive",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DualPi2(InPackets):
    """Coupled queues for L4S and classic packets (RFC 9332); the limit, in packets, is of both.

    alpha, beta: gains as the kernel takes them, in units of 1/256 Hz. step_ns, step_packets: one of
    them is
    set: the delay, or number of packets, from which on every L4S packet is marked.
    protection_percent: smallest share of the link for classic packets. l4s: packets with ECT(1) or
    CE, or `any` ECN-capable packet. drop: where packets are dropped and marked. overload: whether
    L4S packets are dropped where all of them are marked.
    """

    kind: Literal["dualpi2"] = "dualpi2"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    coupling: Annotated[int, Range(1, 255)]
    step_ns: TimeNs | None = None
    step_packets: Packets | None = None
    protection_percent: Percent
    l4s: Literal["ect1", "any"]
    drop: Literal["dequeue", "enqueue"]
    overload: Literal["drop", "overflow"]
    memory_bytes: QueueBytes
    discipline = "dualpi2"

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one step."""
        if (self.step_ns is None) == (self.step_packets is None):
            raise ValueError("dualpi2 has one step: step_ns or step_packets")

    def words(self, rate_bps: int) -> str:
        """Return the arguments as `tc` of an iproute2 that has it takes them; gains in Hz."""
        step = f"{self.step_packets}p" if self.step_ns is None else duration(self.step_ns)
        return (
            f"limit {self.limit_packets} memlimit {self.memory_bytes} target"
            f" {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha / 256:.6f} beta"
            f" {self.beta / 256:.6f}"
            f" step_thresh {step} min_qlen_step 0 coupling_factor {self.coupling}"
            f" {_OVERLOAD[self.overload]} drop_{self.drop} classic_protection"
            f" {self.protection_percent}"
            f" {_L4S[self.l4s]} no_split_gso"
        )


_OVERLOAD = {"drop": "drop_on_overload", "overflow": "overflow"}
_L4S = {"ect1": "l4s_ect", "any": "any_ect"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Qdisc(Part):
    """A discipline without a class here: one from another package, or one that only needs arguments
    of tc.

    discipline: its name in tc and the kernel. It has one limit, the most that it holds. arguments:
    those of tc, the limit included: a name, and its number or word (None: the name alone).
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["qdisc"] = "qdisc"
    discipline: DisciplineName
    arguments: Annotated[
        tuple[tuple[ArgumentName, Small | ArgumentWord | None], ...], Range(0, 40)
    ] = ()
    ecn: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one limit."""
        _check_one_limit(self.limit_bytes, self.limit_packets)

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return " ".join(str(part) for pair in self.arguments for part in pair if part is not None)


BandQueue = Fifo | Red | CoDel | FqCoDel | Pie | FqPie | Fq | Sfq
"""What a band of `prio` can be: what keeps the order of each flow, and does not look at classes."""

MOST_BANDS = 16
"""`TCQ_PRIO_BANDS`, the most that Linux has; it has two at least."""

_OTHERS = 16
"""How many priorities the kernel knows for packets that no filter takes."""

_DSCP_MASK = 0xFC


@dataclass(frozen=True, slots=True, kw_only=True)
class Band(Part):
    """A band of `prio`: the queue of packets with a code point."""

    code_point: CodePoint
    queue: BandQueue = field(metadata=BY_KIND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prio(Part):
    """Strict priority: the first band that holds a packet sends.

    A packet of a code point without a band waits in that of code point 0 (RFC 2474, section 3).
    limit_bytes, limit_packets: one of them, what all bands hold together.
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["prio"] = "prio"
    bands: Annotated[tuple[Band, ...], Range(2, MOST_BANDS)]
    discipline = "prio"

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one limit, and a band for each code point and for 0."""
        _check_one_limit(self.limit_bytes, self.limit_packets)
        points = [band.code_point for band in self.bands]
        if 0 not in points or len(set(points)) < len(points):
            raise ValueError("prio has a band of code point 0, and one band for each")

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        others = [band.code_point for band in self.bands].index(0)
        return f"bands {len(self.bands)} priomap {' '.join([str(others)] * _OTHERS)}"


Queue = BandQueue | Cake | DualPi2 | Qdisc | Prio


def queue_bytes(queue: Queue, frame_bytes: int) -> int:
    """Return how many bytes a queue holds at most, packets being full frames."""
    if queue.limit_bytes is not None:
        return queue.limit_bytes
    assert queue.limit_packets is not None
    return queue.limit_packets * frame_bytes


def queue_lines(interface: str, queue: Queue, rate_bps: int) -> list[str]:
    """Return the lines of tc that make the queue beneath a shaper; rate_bps: of the shaper."""
    return _lines(f"dev {interface}", "parent 1:1 handle 2:", queue, rate_bps)


def _lines(device: str, place: str, queue: Queue, rate_bps: int) -> list[str]:
    at = f"{device} {place}"
    made = f"{at} {queue.discipline} {queue.words(rate_bps)}"
    if isinstance(queue, Red):
        return [f"qdisc add {at} gred setup vqs 1 default 0", f"qdisc change {made}"]
    lines = [f"qdisc add {made}"]
    for number, band in enumerate(queue.bands if isinstance(queue, Prio) else (), start=1):
        below = f"parent 2:{number:x} handle {2 + number:x}:"
        lines += _lines(device, below, band.queue, rate_bps)
        if band.code_point:
            lines.append(
                f"filter add {device} parent 2: protocol ip prio 1 {_sorting(band)}"
                f" classid 2:{number:x}"
            )
    return lines


def _sorting(band: Band) -> str:
    """Return the words of tc for the packets of a band."""
    return f"flower ip_tos {band.code_point << 2:#x}/{_DSCP_MASK:#x}"


def filters(queue: Queue) -> set[str]:
    """Return the filters of tc that sort packets into the bands of a queue."""
    bands = queue.bands if isinstance(queue, Prio) else ()
    return {f"{_sorting(band)} classid 2:1" for band in bands if band.code_point}


def disciplines(queue: Queue) -> set[str]:
    """Return what tc calls a queue, and the queues of its bands."""
    bands = queue.bands if isinstance(queue, Prio) else ()
    return {queue.discipline, *(band.queue.discipline for band in bands)}


def together(queues: Collection[Queue], frame_bytes: int) -> Fifo:
    """Return what queues hold together: packets if all of them count these, else bytes."""
    packets = [each.limit_packets for each in queues if each.limit_packets is not None]
    if len(packets) == len(queues):
        return Fifo(limit_packets=sum(packets))
    return Fifo(limit_bytes=sum(queue_bytes(each, frame_bytes) for each in queues))


def _ce_threshold(delay_ns: int | None) -> str:
    return "" if delay_ns is None else f" ce_threshold {duration(delay_ns)}"


def _ecn(on: bool) -> str:
    return "ecn" if on else "noecn"
