"""Estimates of a run from its plan: virtual time, wall time, disk space."""

from __future__ import annotations

import math
import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from copy import copy

from fairc.cell.frames import UDP_IP_BYTES, segment_bytes
from fairc.cell.roles import snaplen
from fairc.cell.text import Place

from .engines import Costs, profile
from .loss_rate import LONGEST_S, moving_s
from .plan import SAMPLE_EVERY_NS, Cell, Flow, interfaces_of

UNSHAPED_BPS = 100_000_000

# Compressed bytes of a data packet where it is captured, more of QUIC, whose payload is random; and
# of everything else, per flow and second. Fitted to the runs of five published studies.
CAPTURED_BYTES, OF_QUIC_BYTES, LOGGED_BYTES_PER_S = 25, 15, 800
# Of a cell without raw artefacts, bytes: its result and its part of tables and page; its series,
# per flow and second. Three suites, bbr-cubic and rtt-fairness took 44 to 280 kB.
RESULT_BYTES, SERIES_BYTES_PER_S = 50_000, 150
# Artefacts before compression, bytes: a packet in a capture, at senders with its share of an ACK
# with blocks; the records of a QUIC server; a line about a connection at each
# sample or tick (long ones: most are shorter).
RECORD_BYTES, HEADERS_BYTES, LOGGED_PACKET_BYTES, LINE_BYTES = 16 + 96, 64, 24, 700


class Estimate:
    """Running sums over cells, so that memory does not grow with their number.

    jobs: cells that run at once; None: one per core. engine: the engine that runs them. longest_s:
    wall seconds of the slowest cell, on its own core. browsers: whether any cell starts one.
    modules, programs: whether any cell loads a kernel module, or runs a program, of the user's.
    largest_bytes: the largest output of a cell, before compression.
    """

    def __init__(self, jobs: int | None = None, engine: str = "vm") -> None:
        self.costs = profile(engine).costs
        self.jobs = (jobs or len(os.sched_getaffinity(0))) if self.costs.parallel else 1
        self.cells = 0
        self.virtual_s = 0.0
        self.longest_s = 0.0
        self.browsers = False
        self.modules = False
        self.programs = False
        self.largest_bytes = 0.0
        self.disk_bytes = 0.0
        self._kept_bytes = 0.0
        self._wall_s = 0.0

    def add(self, cell: Cell, times: int = 1) -> None:
        """Count a cell, and others that differ from it only in their seeds."""
        length_s = length(cell)
        sent = packets(cell, length_s)
        self.cells += times
        self.virtual_s += times * length_s
        packet_bytes = CAPTURED_BYTES + OF_QUIC_BYTES * quic_share(cell, length_s)
        self.disk_bytes += times * packet_bytes * recorded(cell, length_s)
        self.disk_bytes += times * LOGGED_BYTES_PER_S * length_s * sampling(cell)
        series_bytes = SERIES_BYTES_PER_S * length_s * sampling(cell)
        self._kept_bytes += times * (RESULT_BYTES + series_bytes)
        wall_s = cell_s(self.costs, cell, length_s, sent)
        first_s = beside_s(self.costs, cell)
        self.longest_s = max(self.longest_s, wall_s + first_s)
        self.browsers = self.browsers or any(flow.browser for flow in cell.flows)
        self.modules = self.modules or bool(cell.modules)
        own = (flow.workload.own_code is not None for flow in cell.flows)
        self.programs = self.programs or any(own)
        self.largest_bytes = max(self.largest_bytes, results_bytes(cell))
        self._wall_s += times * wall_s + first_s

    def extrapolate(self, cells: int) -> None:
        """Extrapolate to `cells` cells; those counted so far must be a fair sample."""
        factor = cells / self.cells if self.cells else 0.0
        self.cells = cells
        self.virtual_s *= factor
        self._wall_s *= factor
        self.disk_bytes *= factor
        self._kept_bytes *= factor

    def include(self, other: Estimate) -> None:
        """Add the cells of another estimate on the same engine."""
        self.cells += other.cells
        self.virtual_s += other.virtual_s
        self.disk_bytes += other.disk_bytes
        self._kept_bytes += other._kept_bytes
        self.longest_s = max(self.longest_s, other.longest_s)
        self._wall_s += other._wall_s

    def part(self, share: float) -> Estimate:
        """Return what a share of the cells costs, 0 to 1."""
        found = copy(self)
        found.extrapolate(round(share * self.cells))
        return found

    @property
    def kept_bytes(self) -> float:
        """What is left of `disk_bytes` if valid cells keep no raw artefacts."""
        return min(self.disk_bytes, self._kept_bytes)

    @property
    def wall_s(self) -> float:
        """Wall seconds of all cells when `jobs` of them run at once."""
        return self._wall_s / max(1, min(self.jobs, self.cells))


def wall_s(costs: Costs, cell: Cell) -> float:
    """Return the wall seconds that a cell takes on one core."""
    length_s = length(cell)
    waits = any(
        change.entering is not None
        for interface in interfaces_of(cell).values()
        for change in interface.changes
    )
    return (1 + waits) * cell_s(costs, cell, length_s, packets(cell, length_s))


def cell_s(costs: Costs, cell: Cell, length_s: float, sent: float) -> float:
    """Return the wall seconds on one core of a cell with this length (s) and number of data
    packets.
    """
    each_s = costs.per_packet_s + costs.per_quic_packet_s * quic_share(cell, length_s)
    each_s += costs.per_device_packet_s if any(d.computes for d in cell.devices) else 0.0
    own_s = costs.fixed_s + (costs.image_s if any(flow.image for flow in cell.flows) else 0.0)
    virtual_s = costs.per_virtual_s + costs.per_flow_s * sampling(cell)
    analysis_s = costs.per_record_s * recorded(cell, length_s)
    return own_s + browsers_s(costs, cell) + virtual_s * length_s + each_s * sent + analysis_s


def sampling(cell: Cell) -> float:
    """Return how often the connections of a cell are sampled, in samples per 100 ms."""
    return sum(SAMPLE_EVERY_NS / flow.sample_every_ns for flow in cell.flows)


def rates_bps(cell: Cell) -> dict[tuple[str, str], int]:
    """Return the rate of each flow's bottleneck, bit/s."""
    rates = dict.fromkeys((flow.bottleneck for flow in cell.flows), UNSHAPED_BPS)
    for place, interface in interfaces_of(cell).items():
        if interface.shaper is not None and place in rates:
            rates[place] = interface.shaper.rate_bps
    return rates


def passing_bps(cell: Cell) -> dict[tuple[str, str], int]:
    """Return the rate at which each bottleneck passes packets, bit/s: its own, or that of the
    slowest device on the ways of its flows.
    """
    rates = rates_bps(cell)
    limits = {place: bps for each in cell.devices for place, bps in each.limits_bps.items()}
    if not limits:
        return rates
    neighbours: dict[str, list[str]] = defaultdict(list)
    senders: dict[tuple[str, str], str] = {}
    for cable in cell.cables:
        for here, there in ((cable.a, cable.b), (cable.b, cable.a)):
            neighbours[here[0]].append(there[0])
            senders[here] = there[0]
    for place, rate_bps in limits.items():
        before = _hops(neighbours, senders[place])
        behind = _hops(neighbours, place[0])
        for flow in cell.flows:
            comes = before[flow.server] < behind[flow.server]
            if comes and behind[flow.client] < before[flow.client]:
                rates[flow.bottleneck] = min(rates[flow.bottleneck], rate_bps)
    return rates


def _hops(neighbours: Mapping[str, Sequence[str]], start: str) -> dict[str, float]:
    """Return how many cables each node is away from one; infinity where none leads there."""
    hops: dict[str, float] = defaultdict(lambda: math.inf, {start: 0})
    waiting = [start]
    for node in waiting:
        for next_node in neighbours[node]:
            if next_node not in hops:
                hops[next_node] = hops[node] + 1
                waiting.append(next_node)
    return hops


def length(cell: Cell) -> float:
    """Return how long a cell lasts if every bottleneck is shared equally, and busy once slow start
    has filled it, s.

    A flow's file needs its frames' time at the rate times the flows that share the bottleneck; the
    last of several equal flows ends when all of their bytes have passed. A video lasts as long as
    it plays. Random losses may let a flow take longer (loss_rate.py).
    """
    limits = [ns for ns in (cell.duration_ns, cell.deadline_ns) if ns is not None]
    if cell.duration_ns is not None:
        return min(limits) / 1e9
    rates = passing_bps(cell)
    waiting: dict[tuple[str, str], float] = defaultdict(float)
    for flow in cell.flows:
        waiting[flow.bottleneck] += work_s(flow, rates[flow.bottleneck])
    sharing = Counter(flow.bottleneck for flow in cell.flows)
    ends, lossy = [], lossy_links(cell)
    for flow in cell.flows:
        start_s = flow.start_ns / 1e9
        if flow.stop_ns is not None:
            ends.append(flow.stop_ns / 1e9)
        elif flow.workload.time_limit_s is not None:
            ends.append(start_s + flow.workload.time_limit_s)
        elif wanted_bytes(flow) is not None:
            equal_s = work_s(flow, rates[flow.bottleneck]) * sharing[flow.bottleneck]
            shared_s = min(equal_s, waiting[flow.bottleneck])
            shared_s += starting_s(cell, flow, rates[flow.bottleneck])
            busy_s = max(shared_s, losing_s(cell, flow, lossy))
            alone_s = flow.workload.alone_s(flow)
            waits = flow.workload.pauses
            ends.append(start_s + (busy_s + alone_s if waits else max(busy_s, alone_s)))
        else:
            ends.append(cell.deadline_ns / 1e9)
    if not ends:
        return 0.0
    chosen = min(ends) if cell.stop == "first" else max(ends)
    return min(chosen, min(limits) / 1e9)


def starting_s(cell: Cell, flow: Flow, rate_bps: int) -> float:
    """Return how long a flow does not fill a link of this rate while it starts, s: in the round
    trips of its handshake and of its request, and in those of slow start, whose windows grow
    twofold; 0 of workloads that pause, which count their own round trips.

    Between proxies connections are open and their windows large: only the request's is left.
    """
    if flow.transport == "udp" or flow.workload.pauses:
        return 0.0
    rtt_s = flow.base_rtt_ns / 1e9
    if cell.is_split:
        return rtt_s
    packet_s = flow.frame_bytes * 8 / rate_bps
    left = (wanted_bytes(flow) or 0) / segment_bytes(flow.mtu) / flow.connections
    window = float(flow.options.initial_window_packets)
    idle_s = 2 * rtt_s
    while window < left and window * packet_s < rtt_s:
        idle_s += rtt_s - window * packet_s
        left -= window
        window *= 2
    return idle_s


def losing_s(cell: Cell, flow: Flow, lossy: Mapping[Place, float]) -> float:
    """Return how long a flow takes because packets are lost at random, s; 0 across proxies, whose
    losses are on a part of the round trip, and of workloads that pause, which begin anew.

    lossy: of `lossy_links`.
    """
    if not lossy or flow.transport == "udp" or cell.is_split or flow.workload.pauses:
        return 0.0
    packets = (wanted_bytes(flow) or 0) / segment_bytes(flow.mtu)
    loss, rtt_s = random_loss(cell, flow, lossy), flow.base_rtt_ns / 1e9
    return min(LONGEST_S, moving_s(flow.cca, packets, flow.connections, loss, rtt_s))


def lossy_links(cell: Cell) -> dict[Place, float]:
    """Return the probability that a packet is lost at random, of each egress that loses some: the
    median of its states.
    """
    found = {}
    for place, interface in interfaces_of(cell).items():
        states = (interface.impairment, *(change.impairment for change in interface.changes))
        losses = [state.lost for state in states if state is not None]
        if losses and (loss := statistics.median(losses)):
            found[place] = loss
    return found


def random_loss(cell: Cell, flow: Flow, lossy: Mapping[Place, float]) -> float:
    """Return the probability that a data packet is lost at random on the way with the fewest
    cables; lossy: of `lossy_links`.
    """
    ways: dict[str, list[tuple[Place, str]]] = defaultdict(list)
    for cable in cell.cables:
        for here, there in ((cable.a, cable.b), (cable.b, cable.a)):
            ways[here[0]].append((here, there[0]))
    came: dict[str, Place | None] = {flow.server: None}
    waiting = [flow.server]
    for node in waiting:
        for place, other in ways[node]:
            if other not in came:
                came[other] = place
                waiting.append(other)
    passed, at = 1.0, came.get(flow.client)
    while at is not None:
        passed *= 1 - lossy.get(at, 0.0)
        at = came[at[0]]
    return 1 - passed


def wanted_bytes(flow: Flow) -> int | None:
    """Return the bytes that all connections of a flow transfer; None if there is no end."""
    return flow.workload.total_bytes(flow.connections)


def browsers_s(costs: Costs, cell: Cell) -> float:
    """Return the wall seconds that browsers add to a cell, apart from those of its packets."""
    return sum(load_s * loads for load_s, loads in _in_browsers(costs, cell))


def beside_s(costs: Costs, cell: Cell) -> float:
    """Return the wall seconds of the load from the client itself, which only repetition 1 has."""
    if cell.repetition != 1:
        return 0.0
    return sum(load_s for load_s, _ in _in_browsers(costs, cell))


def _in_browsers(costs: Costs, cell: Cell) -> Iterator[tuple[float, int]]:
    """Yield the wall seconds of each load in a flow's browser, its start and its work for each
    byte, and the number of its loads.
    """
    for flow in cell.flows:
        if flow.browser:
            loads = len(flow.workload.http_versions)
            size = (wanted_bytes(flow) or 0) // loads
            yield costs.browser_load_s + costs.browser_per_byte_s * size, loads


def offered_bps(flow: Flow) -> float | None:
    """Return the average offered load of a flow without an end, bit/s; None: as much as the network
    carries.
    """
    return flow.workload.offered_bps(flow.connections, flow.rate_bps)


def work_s(flow: Flow, rate_bps: int) -> float:
    """Return the time of a flow's bytes alone on its bottleneck of this rate, s; 0 if there is no
    end.
    """
    frames = (wanted_bytes(flow) or 0) / segment_bytes(flow.mtu)
    return frames * flow.frame_bytes * 8 / rate_bps


def packets(cell: Cell, length_s: float) -> float:
    """Return how many data packets pass the bottlenecks of a cell."""
    return sum(sent for _, sent in alike(cell, length_s))


def alike(cell: Cell, length_s: float) -> Iterator[tuple[list[Flow], float]]:
    """Yield the flows of each bottleneck, those over UDP and the others, with their data packets.

    A flow that sends as much as the network carries fills its bottleneck, and datagrams come in
    addition: they may be so small that they take little of it.
    """
    flows: dict[tuple[str, str], list[Flow]] = defaultdict(list)
    for flow in cell.flows:
        flows[flow.bottleneck].append(flow)
    rates = passing_bps(cell)
    for place, here in flows.items():
        bits = rates[place] * length_s
        for over_udp in (True, False):
            if found := [flow for flow in here if (flow.transport == "udp") == over_udp]:
                yield found, _bounded(found, bits, length_s)


def _bounded(flows: Sequence[Flow], bits: float, length_s: float) -> float:
    """Return how many packets flows send over a link; bits: what it can carry in that time."""
    possible = bits / (8 * min(flow.data_frame_bytes for flow in flows))
    wanted = [sent_by(flow, length_s) for flow in flows]
    known = [sent for sent in wanted if sent is not None]
    return min(possible, sum(known)) if len(known) == len(wanted) else possible


def recorded(cell: Cell, length_s: float) -> float:
    """Return how many packets all captures of a cell record, in records of whole captures.

    A flow passes the points of its bottlenecks and of those that are no flow's own, at each of them
    one of the captures (those in front of a queue, one for each interface, see different packets);
    its ACKs, one for two packets, pass those of any other queue; and all senders together capture
    its headers once.
    """
    seen = {(capture.point, capture.queue) for capture in cell.captures}
    points = Counter(queue for point, queue in seen if point != "sender")
    at_senders = HEADERS_BYTES / RECORD_BYTES if len(seen) > points.total() else 0.0
    others = {place for place, each in interfaces_of(cell).items() if each.bottleneck} - {
        place for flow in cell.flows for place in (flow.bottleneck, *flow.further_bottlenecks)
    }
    total = 0.0
    for flows, sent in alike(cell, length_s):
        passed = 0.0
        for flow in flows:
            own = {flow.bottleneck, *flow.further_bottlenecks} | others
            passed += sum(points[queue] for queue in own)
            passed += 0.5 * max((n for queue, n in points.items() if queue not in own), default=0)
        total += sent * (passed / len(flows) + at_senders)
    return total


def results_bytes(cell: Cell) -> float:
    """Return the size of a cell's artefacts before compression, bytes, as far as its plan shows."""
    length_s = length(cell)
    sent = packets(cell, length_s)
    lines = sum(flow.connections * length_s * 1e9 / flow.sample_every_ns for flow in cell.flows)
    of_devices = sum(device.record_bytes for device in cell.devices)
    each = of_devices + LOGGED_PACKET_BYTES * quic_share(cell, length_s)
    record = 16 + snaplen(cell) if cell.captures_whole else RECORD_BYTES
    return record * recorded(cell, length_s) + each * sent + LINE_BYTES * lines


def sent_by(flow: Flow, length_s: float) -> float | None:
    """Return how many data packets a flow offers; None: as many as the network carries."""
    total, offered = wanted_bytes(flow), offered_bps(flow)
    if flow.transport == "udp":
        if total is not None:
            return total / max(1, flow.packet_bytes - UDP_IP_BYTES)
        return None if offered is None else offered * length_s / (8 * flow.packet_bytes)
    if total is None and offered is None:
        return None
    return ((offered or 0) * length_s / 8 if total is None else total) / segment_bytes(flow.mtu)


def quic_share(cell: Cell, length_s: float) -> float:
    """Return the fraction of data packets that go over QUIC, 0 to 1; flows without an end count
    equally.
    """
    wanted = [sent_by(flow, length_s) for flow in cell.flows]
    weights = [1.0 if None in wanted or sent is None else sent for sent in wanted]
    over = sum(weight * quic_part(flow) for weight, flow in zip(weights, cell.flows, strict=True))
    return over / sum(weights) if any(weights) else 0.0


def quic_part(flow: Flow) -> float:
    """Return the fraction of a flow that goes over QUIC: of page loads, those over HTTP/3."""
    if versions := flow.workload.http_versions:
        return versions.count("h3") / len(versions)
    return float(flow.transport == "quic")
