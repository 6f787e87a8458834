"""The queue of an interface: a class for each discipline."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Model


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
