"""The queues of a link, and what `tc` takes for each, every parameter written out."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import duration


@dataclass(frozen=True)
class Fifo:
    """First in, first out; what does not fit is dropped. It has one limit, of frame bytes or packets."""

    limit_bytes: int | None = None
    limit_packets: int | None = None

    @property
    def kind(self) -> str:
        """Return tc's name of it."""
        return "bfifo" if self.limit_bytes is not None else "pfifo"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        return f"limit {self.limit_packets if self.limit_bytes is None else self.limit_bytes}"


@dataclass(frozen=True)
class Red:
    """Random Early Detection, as Linux's `gred` with one queue: RED that notices when the link falls idle.

    Linux's `red` counts a link as idle from when it is asked for a packet and has none. Shapers look first
    (peek) and never ask, so beneath one the average stays as it was while nothing waits, and goes down by
    the packet alone: it went on to drop on an empty link for seconds. `gred` counts from the last packet.
    """

    limit_bytes: int
    min_bytes: int
    max_bytes: int
    average_packet_bytes: int
    burst_packets: int
    probability: float
    ecn: bool
    limit_packets: None = None
    kind = "gred"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        return (
            f"vq 0 limit {self.limit_bytes} min {self.min_bytes} max {self.max_bytes}"
            f" avpkt {self.average_packet_bytes} burst {self.burst_packets}"
            f" probability {self.probability:.10f} bandwidth {rate_bps}bit{' ecn' * self.ecn}"
        )


@dataclass(frozen=True)
class InPackets:
    """What is limited in packets."""

    limit_packets: int

    @property
    def limit_bytes(self) -> None:
        """It has no limit in bytes."""
        return


@dataclass(frozen=True)
class CoDel(InPackets):
    """Controlled Delay."""

    target_ns: int
    interval_ns: int
    ecn: bool
    kind = "codel"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" interval {duration(self.interval_ns)} {_ecn(self.ecn)}"
        )


@dataclass(frozen=True)
class FqCoDel(InPackets):
    """Fair queueing, CoDel in each queue."""

    target_ns: int
    interval_ns: int
    flows: int
    quantum_bytes: int
    memory_bytes: int
    drop_batch: int
    ecn: bool
    kind = "fq_codel"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} quantum {self.quantum_bytes}"
            f" target {duration(self.target_ns)} interval {duration(self.interval_ns)}"
            f" memory_limit {self.memory_bytes} drop_batch {self.drop_batch} {_ecn(self.ecn)}"
        )


@dataclass(frozen=True)
class Pie(InPackets):
    """Proportional Integral controller Enhanced; alpha, beta: in units of 1/16 Hz."""

    target_ns: int
    update_ns: int
    alpha: int
    beta: int
    ecn: bool
    kind = "pie"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha} beta {self.beta}"
            f" {_ecn(self.ecn)} nobytemode no_dq_rate_estimator"
        )


@dataclass(frozen=True)
class FqPie(InPackets):
    """Fair queueing, PIE in each queue; ecn_percent: drop probability up to which packets are marked."""

    target_ns: int
    update_ns: int
    alpha: int
    beta: int
    flows: int
    quantum_bytes: int
    memory_bytes: int
    ecn_percent: int
    ecn: bool
    kind = "fq_pie"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha} beta {self.beta}"
            f" quantum {self.quantum_bytes} memory_limit {self.memory_bytes}"
            f" ecn_prob {self.ecn_percent} {_ecn(self.ecn)} nobytemode no_dq_rate_estimator"
        )


@dataclass(frozen=True)
class Fq(InPackets):
    """Fair queueing with one queue per flow."""

    flow_limit_packets: int
    quantum_bytes: int
    initial_quantum_bytes: int
    buckets: int
    kind = "fq"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flow_limit {self.flow_limit_packets}"
            f" quantum {self.quantum_bytes} initial_quantum {self.initial_quantum_bytes}"
            f" buckets {self.buckets} orphan_mask {self.buckets - 1} nopacing"
        )


@dataclass(frozen=True)
class Sfq(InPackets):
    """Stochastic fair queueing."""

    flows: int
    divisor: int
    depth_packets: int
    quantum_bytes: int
    perturb_s: int
    kind = "sfq"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} divisor {self.divisor}"
            f" depth {self.depth_packets} quantum {self.quantum_bytes} perturb {self.perturb_s}"
        )


@dataclass(frozen=True)
class Cake(InPackets):
    """Common Applications Kept Enhanced, its own shaper off; memory_bytes is its limit."""

    rtt_ns: int
    memory_bytes: int
    kind = "cake"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            "unlimited besteffort flows nowash no-ack-filter no-split-gso raw overhead 0"
            f" rtt {duration(self.rtt_ns)} memlimit {self.memory_bytes}"
        )


@dataclass(frozen=True)
class DualPi2(InPackets):
    """Coupled queues for L4S and classic packets (RFC 9332); alpha, beta: in units of 1/256 Hz.

    step_ns, step_packets: one of them: from where on every L4S packet is marked. l4s: `ect1`, or `any`.
    """

    target_ns: int
    update_ns: int
    alpha: int
    beta: int
    coupling: int
    protection_percent: int
    l4s: str
    drop: str
    overload: str
    memory_bytes: int
    step_ns: int | None = None
    step_packets: int | None = None
    kind = "dualpi2"

    def words(self, rate_bps: int) -> str:
        """Return the arguments as `tc` of an iproute2 that has it takes them; gains in Hz."""
        step = f"{self.step_packets}p" if self.step_ns is None else duration(self.step_ns)
        return (
            f"limit {self.limit_packets} memlimit {self.memory_bytes} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha / 256:.6f} beta {self.beta / 256:.6f}"
            f" step_thresh {step} min_qlen_step 0 coupling_factor {self.coupling}"
            f" {_OVERLOAD[self.overload]} drop_{self.drop} classic_protection {self.protection_percent}"
            f" {_L4S[self.l4s]} no_split_gso"
        )


_OVERLOAD = {"drop": "drop_on_overload", "overflow": "overflow"}
_L4S = {"ect1": "l4s_ect", "any": "any_ect"}


@dataclass(frozen=True)
class Qdisc:
    """A discipline that has no class here: its name and its arguments, as tc takes them."""

    discipline: str
    arguments: tuple[tuple[str, int | str | None], ...] = ()
    limit_bytes: int | None = None
    limit_packets: int | None = None

    @property
    def kind(self) -> str:
        """Return tc's name of it."""
        return self.discipline

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
    made = f"{at} {queue.kind} {queue.words(rate_bps)}"
    if isinstance(queue, Red):
        return [f"qdisc add {at} gred setup vqs 1 default 0", f"qdisc change {made}"]
    return [f"qdisc add {made}"]


def _ecn(on: bool) -> str:
    return "ecn" if on else "noecn"
