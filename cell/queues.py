"""Queue disciplines: their parameters, and what `tc` takes for each, every parameter written
out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from .batch import duration
from .numbers import Packets, Probability, QueueBytes, Range, Small, TimeNs
from .part import Part
from .text import ArgumentName, ArgumentWord, DisciplineName

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
    burst_packets: Small
    probability: Probability
    ecn: bool
    discipline = "gred"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        return (
            f"vq 0 limit {self.limit_bytes} min {self.min_bytes} max {self.max_bytes}"
            f" avpkt {self.average_packet_bytes} burst {self.burst_packets}"
            f" probability {self.probability:.10f} bandwidth {rate_bps}bit{' ecn' * self.ecn}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class InPackets(Part):
    """What is limited in packets."""

    limit_bytes: None = None
    limit_packets: Packets


@dataclass(frozen=True, slots=True, kw_only=True)
class CoDel(InPackets):
    """Controlled Delay: drops at the head while the delay exceeds the target."""

    kind: Literal["codel"] = "codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    ecn: bool
    discipline = "codel"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" interval {duration(self.interval_ns)} {_ecn(self.ecn)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FqCoDel(InPackets):
    """Fair queueing, CoDel in each of `flows` hashed queues."""

    kind: Literal["fq_codel"] = "fq_codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    flows: Small
    quantum_bytes: Small
    memory_bytes: QueueBytes
    drop_batch: Small
    ecn: bool
    discipline = "fq_codel"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} quantum {self.quantum_bytes}"
            f" target {duration(self.target_ns)} interval {duration(self.interval_ns)}"
            f" memory_limit {self.memory_bytes} drop_batch {self.drop_batch} {_ecn(self.ecn)}"
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
    """

    kind: Literal["fq"] = "fq"
    flow_limit_packets: Small
    quantum_bytes: Small
    initial_quantum_bytes: Small
    buckets: Small
    discipline = "fq"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flow_limit {self.flow_limit_packets}"
            f" quantum {self.quantum_bytes} initial_quantum {self.initial_quantum_bytes}"
            f" buckets {self.buckets} orphan_mask {self.buckets - 1} nopacing"
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
    rtt / 20 and interval rtt. One class of traffic, fair between flows.
    """

    kind: Literal["cake"] = "cake"
    rtt_ns: TimeNs
    memory_bytes: QueueBytes
    discipline = "cake"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            "unlimited besteffort flows nowash no-ack-filter no-split-gso raw overhead 0"
            f" rtt {duration(self.rtt_ns)} memlimit {self.memory_bytes}"
        )


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


Queue = Fifo | Red | CoDel | FqCoDel | Pie | FqPie | Fq | Sfq | Cake | DualPi2 | Qdisc


def queue_bytes(queue: Queue, frame_bytes: int) -> int:
    """Return how many bytes a queue holds at most, packets being full frames."""
    if queue.limit_bytes is not None:
        return queue.limit_bytes
    assert queue.limit_packets is not None
    return queue.limit_packets * frame_bytes


def queue_lines(interface: str, queue: Queue, rate_bps: int) -> list[str]:
    """Return the lines of tc that make the queue beneath a shaper; rate_bps: of the shaper."""
    at = f"dev {interface} parent 1:1 handle 2:"
    made = f"{at} {queue.discipline} {queue.words(rate_bps)}"
    if isinstance(queue, Red):
        return [f"qdisc add {at} gred setup vqs 1 default 0", f"qdisc change {made}"]
    return [f"qdisc add {made}"]


def _ecn(on: bool) -> str:
    return "ecn" if on else "noecn"
