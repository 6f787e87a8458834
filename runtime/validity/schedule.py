"""Programs act when they should."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairc.cell.frames import frame_bytes
from fairc.cell.iperf3 import START_UP_NS, begin_ns
from fairc.cell.queues import queue_bytes
from fairc.compiler.plan import Iperf3Workload, LoadWorkload, RequestsWorkload
from fairc.runtime.measurement import FlowRecord, Measurement, packets_of
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.paths import Place
from fairc.runtime.measurement.pcap import ACK, SYN, Packets

from .finding import BUSY, Finding

LATE_S = 10e-3
# A lost first packet is retransmitted after 1 s at the earliest, both Linux's SYN (RFC 6298,
# section 2) and QUIC's Initial (RFC 9002, section 6.2.2: three times an assumed RTT of 333 ms).
RETRY_S = 1.0
# What acknowledgements of every packet need of the rate of the data: 66 of 1514 bytes.
ACK_SHARE = 1 / 20
OPENING_BYTES = 14 + 20 + 40
"""Of the frame that opens a connection over TCP: a SYN with its options."""
# The most that a client sends until it has asked, as frames of Ethernet. Over TCP: SYN,
# acknowledgement and the request's 16 bytes, with timestamps. Over QUIC: its Initial and the
# datagram that ends its handshake, both padded to 1200 bytes (RFC 9000, section 14.1).
HANDSHAKE_BITS = {
    "tcp": 8 * (OPENING_BYTES + 2 * (14 + 20 + 32) + 16),
    "quic": 8 * 2 * (14 + 20 + 8 + 1200),
}


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
        if flow.plan.image is not None:
            continue  # an image takes time to start, and counts from its first packet
        shared = _shares_arrivals(flow)  # its start is drawn: see `late_s` of its streams
        late_s = 0.0 if shared else _late_begin(measurement, flow)
        if late_s > LATE_S:
            yield Finding("invalid", f"flow {flow.name} started {late_s * 1e3:.1f} ms late: {BUSY}")
        late_s = float(flow.endpoints.requests.late_s.max(initial=0.0))
        if late_s > LATE_S:
            yield Finding(
                "invalid", f"flow {flow.name} began a request {late_s * 1e3:.1f} ms late: {BUSY}"
            )
        # iperf3 opens its connections after a handshake of its own.
        opened = {} if shared or flow.runs_iperf3 else flow.endpoints.opened_s
        for connection, opened_s in sorted(opened.items()):
            late_s = opened_s - flow.plan.starts_ns[connection] * NS
            if late_s > LATE_S:
                yield Finding(
                    "invalid",
                    (
                        f"flow {flow.name}, connection {connection}: opened {late_s * 1e3:.1f} ms"
                        f" late: {BUSY}"
                    ),
                )
        late_s = 0.0 if flow.runs_iperf3 else _late_ticks(flow)  # iperf3 counts from its own start
        if late_s > LATE_S:
            yield Finding(
                "invalid",
                f"the server of flow {flow.name} took a sample {late_s * 1e3:.1f} ms late: {BUSY}",
            )


def _shares_arrivals(flow: FlowRecord) -> bool:
    workload = flow.plan.workload
    return isinstance(workload, RequestsWorkload) and workload.shared is not None


def _late_begin(measurement: Measurement, flow: FlowRecord) -> float:
    workload = flow.plan.workload
    if isinstance(workload, Iperf3Workload):
        return _late_test(measurement, flow, workload)
    if isinstance(workload, LoadWorkload):
        return _late_load(flow, workload)
    return _late_start(measurement, flow)


def _late_start(measurement: Measurement, flow: FlowRecord) -> float:
    """Return how late the flow's first packet from its server was, s.

    Where it answers a client, the server sends it one client-to-server delay after the start; it
    then takes the delay from the server to the bottleneck. Where packets can be lost at random
    either way, or in a queue that other flows fill, an answer as late as one to a retry or to a
    later connection proves nothing. Each host on the way may take its longest time for its packet,
    and in each queue other handshakes may be ahead of the client's, or what other flows have sent.
    """
    queue, paths = flow.queue, measurement.paths
    opening = _OPENINGS[flow.plan.transport]
    answers = flow.entered & opening.first(queue.entered)
    if not answers.any():
        return 0.0
    there = paths.back(flow.plan) if opening.answers else ()
    back = paths.before(queue.place, flow.plan)
    if any(paths.interfaces[place].changes for place in (*there, *back)):
        return 0.0  # the links may have changed by then
    hosts_s = (2 if opening.answers else 1) * measurement.processing.bound_ns * NS
    expected_s = flow.start_s + paths.delay_s(there) + paths.delay_s(back) + hosts_s
    expected_s += paths.transmission_s(there, OPENING_BYTES) + _handshakes_s(
        measurement, flow, there
    )
    expected_s += paths.transmission_s(back, frame_bytes(flow.plan.mtu))
    expected_s += _held_s(measurement, (*there, *back))
    first_s = float(queue.seconds(queue.entered)[answers].min())
    others_s = _behind_others_s(measurement, flow, (*there, *back), first_s)
    late_s = first_s - expected_s - others_s
    later_s = (ns * NS - flow.start_s for ns in flow.plan.starts_ns if ns > flow.plan.start_ns)
    next_s = min((RETRY_S, *later_s))
    lossy = paths.loss(there) + paths.loss(back) > 0 or others_s > 0
    return 0.0 if lossy and late_s > next_s - LATE_S - others_s else late_s


def _held_s(measurement: Measurement, places: Sequence[Place]) -> float:
    """Return how long radio links may hold a packet back, s: until an aggregate closes, or for a
    slot, and while it is sent again.
    """
    interfaces = [measurement.paths.interfaces[place] for place in places]
    media = (each.shaper.medium for each in interfaces if each.shaper is not None)
    repairs = (each.impairment.repair for each in interfaces if each.impairment is not None)
    waits_ns = sum(medium.longest_ns for medium in media if medium is not None)
    tries_ns = sum(repair.tries * repair.wait_ns for repair in repairs if repair is not None)
    return (waits_ns + tries_ns) * NS


def _handshakes_s(measurement: Measurement, flow: FlowRecord, there: Sequence[Place]) -> float:
    """Return how long a client's packets may wait for handshakes, its own included, s.

    Handshakes of connections that began at most RETRY_S before the flow count; each link on the way
    serves them at its rate.
    """
    bits = sum(
        HANDSHAKE_BITS[other.plan.transport]
        for other in measurement.flows
        if other.plan.transport in HANDSHAKE_BITS
        for ns in other.plan.starts_ns
        if 0 <= flow.start_s - ns * NS <= RETRY_S
    )
    shapers = (measurement.paths.interfaces[place].shaper for place in there)
    return sum(bits / shaper.rate_bps for shaper in shapers if shaper is not None)


def _behind_others_s(
    measurement: Measurement, flow: FlowRecord, ways: Sequence[Place], until_s: float
) -> float:
    """Return how long packets may wait at most behind those that other flows have sent until a
    time, s: each queue on their way that others can fill holds as much as it can.
    """
    others = [o for o in measurement.flows if o is not flow and o.start_s < until_s]
    longest_s = 0.0
    for place in ways:
        interface = measurement.paths.interfaces[place]
        shaper, queue = interface.shaper, interface.queue
        if shaper is None or queue is None:
            continue
        if any(_can_fill(measurement, other, place, shaper.rate_bps) for other in others):
            longest_s += 8 * queue_bytes(queue, interface.frame_bytes) / shaper.rate_bps
    return longest_s


def _can_fill(measurement: Measurement, other: FlowRecord, place: Place, rate_bps: int) -> bool:
    """Return whether a flow sends enough through a place for a queue: data at its bottleneck, or
    acknowledgements of data that comes much faster.
    """
    paths = measurement.paths
    if place in (other.plan.bottleneck, *other.plan.further_bottlenecks):
        return True
    if other.plan.transport == "udp" or place not in paths.back(other.plan):
        return False
    bottleneck = paths.interfaces[other.plan.bottleneck].shaper
    return bottleneck is None or rate_bps < ACK_SHARE * bottleneck.rate_bps


def _late_test(measurement: Measurement, flow: FlowRecord, workload: Iperf3Workload) -> float:
    """Return how late iperf3 asked for its control connection, s.

    What follows depends on the network's RTT, not on a host.
    """
    queue, paths = flow.queue, measurement.paths
    packets = queue.entered
    # Over UDP the flow's packets do not include its control connection.
    plan = replace(flow.plan, transport="tcp")
    mine = packets_of(measurement.cell, plan, packets) & ((packets.flags & SYN) > 0)
    if not mine.any():
        return 0.0
    there = paths.back(flow.plan) if workload.reverse else ()
    before = paths.before(queue.place, flow.plan)
    if any(paths.interfaces[place].changes for place in (*there, *before)):
        return 0.0
    due_s = (begin_ns(flow.plan) + START_UP_NS) * NS
    due_s += _held_s(measurement, (*there, *before))
    first_s = float(queue.seconds(packets)[mine].min())
    others_s = _behind_others_s(measurement, flow, (*there, *before), first_s)
    late_s = first_s - due_s - others_s
    late_s -= paths.delay_s(there) + paths.delay_s(before)
    late_s -= paths.transmission_s(there, OPENING_BYTES) + paths.transmission_s(
        before, OPENING_BYTES
    )
    lossy = paths.loss(there) + paths.loss(before) > 0 or others_s > 0
    return 0.0 if lossy and late_s > RETRY_S - LATE_S - others_s else late_s


def _late_load(flow: FlowRecord, workload: LoadWorkload) -> float:
    """Return how late a client without a browser began a load at worst, s.

    A browser starts a load with a delay by nature; its loads count from connectStart.
    """
    begins_s, worst = flow.start_s, 0.0
    if workload.client != "plain":
        return 0.0
    for load in flow.endpoints.loads:
        worst = max(worst, load.begin_s - begins_s)
        if load.number < len(workload.idle_ns):
            begins_s = load.end_s + workload.idle_ns[load.number] * NS
    return worst


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
