"""Where the frames of a link are transmitted: each takes its length / rate, and the next one begins
no earlier.

A shaper lets a frame begin when the one ahead of it has ended; a netem with a `rate` behind it
keeps the frame until its last bit has been sent. The netem of a hop does both this and the delay,
as long as nothing in it varies: with a rate it keeps packets in order, it would transmit copies
again, and each change would restart its random stream. Elsewhere the transmitter is a netem of its
own below the interface that has the queue (cell/batch.py: `lower`).

A router's queue that only counts packets, and drops none in a valid cell, needs neither shaper nor
transmitter: a netem whose limit counts the frame in service as well is the same queue. Not at a
host, whose TCP limits what waits in its own queue (TSQ) and takes netem for the wire.
"""

from __future__ import annotations

from typing import Literal

from fairc.compiler import plan
from fairc.dsl.model import Direction

from .draft import Draft, End, Place

Transmitter = Literal["hop", "below", "here"]


def transmitter(draft: Draft, end: End, bottlenecks: set[Place]) -> Transmitter | None:
    """Return where the frames of a link are transmitted whose queue is at `end`; None: they take no
    time.
    """
    way = end.shaped
    assert way is not None, "a link has a queue at its end"
    if way.transmit == "bucket":
        return None
    if _has_hop(draft, end, way) and is_steady(way):
        return "hop"
    queue = draft.queues.get(end.place)
    counts_packets = isinstance(queue, plan.Fifo) and queue.limit_packets is not None
    is_router = draft.nodes[end.node].kind == "router"
    if is_router and counts_packets and is_steady(way) and end.place not in bottlenecks:
        return "here"
    return "below"


def carried_rate_bps(end: End) -> int | None:
    """Return the rate at which a hop transmits the frames that leave it by `end`; None: it does
    not.
    """
    way = end.carried
    if way is None or way.transmit == "bucket" or not is_steady(way):
        return None
    return way.rate_bps


def is_steady(way: Direction) -> bool:
    """Whether a link is always the same, for every packet, but for its losses."""
    varies = way.jitter or way.reorder or way.duplicate
    return not (varies or way.changes or way.trace)


def _has_hop(draft: Draft, end: End, way: Direction) -> bool:
    """Whether a hop of its own follows a link's queue."""
    return any(other.carried is way for other in draft.nodes[draft.peer(end).node].ends)
