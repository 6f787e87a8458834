"""Captures of packets around the queue of a bottleneck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Literal

from fairc.compiler import plan
from fairc.dsl.model import LinkDevice

from .devices import devices_of
from .report import Report
from .routing import Traffic
from .wiring import Egress, Wiring

Point = Literal["entry", "exit", "delivered", "client", "device", "sender", "echo"]


def place_captures(
    wiring: Wiring,
    traffic: Traffic,
    mixed: Traffic,
    bottlenecks: Mapping[Egress, None],
    report: Report,
) -> tuple[plan.Capture, ...]:
    """Capture `entry`, `exit` and `delivered` of each bottleneck (measurement.md, rule 14), and of
    each link with a medium or a repair that a flow crosses either way: only packets show what it
    does.

    Also capture data and ACKs where their senders transmit the former and receive the latter;
    datagrams of UDP have none but the echoes of pings, which are captured also where their sender's
    own link is the bottleneck. And capture arrivals at the client of each
    page load, of each third-party image and of each program of the user's own, and what the latter
    two's clients send: nothing else shows when they began.
    mixed: ways of packets that are under way while routes change.
    """
    captures = _Captures()
    everything = [*traffic, *mixed]
    for egress in {**bottlenecks, **dict.fromkeys(_served(everything))}:
        heard = report if egress in bottlenecks else Report(lambda _: None)
        for ingress in _ingresses(wiring, everything, egress, heard):
            captures.add(egress, ingress, "in", "entry")
        captures.add(egress, egress, "out", "exit")
        ingress = wiring.peer(egress)
        if wiring.kinds[ingress.node] == "hop":
            captures.add(egress, wiring.other(ingress), "out", "delivered")
        else:
            captures.add(egress, ingress, "in", "delivered")
    for egress, device in devices_of(wiring):
        _watch_device(captures, wiring, traffic, egress, device)
    for flow, path in traffic:
        if path.bottleneck is None:
            continue
        behind = path.bottleneck is not path.data[0]  # else packets wait before the capture
        answered = flow.transport != "udp" or flow.workload.part.echoes
        if answered and behind:
            for end in dict.fromkeys((path.data[0], wiring.peer(path.acks[-1]))):
                captures.add(path.bottleneck, end, "both", "sender")
        elif flow.workload.part.echoes:  # echoes say when their pings were sent
            captures.add(path.bottleneck, wiring.peer(path.acks[-1]), "in", "echo")
        own = wiring.peer(path.data[-1])
        both_ways = flow.image is not None or flow.workload.part.own_code is not None
        if flow.transport == "web" or both_ways:
            captures.add(path.bottleneck, own, "in", "client")
        if both_ways:
            captures.add(path.bottleneck, own, "out", "client")
    return tuple(captures)


def _served(traffic: Traffic) -> Iterator[Egress]:
    """Yield where packets of flows enter links that have a medium, or repair losses."""
    for _, path in traffic:
        for egress in (*path.data, *path.acks):
            way = egress.way
            if egress.rate_bps and (way.medium is not None or way.impairment.repair is not None):
                yield egress


class _Captures:
    """The captures so far, by their names; each is named after its queue, its point and its
    interface, a host's after its own.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, plan.Capture] = {}

    def __iter__(self) -> Iterator[plan.Capture]:
        return iter(self._by_name.values())

    def add(
        self, queue: Egress, end: Egress, direction: Literal["in", "out", "both"], point: Point
    ) -> None:
        """Add one, unless there is one of its name."""
        name = f"{point}.{queue.node}.{queue.name}"
        if point == "entry":
            name += f".{end.name}"
        if point in ("client", "device", "sender", "echo"):
            name = f"{point}.{end.node}.{end.name}" + (".out" if direction == "out" else "")
        self._by_name.setdefault(
            name, plan.Capture(name, end.node, end.name, direction, point, queue.place)
        )


def _watch_device(
    captures: _Captures, wiring: Wiring, traffic: Traffic, egress: Egress, device: LinkDevice
) -> None:
    """Capture what a device sees: arrivals, packets leaving its queue, and returning packets.

    Each direction of an interface is captured once, whatever the purposes.
    """
    queue = next((p.bottleneck for _, p in traffic if egress in p.data and p.bottleneck), None)
    if queue is None:
        return
    seen = {(capture.node, capture.interface, capture.direction) for capture in captures}
    watched: list[tuple[Egress, Literal["in", "out"]]] = [(wiring.other(egress), "in")]
    if device.reads_back:
        watched.extend([(egress, "out"), (egress, "in")])
    for end, direction in watched:
        if (end.node, end.name, direction) not in seen:
            captures.add(queue, end, direction, "device")


def _ingresses(
    wiring: Wiring, traffic: Traffic, egress: Egress, report: Report
) -> dict[Egress, None]:
    """Return the interfaces through which packets arrive that leave through an egress, each once.

    All flows count, including those with their bottleneck elsewhere, and acks that share the
    queue with data: packets that enter either leave or are dropped.
    """
    found: dict[Egress, None] = {}
    for flow, path in traffic:
        for way in (path.data, path.acks):
            for before, behind in pairwise(way):
                if behind is egress:
                    found[wiring.peer(before)] = None
            if way and way[0] is egress:
                report.warn(
                    "no-entry-capture",
                    f"the flow `{flow.label}` starts at a bottleneck's own node",
                    flow.span,
                    "its packets can be captured only after the queue, not before it",
                    "put a router between the host and the slowest link",
                )
    return found
