"""Links: rate, delay and losses of each direction, and how they change over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.frames import ETHERNET_BYTES, MTU
from fairc.cell.links import GilbertElliott
from fairc.dsl.core.source import Span

from .queues import Queue
from .requests import Input

JitterDistribution = Literal["uniform", "normal", "pareto", "paretonormal"]
Transmit = Literal["frames", "bucket"]
Harshness = Literal["soft", "mild", "strict"]
Feedback = Literal["none", "classic", "accurate"]
Charge = Literal["forwarded", "arrived"]


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
    """New values of a link from `at_ns` on, ns after the start of the cell; None: unchanged.

    rate_bps: 0: packets wait.
    is_up: whether packets get across; if not, they are lost.
    """

    at_ns: int
    rate_bps: int | None = None
    delay_ns: int | None = None
    loss: float | None = None
    bursts: GilbertElliott | None = None
    is_up: bool | None = None


@dataclass(frozen=True, slots=True)
class Trace:
    """A rate over time: how often each bin offers a chance to send one packet of 1500 bytes.

    Bins follow each other from the start of the cell, and repeat after period_ns. The last one
    ends with the period, and may be shorter.
    """

    file: Input
    period_ns: int
    every_ns: int
    chances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Policer:
    """Congestion policing of one direction of a link (docs/learn/links.md).

    rate: fill rate of each user's bucket, packets/s, > 0.
    depth: packets, >= 1.
    harshness: how much an empty bucket drops.
    feedback: which ECN marks senders re-expose.
    charge: when a re-echo takes its token.
    """

    name: str
    rate: float
    depth: float
    harshness: Harshness
    feedback: Feedback
    charge: Charge
    span: Span


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link. A packet meets its queue and rate, then loss, then delay.

    rate_bps: bit/s on the wire, > 0, or None for a link that is not shaped.
    delay_ns: one-way delay, ns, >= 0.
    loss: loss probability, 0 <= loss < 1: independent for each packet (Bernoulli), or the
    stationary one of `bursts`.
    reorder: probability that a packet skips the delay.
    duplicate: probability that it arrives twice.
    changes: in chronological order.
    trace: what the rate follows; rate_bps is then its mean.
    mtu: the largest IP packet, bytes; the same both ways.
    policer: in front of the queue.
    transmit: `frames`: each frame takes its length / rate; `bucket`: a token bucket of one frame
    lets them pass, and they take no time.
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
    policer: Policer | None = None
    transmit: Transmit = "frames"

    @property
    def frame_bytes(self) -> int:
        """A full packet in its Ethernet frame, without preamble and checksum, bytes."""
        return self.mtu + ETHERNET_BYTES
