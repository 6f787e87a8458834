"""Programs act when they should."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairc.cell.frames import QUIC_BYTES, frame_bytes
from fairc.cell.queues import queue_bytes
from fairc.mechanisms import find
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.paths import Place
from fairc.runtime.measurement.pcap import ACK, SYN, Packets
from fairc.runtime.measurement.record import Passage

from .finding import Finding, busy, invalid

LATE_S = 10e-3
# A lost first packet is retransmitted after 1 s at the earliest, both Linux's SYN (RFC 6298,
# section 2) and QUIC's Initial (RFC 9002, section 6.2.2: three times an assumed RTT of 333 ms).
RETRY_S = 1.0
ACK_BYTES = 20 + 20 + 12 + 28
"""The IP packet of a long acknowledgement: timestamps, and three blocks of selective ones; one of
QUIC is as long.
"""
OPENING_BYTES = 14 + 20 + 40
"""Of the frame that opens a connection over TCP: a SYN with its options."""
# The most that a client sends until it has asked, as frames of Ethernet. Over TCP: SYN,
# acknowledgement and the request's 16 bytes, with timestamps. Over QUIC: its Initial and the
# datagram that ends its handshake, both padded to 1200 bytes (RFC 9000, section 14.1).
HANDSHAKE_BITS = {
    "tcp": 8 * (OPENING_BYTES + 2 * (14 + 20 + 32) + 16),
    "quic": 8 * 2 * (14 + 20 + 8 + 1200),
}
ANSWERS_AT_ONCE = 3
"""How many acknowledgements of a connection may wait where they fill no queue."""
HANDSHAKE_TRIES = 4
"""How often a client may send its part of a handshake while none of it has been answered."""


@dataclass(frozen=True, slots=True)
class _Opening:
    """How a flow begins: which packets can be its server's first, and whether a client asks for
    it.
    """

    first: Callable[[Packets], NDArray[np.bool_]]
    answers: bool


def _handshake(packets: Packets) -> NDArray[np.bool_]:
    return np.asarray(packets.flags & (SYN | ACK) == SYN | ACK, np.bool_)


def _any(packets: Packets) -> NDArray[np.bool_]:
    return np.ones(len(packets), np.bool_)


_OPENINGS: Mapping[str, _Opening] = {
    "tcp": _Opening(_handshake, answers=True),
    "quic": _Opening(_any, answers=True),
    "udp": _Opening(_any, answers=False),
}
# Page loads have no opening of their own here: a PEP's connections exist before the first load.


def schedule(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: clients and samples keep to their schedule within 10 ms."""
    for flow in measurement.flows:
        if flow.starts_by_itself:
            continue  # it counts from its first packet
        shared = (
            flow.plan.workload.shared_arrivals is not None
        )  # its start is drawn: see `late_s` of its streams
        late_s = 0.0 if shared else _late_begin(measurement, flow)
        if late_s > LATE_S:
            yield invalid(
                f"flow {flow.name} started {late_s * 1e3:.1f} ms late: {busy(measurement)}"
            )
        late_s = float(flow.endpoints.requests.late_s.max(initial=0.0))
        if late_s > LATE_S:
            yield invalid(
                f"flow {flow.name} began a request {late_s * 1e3:.1f} ms late: {busy(measurement)}"
            )
        # A test opens its connections after a handshake of its own.
        opened = {} if shared or flow.plan.workload.measures_itself else flow.endpoints.opened_s
        for connection, opened_s in sorted(opened.items()):
            late_s = opened_s - flow.plan.starts_ns[connection] * NS
            if late_s > LATE_S:
                yield invalid(
                    f"flow {flow.name}, connection {connection}: opened {late_s * 1e3:.1f} ms"
                    f" late: {busy(measurement)}"
                )
        late_s = (
            0.0 if flow.plan.workload.measures_itself else _late_ticks(flow)
        )  # these count from their own start
        if late_s > LATE_S:
            yield invalid(
                f"the server of flow {flow.name} took a sample {late_s * 1e3:.1f} ms late:"
                f" {busy(measurement)}"
            )


def _late_begin(measurement: Measurement, flow: FlowRecord) -> float:
    check = find("workloads", flow.plan.workload.kind, "check")
    late = getattr(check, "late_s", late_start_s)
    return float(late(measurement, flow))


def late_start_s(measurement: Measurement, flow: FlowRecord) -> float:
    """Return how late the flow's first packet from its server was, s.

    Where it answers a client, the server sends it one client-to-server delay after the start; it
    then takes the delay from the server to the bottleneck. Delays that vary, by chance or because
    links or routes change, are taken for their largest, and rates for the lowest. Where packets can
    be lost at random either way, or in a queue that other flows fill, an answer as late as one to a
    retry or to a later connection proves nothing. Each host on the way may take its longest time
    for its packet, and in each queue other handshakes may be ahead of the client's, or what other
    flows have sent. Each of `requests` may have a handshake of its own.
    """
    if measurement.split(flow):
        return 0.0  # the proxies' connection exists before, and its handshake is no sign of a start
    paths, opening = measurement.paths, _OPENINGS[flow.plan.transport]
    first = first_packet(flow, lambda one: one.entered & opening.first(one.queue.entered))
    if first is None:
        return 0.0
    place, first_s = first
    hosts_s = (2 if opening.answers else 1) * measurement.processing.bound_ns * NS
    expected_s, lossy = 0.0, False
    for there, before in ways(measurement, flow, place, opening.answers, first_s):
        way = (*there, *before)
        others_s = behind_others_s(measurement, flow, way, first_s)
        took_s = paths.longest_s(there, OPENING_BYTES) + _handshakes_s(measurement, flow, there)
        took_s += paths.longest_s(before, frame_bytes(flow.plan.mtu))
        expected_s = max(expected_s, took_s + held_s(measurement, way) + hosts_s + others_s)
        lossy = lossy or paths.may_lose(way) or others_s > 0
    opened_s = (*(np.array(flow.plan.starts_ns) * NS), *flow.endpoints.requests.start_s)
    later_s = (at_s - flow.start_s for at_s in opened_s if at_s > flow.start_s)
    next_s = min((RETRY_S, *later_s)) if opening.answers else 0.0
    return beyond_s(first_s - flow.start_s, expected_s, next_s if lossy else math.inf)


def first_packet(
    flow: FlowRecord, which: Callable[[Passage], NDArray[np.bool_]]
) -> tuple[Place, float] | None:
    """Return the bottleneck to which the first of some packets of a flow came, and when, s; None:
    there are none. It is another than the usual one where the flow begins as a link is down.
    """
    found = []
    for one in flow.passages:
        came_s = one.queue.seconds(one.queue.entered)[which(one)]
        found += [(float(came_s.min()), one.queue.place)] if len(came_s) else []
    if not found:
        return None
    first_s, place = min(found)
    return place, first_s


def beyond_s(took_s: float, expected_s: float, next_s: float) -> float:
    """Return how much longer the first packet took than it should have, s; next_s: after what time
    another one may have come in its place.
    """
    return 0.0 if took_s > next_s - LATE_S else took_s - expected_s


def ways(
    measurement: Measurement, flow: FlowRecord, place: Place, answers: bool, until_s: float
) -> Iterator[tuple[tuple[Place, ...], tuple[Place, ...]]]:
    """Yield the ways of a flow's first packet, from its client to its server where that `answers`,
    and from there to a bottleneck, for each set of routes up to a time; where they change while it
    is under way, all that it may pass then, too.
    """
    paths = measurement.paths
    times_ns = [ns for ns in paths.reroutings_ns if ns * NS <= until_s]
    for at_ns in (None, *times_ns):
        data = paths.of(flow.plan, at_ns)
        if place in data:
            there = paths.back(flow.plan, at_ns) if answers else ()
            yield there, data[: data.index(place)]
    if any(ns >= flow.plan.start_ns for ns in times_ns) and not measurement.cell.tunnels:
        before, back = map(sorted, paths.ever(flow.plan))
        yield tuple(back) if answers else (), tuple(before)


def held_s(measurement: Measurement, places: Sequence[Place]) -> float:
    """Return how long media may hold a packet back, and repairs, s."""
    paths = measurement.paths
    shapers = (paths.interfaces[place].shaper for place in places)
    media = (shaper.medium for shaper in shapers if shaper is not None)
    waits_ns = sum(medium.longest_ns for medium in media if medium is not None)
    repairs = ([state.repair for state in paths.states(place)] for place in places)
    tries_ns = sum(
        max((repair.longest_ns for repair in some if repair is not None), default=0)
        for some in repairs
    )
    return (waits_ns + tries_ns) * NS


def _handshakes_s(measurement: Measurement, flow: FlowRecord, there: Sequence[Place]) -> float:
    """Return how long a client's packets may wait for handshakes, its own included, s.

    Handshakes of connections that began at most RETRY_S before the flow count, and each of
    `requests` has a connection of its own; each link on the way serves them at its rate.
    """
    bits = 0
    for other in measurement.flows:
        starts_s = np.array(other.plan.starts_ns) * NS
        opened_s = np.concatenate((starts_s, other.endpoints.requests.start_s))
        before_s = flow.start_s - opened_s
        recent = int(((before_s >= 0) & (before_s <= RETRY_S)).sum())
        bits += recent * HANDSHAKE_BITS.get(other.plan.transport, 0)
    rates_bps = (measurement.paths.slowest_bps(place) for place in there)
    return sum(bits / rate_bps for rate_bps in rates_bps if rate_bps is not None)


def behind_others_s(
    measurement: Measurement, flow: FlowRecord, ways: Sequence[Place], until_s: float
) -> float:
    """Return how long packets may wait at most behind those that other flows have sent until a
    time, s: each queue on their way that others can fill holds as much as it can.
    """
    others = [o for o in measurement.flows if o is not flow and o.start_s < until_s]
    longest_s = 0.0
    for place, rate_bps, most_bytes in _queues(measurement, ways):
        if (
            any(_sends_through(measurement, other, place) for other in others)
            or _answers_bps(measurement, others, place) > rate_bps
            or _handshakes_last(measurement, others, place, rate_bps, until_s)
        ):
            longest_s += 8 * most_bytes / rate_bps
    return longest_s


def behind_answers_s(measurement: Measurement, flow: FlowRecord, ways: Sequence[Place]) -> float:
    """Return how long packets may wait behind what other clients answer at once, s, where that does
    not fill a queue: a few acknowledgements take long on a slow link.
    """
    others = [other for other in measurement.flows if other is not flow]
    header_bytes = sum(tunnel.header_bytes for tunnel in measurement.cell.tunnels)
    longest_s = 0.0
    for place, rate_bps, most_bytes in _queues(measurement, ways):
        answering = sum(
            other.plan.connections
            for other in others
            if place in measurement.paths.back(other.plan)
            and (other.plan.transport != "udp" or other.plan.workload.measures_itself)
        )
        framing = measurement.paths.interfaces[place].framing
        answer_bytes = framing.bytes(ACK_BYTES + header_bytes)
        waiting_bytes = min(most_bytes, answering * ANSWERS_AT_ONCE * answer_bytes)
        longest_s += 8 * waiting_bytes / rate_bps
    return longest_s


def _queues(measurement: Measurement, ways: Iterable[Place]) -> Iterator[tuple[Place, int, int]]:
    """Yield the queues that have a rate: place, lowest rate, bit/s, and what it holds, bytes."""
    for place in ways:
        interface = measurement.paths.interfaces[place]
        rate_bps, queue = measurement.paths.slowest_bps(place), interface.queue
        if rate_bps is not None and queue is not None:
            yield place, rate_bps, queue_bytes(queue, interface.frame_bytes)


def _handshakes_last(
    measurement: Measurement,
    others: Sequence[FlowRecord],
    place: Place,
    rate_bps: int,
    until_s: float,
) -> bool:
    """Return whether a link may still have handshakes of other clients to send at a time, if it has
    sent them since they began. One that may go unanswered for RETRY_S is sent several times.
    """
    paths, opened = measurement.paths, list[tuple[float, int, float]]()
    for other in others:
        plan = other.plan
        if place not in paths.back(plan):
            continue
        bits = HANDSHAKE_BITS.get(plan.transport, 0)
        full_s = (8 * most / bps for _, bps, most in _queues(measurement, (plan.bottleneck,)))
        answer_s = plan.base_rtt_ns * NS + sum(full_s)
        starts_s = (*(ns * NS for ns in plan.starts_ns), *other.endpoints.requests.start_s)
        opened += [(at_s, bits, answer_s) for at_s in starts_s if at_s < until_s]
    backlog_bits, last_s = 0.0, -math.inf
    for at_s, bits, answer_s in sorted(opened):
        backlog_bits = max(0.0, backlog_bits - (at_s - last_s) * rate_bps) + bits
        if backlog_bits / rate_bps + answer_s > RETRY_S:
            backlog_bits += (HANDSHAKE_TRIES - 1) * bits
        last_s = at_s
    return backlog_bits > (until_s - last_s) * rate_bps


def _sends_through(measurement: Measurement, other: FlowRecord, place: Place) -> bool:
    """Return whether a flow sends data through a place: at its bottleneck, or what its client sends
    of its own.
    """
    paths, workload = measurement.paths, other.plan.workload
    if place in (other.plan.bottleneck, *other.plan.further_bottlenecks):
        return True
    if paths.interfaces[place].bottleneck and place in paths.of(other.plan):
        return True
    if place not in paths.back(other.plan):
        return False
    own_code = workload.own_code is not None
    return own_code or workload.echoes or any(way == "up" for way, _ in other.endpoints.frames)


def _answers_bps(measurement: Measurement, others: Sequence[FlowRecord], place: Place) -> float:
    """Return the highest rate at which clients may answer data of these flows through a place,
    bit/s: with an acknowledgement of every full packet; where transfers can be as short as what
    asks for them, as fast as data come.
    """
    paths, found = measurement.paths, dict[Place, float]()
    header_bytes = sum(tunnel.header_bytes for tunnel in measurement.cell.tunnels)
    for other in others:
        plan = other.plan
        if plan.transport == "udp" or place not in paths.back(plan):
            continue
        bottleneck = paths.interfaces[plan.bottleneck]
        rates_bps = [each.rate_bps for each in (bottleneck.shaper, *bottleneck.changes) if each]
        most_bps = max((rate for rate in rates_bps if rate is not None), default=math.inf)
        full_bytes = QUIC_BYTES if plan.options.discovers_mtu else plan.mtu
        data = bottleneck.framing.bytes(full_bytes + header_bytes)
        answer = paths.interfaces[place].framing.bytes(ACK_BYTES + header_bytes)
        share = answer / data if other.is_greedy else 1.0
        found[plan.bottleneck] = max(found.get(plan.bottleneck, 0.0), share * most_bps)
    return sum(found.values())


def _late_ticks(flow: FlowRecord) -> float:
    """Return how long after its tick a sample was taken at worst, s; a skipped tick counts too."""
    samples, worst, every_s = flow.endpoints.samples, 0.0, flow.plan.sample_every_ns * NS
    for connection in np.unique(samples.connection):
        t_s = samples.t_s[samples.connection == connection][:-1]  # the last one is off the ticks
        tick = np.floor(t_s / every_s + 1e-6)
        late_s = t_s - tick * every_s
        left_out = np.diff(tick, prepend=tick[:1] - 1) - 1
        worst = max(worst, float((late_s + left_out * every_s).max(initial=0.0)))
    return worst
