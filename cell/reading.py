"""Reading periods of programs that no packet wakes, and the packets that a capture holds until
then.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from .frames import SMALLEST_FRAME_BYTES, datagram_memory_bytes
from .model import SAMPLE_EVERY_NS, Cell, Flow
from .queues import queue_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .text import Place

NS = 10**9
# Readings are 100 ms apart, or such a part of it that no more is planned to come between two of
# them: packets at one interface, and memory of datagrams at all receivers together.
BETWEEN_PACKETS, BETWEEN_BYTES = 25_000, 100 << 20
MARGIN = 2.5
"""Capacity of a ring over the packets planned between two readings: one reading may come late."""
# And at least 250 ms of the smallest frames that pass a bottleneck or that sources with a rate
# send, and the first windows, within these bounds. A bottleneck's smallest frames are its full ones
# at 23 times its rate, as bursts in front of it may come.
SMALLEST_S, SMALLEST_PACKETS = 0.25, (5_000, 25_000)
MOST_PACKETS = 1 << 20
"""Of a ring of the endpoints (`MAX_RING` in endpoints/src/description.rs)."""
ACKS = 0.5
"""Acknowledgements for a packet of data: one for two of them (RFC 5681, section 4.2)."""


@dataclass(frozen=True, slots=True)
class Reading:
    """every_ns: from one reading to the next. ring_packets: what a capture holds until then."""

    every_ns: int
    ring_packets: int


def reading(cell: Cell) -> Reading:
    """Return how what waits is read in a cell.

    An interface sees both directions of a link at most, so what passes the two busiest bottlenecks
    of flows; a bottleneck that is no flow's own may see what passes all of them.
    """
    links = _links(cell)
    passing = sorted(_packets_per_s(cell, links).values())
    own = {place for flow in cell.flows for place in (flow.bottleneck, *flow.further_bottlenecks)}
    if {capture.queue for capture in cell.captures} <= own:
        passing = passing[-2:]
    memory_per_s = sum(
        datagrams_per_s(flow) * datagram_memory_bytes(flow.packet_bytes)
        for flow in cell.flows
        if flow.transport == "udp"
    )
    usual_s = SAMPLE_EVERY_NS / NS
    most = max(sum(passing) / BETWEEN_PACKETS, memory_per_s / BETWEEN_BYTES)
    every_ns = SAMPLE_EVERY_NS // max(1, math.ceil(most * usual_s))
    every_s = every_ns / NS
    planned = MARGIN * sum(passing) * every_s + _burst_packets(cell, links, every_s)
    packets = max(_smallest_packets(cell, links), math.ceil(planned))
    return Reading(every_ns, min(packets, MOST_PACKETS))


def datagrams_per_s(flow: Flow) -> float:
    """Return how many datagrams all connections of a flow over UDP send at most, 1/s."""
    rate_bps = min(filter(None, (flow.rate_bps, flow.workload.peak_bps)), default=0)
    return flow.connections * rate_bps / (8 * flow.packet_bytes)


def _packets_per_s(cell: Cell, links: dict[Place, tuple[int, int]]) -> dict[Place, float]:
    """Return how many packets pass each bottleneck, 1/s: datagrams as their sources send them, and
    full frames of all other flows, with their ACKs, as fast as it carries them.
    """
    found: dict[Place, float] = defaultdict(float)
    greedy: dict[Place, int] = {}
    for flow in cell.flows:
        place = flow.bottleneck
        # Datagrams without a rate are sent as one likes: as many as pass.
        offered_bps = flow.workload.offered_bps(flow.connections, flow.rate_bps)
        if flow.transport == "udp" and offered_bps is not None:
            found[place] += datagrams_per_s(flow)
        else:
            greedy[place] = min(flow.frame_bytes, greedy.get(place, flow.frame_bytes))
    for place, frame_bytes in greedy.items():
        rate_bps, _ = links.get(place, (0, 0))
        found[place] += (1 + ACKS) * rate_bps / (8 * frame_bytes)
    return found


def _burst_packets(cell: Cell, links: dict[Place, tuple[int, int]], every_s: float) -> float:
    """Return how many packets may come at once between two readings: the first windows, and a whole
    window of each bottleneck, what it holds and what is on its way, as the fastest link carries it.

    A connection that a proxy splits has a window of its own, what the proxy buffers, and its ACKs
    come from there as fast. One whose CCA outgrows its receiver sends what that receiver buffers.
    """
    fastest_bps = max((rate_bps for rate_bps, _ in links.values()), default=0)
    first = sum(_at_once(flow) * flow.options.initial_window_packets for flow in cell.flows)
    windows: dict[Place, float] = {}
    carried = 0.0
    for flow in cell.flows:
        if flow.transport == "udp":  # without a window
            continue
        rate_bps, waiting_bytes = links.get(flow.bottleneck, (0, 0))
        window = rate_bps * flow.base_rtt_ns / (8 * NS) + waiting_bytes
        packets = window / flow.frame_bytes
        windows[flow.bottleneck] = max(packets, windows.get(flow.bottleneck, 0))
        carried = max(carried, fastest_bps * every_s / (8 * flow.frame_bytes))
    beyond = sum(
        _at_once(flow) * device.held_bytes / flow.frame_bytes
        for device in cell.devices
        for flow in cell.flows
        if flow.port in device.split_ports
    ) + sum(
        _at_once(flow) * (flow.receiver_bytes or flow.waiting_bytes) / flow.frame_bytes
        for flow in cell.flows
        if flow.options.cca_outgrows_receivers
    )
    if beyond > sum(windows.values()):
        return first + (1 + ACKS) * min(beyond, carried)
    return first + min(sum(windows.values()), carried)


def _smallest_packets(cell: Cell, links: dict[Place, tuple[int, int]]) -> int:
    """Return what every ring holds at least."""
    bottlenecks = {flow.bottleneck for flow in cell.flows}
    passing_bps = max((links[place][0] for place in bottlenecks if place in links), default=0)
    sent_bps = sum(
        _at_once(flow) * (flow.rate_bps or flow.workload.peak_bps) for flow in cell.flows
    )
    first = sum(_at_once(flow) * flow.options.initial_window_packets for flow in cell.flows)
    needed = first + SMALLEST_S * max(passing_bps, sent_bps) / (8 * SMALLEST_FRAME_BYTES)
    least, most = SMALLEST_PACKETS
    return min(most, max(least, round(needed)))


def _links(cell: Cell) -> dict[Place, tuple[int, int]]:
    """Return of every link the highest rate that it ever has, bit/s, and what its queue holds,
    bytes.
    """
    found = {}
    for node in cell.nodes:
        for each in node.interfaces:
            if each.shaper is not None and each.queue is not None:
                rates = (each.shaper.rate_bps, *(change.rate_bps or 0 for change in each.changes))
                holds = queue_bytes(each.queue, each.frame_bytes)
                found[node.name, each.name] = max(rates), holds
    return found


def _at_once(flow: Flow) -> int:
    """Return how many connections a flow has at a time."""
    return flow.connections * flow.workload.opened
