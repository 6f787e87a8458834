"""Nodes as in the plan: the interfaces of the wiring with their shapers and queues, and routes.

A shaper lets a frame begin when the one ahead of it has ended; a netem with a `rate` behind it
keeps the frame until its last bit has been sent. The netem of a hop does both this and the delay,
as long as nothing in it varies: with a rate it keeps packets in order, it would transmit copies
again, and each change would restart its random stream. Elsewhere the transmitter is a netem of its
own below the interface that has the queue (cell/batch.py: `lower`).

A medium that sends aggregates is shaper and transmitter in one: their packets leave the queue's
interface when they arrive.

A router's queue that only counts packets, and drops none in a valid cell, needs neither shaper nor
transmitter: a netem whose limit counts the frame in service as well is the same queue. Not at a
host, whose TCP limits what waits in its own queue (TSQ) and takes netem for the wire.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from fairc.compiler import plan

from .delay_nodes import transmits
from .dynamics import is_steady
from .routing import Traffic
from .wiring import Egress, Wiring

Transmitter = Literal["hop", "below", "here", "medium"]


def nodes(
    wiring: Wiring,
    queues: Mapping[Egress, plan.Queue],
    routes: Mapping[str, Sequence[plan.Route]],
    changes: Mapping[str, Sequence[plan.RouteChange]],
    bottlenecks: Collection[Egress],
    traffic: Traffic,
) -> tuple[plan.Node, ...]:
    """Return the nodes of a network, still without seeds."""
    addresses: dict[str, list[str]] = {}
    for _, path in traffic:
        for end in (path.server, path.client):
            if end.address != end.interface.address.partition("/")[0]:
                addresses.setdefault(end.node, []).append(end.address)
    return tuple(
        plan.Node(
            name=name,
            kind=kind,
            interfaces=tuple(
                _interface(wiring, egress, queues.get(egress), egress in bottlenecks)
                for egress in wiring.egresses[name]
            ),
            routes=tuple(routes[name]),
            route_changes=tuple(changes[name]),
            addresses=tuple(addresses.get(name, ())),
        )
        for name, kind in wiring.kinds.items()
    )


def _interface(
    wiring: Wiring, egress: Egress, queue: plan.Queue | None, is_bottleneck: bool
) -> plan.Interface:
    """Return an interface with its shaper and queue, if it has any."""
    if not egress.rate_bps:
        return egress.interface
    transmitter = _transmitter(wiring, egress, queue, is_bottleneck)
    burst = egress.way.burst
    shaper = plan.Shaper(
        egress.rate_bps,
        transmitter,
        medium=egress.way.planned_medium,
        depth_bytes=None if burst is None else burst.depth_bytes,
        peak_bps=None if burst is None else burst.peak_bps,
    )
    return replace(egress.interface, shaper=shaper, queue=queue, bottleneck=is_bottleneck)


def _transmitter(
    wiring: Wiring, egress: Egress, queue: plan.Queue | None, is_bottleneck: bool
) -> Transmitter | None:
    """Return where the frames of a link are transmitted whose queue is at `egress`; None: they take
    no time.
    """
    way = egress.way
    if way.transmit == "bucket":
        return None
    if way.medium is not None:
        return "medium"
    onward = wiring.peer(egress).node
    is_before_hop = wiring.kinds[onward] == "hop" and any(
        other.part == "hop" and other.way is way for other in wiring.egresses[onward]
    )
    if is_before_hop and transmits(way):
        return "hop"
    counts_packets = queue is not None and queue.is_drop_tail and queue.limit_packets is not None
    is_router = wiring.kinds[egress.node] == "router"
    is_captured = is_bottleneck or way.impairment.repair is not None
    if is_router and counts_packets and is_steady(way) and not is_captured:
        return "here"
    return "below"
