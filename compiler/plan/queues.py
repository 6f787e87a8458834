"""The queue of an interface: a class for each discipline."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from .base import Model
from .numbers import Packets, Probability, QueueBytes, Small, TimeNs
from .text import ArgumentName, ArgumentWord, DisciplineName


class InPackets(Model):
    """What is limited in packets."""

    limit_bytes: None = None
    limit_packets: Packets


class Fifo(Model):
    """First in, first out, drop-tail (tc: bfifo or pfifo).

    It has one limit; bytes are bytes of waiting frames.
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["fifo"] = "fifo"

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.limit_bytes is None) == (self.limit_packets is None):
            raise ValueError("a queue has one limit: limit_bytes or limit_packets")
        return self


class Red(Model):
    """Random Early Detection over the average queue (limit in bytes).

    min_bytes, max_bytes: the average at which dropping begins, and at which its probability reaches `probability`; above
    max_bytes every packet is dropped (or marked). average_packet_bytes, burst_packets: tc derives the
    weight of the average from them. ecn: mark ECN-capable packets.
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


class CoDel(InPackets):
    """Controlled Delay (limit in packets): drops at the head while the delay exceeds the target."""

    kind: Literal["codel"] = "codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    ecn: bool


class FqCoDel(InPackets):
    """Fair queueing, CoDel in each of `flows` hashed queues (limit in packets)."""

    kind: Literal["fq_codel"] = "fq_codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    flows: Small
    quantum_bytes: Small
    memory_bytes: QueueBytes
    drop_batch: Small
    ecn: bool


class Pie(InPackets):
    """Proportional Integral controller Enhanced (limit in packets).

    alpha, beta: as tc takes them, in units of 1/16 Hz.
    """

    kind: Literal["pie"] = "pie"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    ecn: bool


class FqPie(InPackets):
    """Fair queueing, PIE in each of `flows` hashed queues (limit in packets).

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
    ecn_percent: Annotated[int, Field(ge=0, le=100)]
    ecn: bool


class Fq(InPackets):
    """Fair queueing with one queue per flow (limit in packets).

    Forwarded packets have no socket and no departure time, so its pacing does not act on them.
    """

    kind: Literal["fq"] = "fq"
    flow_limit_packets: Small
    quantum_bytes: Small
    initial_quantum_bytes: Small
    buckets: Small


class Sfq(InPackets):
    """Stochastic fair queueing (limit in packets); `depth_packets` of one flow at most."""

    kind: Literal["sfq"] = "sfq"
    flows: Small
    divisor: Small
    depth_packets: Small
    quantum_bytes: Small
    perturb_s: Small


class Cake(InPackets):
    """Common Applications Kept Enhanced, its own shaper off (limit in full frames).

    memory_bytes: that many frames as the kernel accounts for them; rtt_ns: sets its CoDel, target
    rtt / 20 and interval rtt. One class of traffic, fair between flows.
    """

    kind: Literal["cake"] = "cake"
    rtt_ns: TimeNs
    memory_bytes: QueueBytes


class DualPi2(InPackets):
    """Coupled queues for L4S and classic packets (RFC 9332); the limit, in packets, is of both.

    alpha, beta: gains as the kernel takes them, in units of 1/256 Hz. step_ns, step_packets: one of them is
    set: the delay, or number of packets, from which on every L4S packet is marked. protection_percent: smallest share
    of the link for classic packets. l4s: packets with ECT(1) or CE, or `any` ECN-capable packet. drop:
    where packets are dropped and marked. overload: whether L4S packets are dropped where all of them
    are marked.
    """

    kind: Literal["dualpi2"] = "dualpi2"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    coupling: Annotated[int, Field(ge=1, le=255)]
    step_ns: TimeNs | None = None
    step_packets: Packets | None = None
    protection_percent: Annotated[int, Field(ge=0, le=100)]
    l4s: Literal["ect1", "any"]
    drop: Literal["dequeue", "enqueue"]
    overload: Literal["drop", "overflow"]
    memory_bytes: QueueBytes

    @model_validator(mode="after")
    def _has_one_step(self) -> Self:
        if (self.step_ns is None) == (self.step_packets is None):
            raise ValueError("dualpi2 has one step: step_ns or step_packets")
        return self


class Qdisc(Model):
    """A discipline without a class here: one from another package, or one that only needs arguments of tc.

    discipline: its name in tc and the kernel. It has one limit, the most that it holds. arguments: those of tc,
    the limit included: a name, and its number or word (None: the name alone).
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["qdisc"] = "qdisc"
    discipline: DisciplineName
    arguments: Annotated[
        tuple[tuple[ArgumentName, Small | ArgumentWord | None], ...], Field(max_length=40)
    ] = ()
    ecn: bool = False

    @model_validator(mode="after")
    def _has_one_limit(self) -> Self:
        if (self.limit_bytes is None) == (self.limit_packets is None):
            raise ValueError("a queue has one limit: limit_bytes or limit_packets")
        return self


Queue = Annotated[
    Fifo | Red | CoDel | FqCoDel | Pie | FqPie | Fq | Sfq | Cake | DualPi2 | Qdisc,
    Field(discriminator="kind"),
]
"""The queue of an interface, distinguished by `kind`."""
