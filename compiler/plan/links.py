"""What a link does to packets: its rate, its delay, its losses, and how they change over time."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Model, absent, off
from .numbers import Buffer, Packets, Probability, Rate, Seed, TimeNs


class Shaper(Model):
    """The rate of a link, bit/s of frames, at the interface that has its queue.

    transmitter: what keeps each frame for its length / rate, one after the other: the `hop` behind the queue, a
    netem `below` the interface, or `here` a netem that takes the place of shaper and queue (and drops nothing, or the
    cell is invalid). None: a token bucket of one frame, behind which frames take no time (`transmit = bucket`).
    burst_bytes: in plans of versions whose links were all such buckets; left out in others.
    """

    rate_bps: Rate
    transmitter: Annotated[Literal["hop", "below", "here"] | None, Field(exclude_if=absent)] = None
    burst_bytes: Annotated[Buffer | None, Field(exclude_if=absent)] = None


class GilbertElliott(Model):
    """Losses in bursts: a Markov chain of a good and a bad state, one step per packet.

    p: probability of going from good to bad; r: from bad to good; h, k: probability that a packet
    passes in the bad and in the good state (Elliott, Bell System Technical Journal 42, 1963).
    """

    p: Probability
    r: Probability
    h: Probability
    k: Probability


class Impairment(Model):
    """What a delay hop does to packets that leave through this interface (netem).

    delay_ns: one-way delay, ns. loss: probability that a packet is lost; independently of other
    packets, or the stationary loss of the chain `bursts`. limit_packets: netem's own
    queue, at least 2 x rate x delay. seed: of netem's only random stream, which losses, jitter,
    reordering and duplicates draw from; None where nothing is random.
    jitter_ns: the delay of each packet varies by it: `uniform` in delay_ns -+ jitter_ns, else
    jitter_ns times a number from netem's table of the distribution; negative delays become zero.
    in_order: a packet never overtakes another one; one with less delay waits for those before it.
    reorder: probability that a packet skips the delay and overtakes packets in flight.
    duplicate: probability that a packet is sent twice; the copy can also be lost.
    rate_bps: of the link whose frames the hop transmits, one after the other, before their delay; left out where
    that is done elsewhere.
    """

    delay_ns: TimeNs
    loss: Probability
    bursts: GilbertElliott | None = None
    limit_packets: Packets
    seed: Seed | None
    jitter_ns: TimeNs = 0
    jitter_distribution: Literal["uniform", "normal", "pareto", "paretonormal"] = "uniform"
    in_order: bool = False
    reorder: Probability = 0.0
    duplicate: Probability = 0.0
    rate_bps: Annotated[Rate | None, Field(exclude_if=absent)] = None

    @property
    def random(self) -> bool:
        """Whether anything here is drawn at random."""
        return bool(self.loss or self.jitter_ns or self.reorder or self.duplicate)


class Change(Model):
    """A change at at_ns after the cell's epoch, to a shaper's rate or to an impairment.

    rate_bps: > 0; a link that stops has the rate at which one full frame takes the whole stop.
    is_rest: whether it is a later part of a stop, so that a frame that begins now ends with the stop; the link carries
    no more for that. Left out where it is not.
    impairment: all of its fields, with its own seed.
    """

    at_ns: TimeNs
    rate_bps: Rate | None = None
    is_rest: Annotated[bool, Field(exclude_if=off)] = False
    impairment: Impairment | None = None
