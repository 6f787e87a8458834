"""The measurement of one cell: everything that metrics and checks read, loaded once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import (
    Cell,
    Flow,
    Subflow,
)
from fairc.dsl.model.names import called, label_of

from . import arrivals
from .applications import Transfers
from .artefacts import NS
from .demand import demand_bps
from .paths import Paths, Place, max_min
from .round_trips import unknown
from .selection import ends_of, packets_of
from .slots import edges

if TYPE_CHECKING:  # what reads files: metrics need none of it to say what they are
    from . import qdisc
    from .arrivals import Curve
    from .artefacts import CaptureCounts, Ending
    from .changes import AppliedChange, History
    from .devices import DeviceRecord
    from .endpoints import Endpoints
    from .loads import PageLoad
    from .pcap import Packets
    from .processing import Processing
    from .queues import QueueRecord
    from .round_trips import RoundTrips, SenderCapture
    from .tunnels import EndRecord

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
T = TypeVar("T")
SLOT_S = 0.1


@dataclass(frozen=True, slots=True)
class Pings:
    """Round trips of small packets on the idle network, before the epoch."""

    sent: int
    rtts_s: Floats


@dataclass(frozen=True, slots=True)
class CpuLoad:
    """CPU time of the machine per slot: at `t_s` (its end), `busy_s` out of `total_s`."""

    t_s: Floats
    busy_s: Floats
    total_s: Floats

    @property
    def share(self) -> Floats:
        """Busy share of each slot, 0 where no time passed."""
        return np.divide(
            self.busy_s, self.total_s, out=np.zeros(len(self.t_s)), where=self.total_s > 0
        )


def _files(flow: FlowRecord) -> Transfers:
    """Return the files that a flow's connections were opened for.

    A connection that does not report when it was opened counts from its planned start; one due when
    the flow was already stopped never began.
    """
    end_s = flow.stop_s
    planned_s = {n: ns * NS for n, ns in enumerate(flow.plan.starts_ns) if ns * NS < end_s}
    opened_s, done_s = planned_s | dict(flow.endpoints.opened_s), flow.endpoints.done_s
    return Transfers(
        start_s=np.array([opened_s[c] for c in done_s], np.float64),
        duration_s=np.array([t - opened_s[c] for c, t in done_s.items()], np.float64),
        unfinished_s=np.array([t for c, t in opened_s.items() if c not in done_s], np.float64),
    )


@dataclass(frozen=True, slots=True)
class Passage:
    """A flow's packets at a bottleneck.

    left, entered: masks over the frames that left and entered its queue.
    """

    queue: QueueRecord
    left: Bools
    entered: Bools

    @classmethod
    def of(cls, cell: Cell, flow: Flow, queue: QueueRecord) -> Passage:
        """Return the passage of a flow at a queue."""
        left = packets_of(cell, flow, queue.left)
        return cls(queue, left, packets_of(cell, flow, queue.entered))

    def apportion(self, sizes: NDArray[np.int64], edges_s: Floats) -> Floats:
        """Return bytes at the queue's exit between edges, by serialisation time; sizes: of all
        frames that left it.
        """
        return self.queue.carried_bytes(sizes, edges_s, self.left)


@dataclass(frozen=True)
class FlowRecord:
    """One flow (one session): its plan, what its programs saw, and its packets at the exit.

    passages: its packets at its bottleneck, and at those of the other paths that it takes. pings:
    None where none were sent between its hosts. arrived: packets of its server as its client's own
    interface received them. watched: what its sender's interfaces saw. echoes: round trips of its
    pings by what their echoes say. None where these are not captured. epoch_ns: zero of all times.
    """

    plan: Flow
    endpoints: Endpoints
    passages: tuple[Passage, ...]
    pings: Pings | None
    arrived: Packets | None
    watched: SenderCapture | None
    echoes: RoundTrips | None
    epoch_ns: int
    ended_s: float

    @property
    def name(self) -> str:
        """The flow's name in the language; its files have `plan.name`."""
        return label_of(self.plan)

    @property
    def queue(self) -> QueueRecord:
        """The queue of its bottleneck, on the path that it takes first."""
        return self.passages[0].queue

    @property
    def left(self) -> Bools:
        """Which frames that left that queue are its own."""
        return self.passages[0].left

    @property
    def entered(self) -> Bools:
        """Which frames that entered that queue are its own."""
        return self.passages[0].entered

    def at(self, queue: QueueRecord) -> Passage | None:
        """Return its passage of a queue; None: that is no bottleneck of its paths."""
        return next((each for each in self.passages if each.queue is queue), None)

    @property
    def start_s(self) -> float:
        """When the plan starts its first connection, s after the epoch.

        For an image or a program of the user's own, when it sent its first packet: it takes some
        time to start, which is not the network's. For one that measures itself, when the last
        stream was opened: it shakes hands on another connection first.
        """
        if self.starts_by_itself:
            return self.endpoints.opened_s.get(0, self.plan.start_ns * NS)
        if self.plan.workload.measures_itself:
            return max(self.endpoints.opened_s.values(), default=self.plan.start_ns * NS)
        return self.plan.start_ns * NS

    @property
    def end_s(self) -> float:
        """Its last byte or its stop, else the end of the cell; s after the epoch."""
        end = self.endpoints.end_s
        return self.ended_s if end is None else min(end, self.ended_s)

    @property
    def stop_s(self) -> float:
        """When it was stopped, or the cell ended; s after the epoch."""
        stop_ns = self.plan.stop_ns
        return self.ended_s if stop_ns is None else min(stop_ns * NS, self.ended_s)

    @property
    def before_stop(self) -> Bools:
        """Which samples of its sender are no later than its stop, or the end of the cell: then what
        it has sent drains, and its window is no longer in use. All, if it was completed.
        """
        until_s = math.inf if self.endpoints.completed else self.stop_s
        return np.asarray(self.endpoints.samples.t_s <= until_s, np.bool_)

    @property
    def due_s(self) -> Floats:
        """When its samples were due, s after the epoch, shape (samples,).

        That is the multiple of their interval at which the process of the sender woke up, where it
        took them at most a tenth of the interval later: of several that wake up at once, each
        begins when the one before has ended. Others were due when they were taken.
        """
        t_s, every_s = self.endpoints.samples.t_s, self.plan.sample_every_ns * NS
        due_s = np.floor(t_s / every_s + 1e-6) * every_s
        return np.where(t_s - due_s <= every_s / 10, due_s, t_s)

    @property
    def is_greedy(self) -> bool:
        """Whether its server always has something to send, until everything is sent."""
        return self.plan.workload.greedy

    def while_sending(self, ours: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the samples of a connection over QUIC while its server had something to send, at
        least the first one.

        ours: the connection's samples. What is left out: its last two round trips, in which its
        last packets are in flight, and of a file what follows the moment at which all of it had
        been sent. A loss then, or a queue that drains slowly, is repaired for many round trips.
        """
        samples = self.endpoints.samples
        sending = samples.t_s[ours] <= samples.t_s[ours[-1]] - 2 * samples.rtt_s[ours].max()
        size = self.plan.workload.total_bytes(1) if self.is_greedy else None
        if size is not None:
            sending &= ~np.logical_or.accumulate(samples.sent_bytes[ours] >= size)
        return ours[: max(1, int(sending.sum()))]

    @property
    def demand_bps(self) -> float | None:
        """What it wants on the wire at most, on average, bit/s of frames (`demand.demand_bps`).

        What wants payload wants no less than it got: handshakes and small packets come on top.
        """
        framing, lasts_s = self.queue.interface.framing, self.end_s - self.start_s
        wanted = demand_bps(self.plan, framing)
        if wanted is None or not self.plan.workload.of_payload or lasts_s <= 0:
            return wanted
        got = self.frame_bytes(np.array([self.start_s, self.end_s]))
        return max(wanted, 8 * float(got[0]) / lasts_s)

    @property
    def plays_videos(self) -> bool:
        """Whether its clients watch videos."""
        return self.plan.workload.records == "videos"

    @property
    def loads_pages(self) -> bool:
        """Whether its client loads pages."""
        return self.plan.workload.records == "loads"

    @property
    def starts_by_itself(self) -> bool:
        """Whether its client takes some time to start: an image, a program of the user's own."""
        return self.plan.image is not None or self.plan.workload.own_code is not None

    def received_in(self, load: PageLoad) -> tuple[Curve, ...]:
        """Return what each connection of a load received over time; none without the capture."""
        if self.arrived is None:
            return ()
        return arrivals.curves(load, self.arrived, self.epoch_ns)

    @property
    def transfers(self) -> Transfers | None:
        """Its short transfers: requests, or the files of its connections; None if it has
        neither.
        """
        if self.plan.workload.records != "transfers":
            return None
        return _files(self) if self.is_greedy else self.endpoints.requests.transfers

    def ip_bytes(self, edges_s: Floats) -> Floats:
        """Return IP bytes at the bottlenecks' exits between edges, by serialisation time."""
        return _sum(one.apportion(one.queue.left.ip_bytes, edges_s) for one in self.passages)

    def frame_bytes(self, edges_s: Floats) -> Floats:
        """Return frame bytes at the bottlenecks' exits between edges, by serialisation time."""
        return _sum(one.apportion(one.queue.left.frame_bytes, edges_s) for one in self.passages)

    def delivered_bytes(self, edges_s: Floats) -> Floats:
        """Return application bytes delivered to the client between edges."""
        return np.diff(self.endpoints.progress.at(edges_s))

    def active(self, edges_s: Floats) -> Bools:
        """Return which slots lie wholly between the first data and the end (rule 15)."""
        first = self.endpoints.first_byte_s
        if first is None:
            return np.zeros(len(edges_s) - 1, np.bool_)
        return np.asarray((edges_s[:-1] >= first) & (edges_s[1:] <= self.end_s), np.bool_)


def _sum(parts: Iterable[Floats]) -> Floats:
    """Return the sum of at least one array."""
    total, *others = parts
    for other in others:
        total = total + other
    return total


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a cell's time, s after the epoch; its end is no longer in it.

    begin_s: None: when the warm-up ends.
    """

    begin_s: float | None = None
    end_s: float = math.inf


@dataclass(frozen=True)
class Measurement:
    """One cell, measured. flows are in the order of the plan, queues by name; times in s.

    window: what metrics see of it; None: everything after the warm-up. devices: what each kind of
    device left behind, by its name: as its `record.py` reads it (mechanisms/devices).
    """

    cell: Cell
    ending: Ending
    flows: tuple[FlowRecord, ...]
    queues: tuple[QueueRecord, ...]
    busy: CpuLoad
    qdiscs_before: Mapping[Place, tuple[qdisc.Counters, ...]]
    qdiscs_after: Mapping[Place, tuple[qdisc.Counters, ...]]
    capture_counts: Mapping[str, CaptureCounts | None]
    cut_captures: Mapping[str, int]
    histories: Mapping[Place, History]
    processing: Processing
    reroutings: Mapping[str, tuple[AppliedChange, ...]] = field(default_factory=dict)
    devices: Mapping[str, Sequence[DeviceRecord]] = field(default_factory=dict)
    tunnels: tuple[EndRecord, ...] = ()
    window: Window | None = None

    def within(self, window: Window) -> Measurement:
        """Return the same cell, of which metrics see a window alone."""
        seen = replace(self, window=window)
        # What was computed for the whole cell holds for each of its windows.
        for name in ("paths", "_known", "data_paths"):
            seen.__dict__[name] = getattr(self, name)
        return seen

    @property
    def device_records(self) -> Iterator[DeviceRecord]:
        """What all devices left behind."""
        return itertools.chain.from_iterable(self.devices.values())

    def dropped_by_devices(self, flow: FlowRecord) -> float:
        """Return the share of a flow's packets that devices drop; 0 where none does."""
        return 1 - math.prod(each.passed(self, flow) for each in self.device_records)

    def held_s(self, place: Place) -> float:
        """Return the longest that a device held a packet in front of a queue, s."""
        return max((each.held_s(place) for each in self.device_records), default=0.0)

    def round_trips(self, flow: FlowRecord, path: Subflow | None = None) -> RoundTrips:
        """Return the round trips of a flow's packets. path: of Multipath TCP, alone.

        Raises ArtefactError for a capture that cannot be read.
        """
        return self.once(("round trips", flow.name, path), lambda: self._round_trips(flow, path))

    def at_sender(self, flow: FlowRecord) -> tuple[Packets, Packets] | str:
        """Return the packets with data that a flow's sender transmitted, and the ACKs that it
        received; or why they are not known.
        """
        if not self.paths.before(flow.plan.bottleneck, flow.plan):
            return "the bottleneck is on the server itself, whose capture does not see its queue"
        if flow.watched is None:
            return "packets were not captured at its sender"
        return flow.watched.directions(self.cell, flow.plan)

    def crossed_bytes(self, flow: FlowRecord, path: Subflow, edges_s: Floats) -> Floats:
        """Return how far the sequence numbers of a path's subflows that crossed its bottleneck grew
        between edges, bytes.
        """
        queue = next(one.queue for one in flow.passages if one.queue.place == path.bottleneck)
        packets = queue.delivered
        mine = packets_of(self.cell, flow.plan, packets) & ends_of(path, packets)
        packets = packets.select(mine & (packets.payload_bytes > 0))
        t_s = queue.seconds(packets)
        total = np.zeros(len(edges_s) - 1)
        for port in np.unique(packets.destination_port):
            ours = packets.destination_port == port
            step = np.diff(packets.sequence[ours].astype(np.int64))
            near = (step + (1 << 31)) % (1 << 32) - (1 << 31)
            begin = np.concatenate(([0], np.cumsum(near)))
            highest = np.maximum.accumulate(begin + packets.payload_bytes[ours])
            known = np.concatenate(([0], highest))
            total += np.diff(known[np.searchsorted(t_s[ours], edges_s, side="left")])
        return total

    def _round_trips(self, flow: FlowRecord, path: Subflow | None) -> RoundTrips:
        if flow.plan.transport == "udp" and not flow.plan.workload.echoes:
            return unknown("nobody acknowledges datagrams of UDP")
        if not self.paths.before(flow.plan.bottleneck, flow.plan):
            if flow.echoes is not None:
                return flow.echoes
            return unknown(
                "the bottleneck is on the server itself, whose capture does not see its queue"
            )
        if flow.watched is None:
            return unknown("packets were not captured at its sender")
        return flow.watched.of(self.cell, flow.plan, flow.endpoints.packet_log, flow.epoch_ns, path)

    @property
    def captured(self) -> bool:
        """Whether packets were captured."""
        return self.cell.captured == "full"

    @property
    def ended_s(self) -> float:
        """The end of the cell, s after the epoch."""
        return self.ending.ended_ns * NS

    @property
    def warmup_s(self) -> float:
        """The warm-up's end, s after the epoch."""
        return self.cell.warmup_ns * NS

    @property
    def begin_s(self) -> float:
        """When measuring begins, s after the epoch: with the window, else when the warm-up ends."""
        begin_s = None if self.window is None else self.window.begin_s
        return self.warmup_s if begin_s is None else begin_s

    @property
    def until_s(self) -> float:
        """When measuring ends, s after the epoch: with the window; else infinite."""
        return math.inf if self.window is None else self.window.end_s

    @property
    def when(self) -> str:
        """What is measured of its time, as text."""
        return "after the warm-up" if self.window is None else "in the window"

    def counts(self, t_s: Floats) -> Bools:
        """Return which of some times are measured: from the beginning until before the end."""
        return np.asarray((t_s >= self.begin_s) & (t_s < self.until_s), np.bool_)

    @cached_property
    def paths(self) -> Paths:
        """The network as packets find their way through it."""
        return Paths(self.cell)

    def once(self, key: object, compute: Callable[[], T]) -> T:
        """Return what a reader of this cell computes, at the first call with its key.

        key: the reader's own; always with results of one type. What is computed once holds for all
        windows of the cell, so the key of what depends on the window has its edges.
        """
        if key not in self._known:
            self._known[key] = compute()
        return cast(T, self._known[key])

    @cached_property
    def _known(self) -> dict[object, object]:
        return {}

    @property
    def seen_queues(self) -> tuple[QueueRecord, ...]:
        """The queues whose packets are captured before and after them."""
        return tuple(queue for queue in self.queues if not queue.blind)

    def edges(self, slot_s: float = SLOT_S) -> Floats:
        """Return the borders of all slots from the epoch to the last event, s."""
        last = self.ended_s
        for queue in self.queues:
            last = max(last, float((queue.begin_s + queue.lasts_s).max(initial=0.0)))
        return edges(slot_s, last)

    def sessions(self, names: tuple[str, ...]) -> tuple[FlowRecord, ...]:
        """Return the flows with these names, each once, or all flows if there are no names.

        The name of a flow that runs on users, or that of the users, stands for the flow of each
        user, and the name of flows with an index for all of them.
        """
        if not names:
            return self.flows
        named = (flow for name in names for flow in self.flows if name in called(flow.plan))
        return tuple({flow.name: flow for flow in named}.values())

    def crossed(self, flow: FlowRecord) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        """Return a flow's passages of the bottlenecks that its data come to first, and of those
        behind them on its paths: all queues on them that are captured.
        """
        return self.once(("crossed", flow.name), lambda: self._crossed(flow))

    def _crossed(self, flow: FlowRecord) -> tuple[tuple[Passage, ...], tuple[Passage, ...]]:
        queues = {queue.place: queue for queue in self.queues}
        times_ns = (None, *self.paths.reroutings_ns)
        ways = {way for at_ns in times_ns for way in self.paths.ways(flow.plan, at_ns)}
        rows = [[place for place in way if place in queues] for way in ways]
        first = {row[0] for row in rows if row}
        later = {place for row in rows for place in row[1:]} - first
        first |= {one.queue.place for one in flow.passages} - later
        if self.paths.reroutings_ns and not self.cell.tunnels:  # what is under way then goes on
            later |= self.paths.ever(flow.plan)[0] & queues.keys() - first

        def passages(places: set[Place]) -> tuple[Passage, ...]:
            each = (queues[place] for place in sorted(places))
            return tuple(flow.at(q) or Passage.of(self.cell, flow.plan, q) for q in each)

        return passages(first), passages(later)

    def split(self, flow: FlowRecord) -> bool:
        """Return whether proxies split the TCP connections of a flow."""
        return any(flow.plan.port in device.split_ports for device in self.cell.devices)

    def unseen(self, flow: FlowRecord) -> bool:
        """Return whether a flow's packets at the bottleneck cannot be identified.

        That is so if it shares its proxies with other flows, or there are no captures.
        """
        return not self.captured or any(
            flow.plan.port in device.split_ports and len(device.split_ports) > 1
            for device in self.cell.devices
        )

    def capacity_bits(self, flow: FlowRecord, edges_s: Floats) -> Floats:
        """Return what the links that a flow may use can send between edges, bit.

        Of several bottlenecks each counts while a path of the flow leads there that is not down.
        """
        if len(flow.passages) == 1:
            return flow.queue.capacity_bits(edges_s)
        turns_s = self._turns_s
        inside = turns_s[(edges_s[0] < turns_s) & (turns_s < edges_s[-1])]
        fine_s = np.unique(np.concatenate((edges_s, inside)))
        total = np.zeros(len(fine_s) - 1)
        middle_s = (fine_s[:-1] + fine_s[1:]) / 2
        usable = [self._usable(flow, float(t_s)) for t_s in middle_s]
        for one in flow.passages:
            open_ = np.array([one.queue.place in places for places in usable])
            total += np.where(open_, one.queue.capacity_bits(fine_s), 0.0)
        slot = np.searchsorted(edges_s, middle_s, side="right") - 1
        bits: Floats = np.bincount(slot, total, minlength=len(edges_s) - 1).astype(np.float64)
        return bits

    def carried_on(self, flow: FlowRecord, edges_s: Floats) -> Floats:
        """Return frame bytes of a flow at its bottlenecks' exits between edges, by serialisation
        time, without those that leave while a link of every path over the bottleneck is down.
        """
        turns_s = self._turns_s
        if not len(turns_s):
            return flow.frame_bytes(edges_s)
        ends_s = np.concatenate((turns_s[:1] - 1, turns_s, turns_s[-1:] + 1))
        middle_s = (ends_s[:-1] + ends_s[1:]) / 2
        times_ns = (None, *self.paths.reroutings_ns)
        ways = {way for at_ns in times_ns for way in self.paths.ways(flow.plan, at_ns)}
        total = np.zeros(len(edges_s) - 1)
        for one in flow.passages:
            queue = one.queue
            stage = np.searchsorted(turns_s, queue.left_s, side="right")
            is_open = np.zeros(len(middle_s), np.bool_)
            over = [way for way in ways if queue.place in way]
            for number in np.unique(stage[one.left]):
                t_s = float(middle_s[number])
                is_open[number] = any(self._is_up(way, t_s) for way in over)
            sizes = queue.left.frame_bytes
            total += queue.carried_bytes(sizes, edges_s, one.left & is_open[stage])
        return total

    @cached_property
    def _turns_s(self) -> Floats:
        """When paths may open or close: routes change, or links, s after the epoch."""
        turns = [ns * NS for ns in self.paths.reroutings_ns]
        for history in self.histories.values():
            turns += [done.end_s for done, change in history.done if change.impairment]
        return np.unique(np.array(turns, np.float64))

    def _usable(self, flow: FlowRecord, t_s: float) -> set[Place]:
        """Return the interfaces on those paths of a flow that get packets across at a time."""
        ways = self.paths.ways(flow.plan, round(t_s / NS))
        return {place for way in ways if self._is_up(way, t_s) for place in way}

    def _is_up(self, way: Sequence[Place], t_s: float) -> bool:
        """Return whether no link of a way is down at a time."""
        return not any(self.histories[place].is_down(t_s) for place in way)

    @cached_property
    def data_paths(self) -> dict[str, tuple[Place, ...]]:
        """The egress interfaces that each flow's data passes, by the flow's name."""
        return {flow.name: self.paths.of(flow.plan) for flow in self.flows}

    def rates_bps(self, edges_s: Floats) -> dict[Place, Floats]:
        """Return the mean rate between edges of each link that has one, by the interface where it
        begins; arrays of shape (slots,). Where it changes and frames are captured, each frame
        counts at its own rate.
        """
        changing = {queue.place: queue for queue in self.queues if queue.history.changes_rate}
        return {
            place: changing.get(place, self.histories[place]).capacity_bits(edges_s)
            / np.diff(edges_s)
            for place, interface in self.paths.interfaces.items()
            if interface.shaper is not None
        }

    def fair_share_bps(self, edges_s: Floats, *, of_running: bool = False) -> dict[str, Floats]:
        """Return each flow's max-min fair rate on the wire between edges, all flows competing.

        Each link has its mean rate between the edges, each flow its mean demand; one whose demand
        is not known takes all there is. Arrays of shape (slots,).

        of_running: a flow competes from its start to its end. A slot then has the mean of the times
        in which the flow does; infinity where it does not.
        """
        wanted = {flow.name: flow.demand_bps for flow in self.flows}
        demands = {name: bps for name, bps in wanted.items() if bps is not None}
        paths = self.data_paths
        if len(edges_s) < 2:
            return {name: np.empty(0) for name in paths}
        cuts_s, runs = edges_s, np.ones((len(paths), len(edges_s) - 1), dtype=bool)
        if of_running:
            begins, ends = np.array([(flow.start_s, flow.end_s) for flow in self.flows]).T
            times = np.concatenate([edges_s, begins, ends])
            cuts_s = np.unique(times[(edges_s[0] <= times) & (times <= edges_s[-1])])
            runs = (begins[:, None] <= cuts_s[:-1]) & (cuts_s[1:] <= ends[:, None])
        shaped = self.rates_bps(cuts_s)
        table = np.stack([*shaped.values(), *runs])
        kinds, which = np.unique(table, axis=1, return_inverse=True)
        shares = []
        for column in kinds.T:
            rates, there = column[: len(shaped)], column[len(shaped) :]
            competing = {
                name: path for (name, path), one in zip(paths.items(), there, strict=True) if one
            }
            shares.append(max_min(competing, dict(zip(shaped, rates, strict=True)), demands))
        which = which.reshape(-1)
        found = {
            name: np.array([share.get(name, math.inf) for share in shares])[which] for name in paths
        }
        if len(cuts_s) == len(edges_s):
            return found
        first, lasts_s = np.searchsorted(cuts_s, edges_s[:-1]), np.diff(cuts_s)
        for (name, bps), there in zip(found.items(), runs, strict=True):
            running_s = np.add.reduceat(np.where(there, lasts_s, 0.0), first)
            bits = np.add.reduceat(np.where(there, bps, 0.0) * lasts_s, first)
            found[name] = np.divide(
                bits, running_s, out=np.full(len(first), math.inf), where=running_s > 0
            )
        return found
