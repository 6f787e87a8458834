"""A bottleneck queue as three captures saw it: entry, exit, delivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fairc.cell.frames import ETHERNET_BYTES
from fairc.cell.framing import ETHERNET, Framing
from fairc.cell.links import lower_name
from fairc.compiler.plan import Impairment, Interface
from fairc.mechanisms.queues.discipline import Discipline
from fairc.mechanisms.queues.registry import QUEUES
from fairc.runtime.arrays import Bools, Floats

from . import pcap, qdisc
from .artefacts import ArtefactError
from .changes import NEAR_S, AppliedChange, History
from .checksums import BROKEN, UNREAD
from .frame_times import divided_ns, multiplied_ns
from .matching import Matching, Order, lines, match
from .media import Aggregates, model_of
from .paths import Paths, Place
from .processing import NONE, Processing
from .replay import DropTail
from .slots import apportion

Qdiscs = Mapping[Place, tuple[qdisc.Counters, ...]]


@dataclass(frozen=True)
class QueueRecord:
    """The record of one queue: what passed it, from before the epoch to the end; all frames, not
    only the flows'.

    entered, left, delivered: packets at the three points, in order of time. through: entered
    found again in left. behind: left found again in delivered. blind: packets reach the queue
    unseen, because the bottleneck is on a flow's server itself, or nothing is captured: what
    depends on their arrival (delay, drops, backlog) is unknown. bucket_bytes: what a token bucket
    holds, 0 for a shaper without one. epoch_ns: zero of `*_s`.
    kept_out: packets that came and that the medium was not to let in, which are not among
    `entered`; None: it lets all in. late_s: how much later than it left a frame may come to the
    link itself: its host's processing. strays: how many frames came as routes changed and did not
    leave by this queue; it dropped them, or they went another way.
    """

    place: Place
    interface: Interface
    history: History
    entered: pcap.Packets
    left: pcap.Packets
    delivered: pcap.Packets
    through: Matching
    behind: Matching
    blind: bool
    bucket_bytes: int
    epoch_ns: int
    kept_out: pcap.Packets | None = None
    late_s: float = 0.0
    strays: int = 0

    @property
    def name(self) -> str:
        """`node/interface`."""
        return "/".join(self.place)

    @property
    def rate_bps(self) -> float:
        """The planned rate, bit/s: before any change; for a trace, its mean."""
        assert self.interface.shaper is not None
        return float(self.interface.shaper.rate_bps)

    @property
    def is_bucket(self) -> bool:
        """Whether frames take no time on the link, behind a token bucket."""
        return self.interface.shaper is None or self.interface.shaper.transmitter is None

    def seconds(self, packets: pcap.Packets) -> Floats:
        """Return the times of packets, s after the epoch."""
        after_epoch: Floats = (packets.time_ns - self.epoch_ns).astype(np.float64) * 1e-9
        return after_epoch

    @cached_property
    def aggregates(self) -> Aggregates | None:
        """What a medium must have done with the frames that left it; None: it has a shaper, or is
        blind.
        """
        shaper = self.interface.shaper
        if self.blind or shaper is None or shaper.medium is None:
            return None
        left_ns = self.left.time_ns - self.epoch_ns
        arrival_s = np.where(np.isnan(self.arrival_s), -np.inf, self.arrival_s)
        first_ns = int(left_ns[0]) if len(left_ns) else 0
        arrival_ns = np.round(np.maximum(arrival_s, first_ns * 1e-9 - 3600) * 1e9).astype(np.int64)
        return model_of(shaper.medium).aggregates(
            shaper.medium, self.history, arrival_ns, left_ns, self.left.frame_bytes
        )

    @cached_property
    def left_s(self) -> Floats:
        """When each frame left the queue, s after the epoch; of an aggregate, when its own bits
        begin to be sent.
        """
        sent = self.aggregates
        return self.seconds(self.left) if sent is None else sent.begin_ns.astype(np.float64) * 1e-9

    @cached_property
    def taken_s(self) -> Floats:
        """When each frame that left ceased to count in the queue, s after the epoch."""
        sent = self.aggregates
        return self.left_s if sent is None else sent.taken_ns.astype(np.float64) * 1e-9

    @cached_property
    def serialisation_s(self) -> Floats:
        """How long each frame that left occupies the link: frame / rate as it left, s."""
        length: Floats = 8 * self.left.frame_bytes / self.history.rate_bps(self.left_s)
        return length

    @cached_property
    def paced_ns(self) -> NDArray[np.int64]:
        """How long the kernel lets each frame that left last, ns: whole, so up to 1 ns less than
        frame / rate. Media have another model.
        """
        shaper = self.interface.shaper
        lasts = divided_ns if shaper and shaper.transmitter == "here" else multiplied_ns
        return lasts(self.history.rates_bps, self.history.stage(self.left_s), self.left.frame_bytes)

    @cached_property
    def spacing_s(self) -> Floats:
        """The shortest time from the departure of the frame ahead to that of each frame, s; 0 for
        the first.

        A frame begins when the one ahead has been sent; a token bucket waits for the tokens of the
        frame itself. A queue with a shaper of its own may be the slower one.
        """
        own = np.maximum(self.serialisation_s, self.shaped_s)
        if self.is_bucket and not self.interface.changes:
            return np.concatenate((np.zeros(min(1, len(own))), own[1:]))
        return np.concatenate((np.zeros(min(1, len(own))), own[:-1]))

    @cached_property
    def shaped_s(self) -> Floats:
        """How long the queue's own shaper lets each frame that left last, s; 0 without one."""
        shaping = None if self.interface.queue is None else self.interface.queue.shaping
        if shaping is None or not len(self.left):
            return np.zeros(len(self.left))
        rate_bps, framing = shaping
        lasts: Floats = 8 * _lengths(self.left.ip_bytes, framing) / rate_bps
        return lasts

    @cached_property
    def _occupied_ns(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """When each frame that left begins to occupy the link, ns after the epoch, and for how
        long.

        It does so from when it left, or from the end of the one ahead, for length / rate in whole
        ns, as netem computes it: the rate is that at which it left. The shaper in front may let
        frames begin up to 1 ns early (`frame_times`): they wait. A token bucket lets frames
        leave in no time, and they occupy the link of its rate. Of a frame that left as the rate
        changed it is only known that it did not keep the next one waiting.
        """
        sent = self.aggregates
        if sent is not None:
            begin_ns, lasts_ns = sent.begin_ns, sent.lasts_ns
        else:
            begin_ns = self.left.time_ns - self.epoch_ns
            stages = self.history.stage(self.left_s)
            lasts_ns = divided_ns(self.history.rates_bps, stages, self.left.frame_bytes)
        if self.history.changes_rate:
            unknown = ~self.history.settled(self.left_s, self.late_s)[:-1]
            gap_ns = np.maximum(np.diff(begin_ns), 0)
            lasts_ns = lasts_ns.copy()
            lasts_ns[:-1][unknown] = np.minimum(lasts_ns[:-1], gap_ns)[unknown]
        ahead_ns = np.cumsum(lasts_ns) - lasts_ns
        return np.maximum.accumulate(begin_ns - ahead_ns) + ahead_ns, lasts_ns

    @cached_property
    def begin_s(self) -> Floats:
        """When each frame that left begins to occupy the link, s after the epoch; frames never
        overlap.
        """
        return self._occupied_ns[0].astype(np.float64) * 1e-9

    @cached_property
    def lasts_s(self) -> Floats:
        """For how long each frame that left occupies the link, s."""
        return self._occupied_ns[1].astype(np.float64) * 1e-9

    @cached_property
    def sent_s(self) -> Floats:
        """When each frame that left the queue had been sent, s after the epoch.

        What transmits them divides, and the shaper in front of it may let each frame begin up to
        1 ns early (`frame_times`), so in a long busy period they wait for it (Lindley's recursion).
        """
        if self.interface.shaper is not None and self.interface.shaper.medium is not None:
            return self.seconds(self.left)
        if not self.is_bucket:
            return self.begin_s + self.lasts_s
        shaper = self.interface.shaper
        if shaper is None or shaper.peak_bps is None:
            return self.left_s
        left_ns = self.left.time_ns - self.epoch_ns
        lasts_ns = divided_ns(
            [shaper.peak_bps],
            np.zeros(len(left_ns), np.int64),
            self.left.frame_bytes,
        )
        ahead_ns = np.cumsum(lasts_ns) - lasts_ns
        end_ns = np.maximum.accumulate(left_ns - ahead_ns) + ahead_ns + lasts_ns
        ends: Floats = end_ns.astype(np.float64) * 1e-9
        return ends

    def known_at(self, hop: History) -> Bools:
        """Return of which frames that left it is known what a hop behind it had in force as they
        came there.
        """
        known = hop.settled(self.sent_s, self.late_s)
        return known & self.history.settled(self.left_s, self.late_s)

    def carried_bytes(
        self,
        sizes: NDArray[np.int64],
        edges_s: Floats,
        which: Bools | NDArray[np.intp] | slice = slice(None),
    ) -> Floats:
        """Return the bytes that the link carried between edges, a frame's evenly over its time;
        shape (slots,).

        sizes: of all frames that left. which: of them.
        """
        amount = sizes[which].astype(np.float64)
        return apportion(self.begin_s[which], self.lasts_s[which], amount, edges_s)

    def capacity_bits(self, edges_s: Floats) -> Floats:
        """Return how much the link can send between edges, bit; shape (slots,).

        A frame is sent at the rate at which it began, until its end. So the rate of the link is
        that of the frame that it sends, and where it sends none, the rate in force:

            C = 8 W + integral of the rate in force while nothing is sent

        W: bytes that it carried. Nothing that is sent ever exceeds it, and a link that is never
        idle carries exactly as much.
        """
        begin_s, ends_s = self.begin_s, self.begin_s + self.lasts_s
        carried = self.history.carried_bits
        before = np.concatenate(([0.0], np.cumsum(carried(ends_s) - carried(begin_s))))
        number = np.searchsorted(begin_s, edges_s, side="left")
        busy, inside = before[number], number > 0  # what would be in force while frames are sent
        last = number[inside] - 1
        over_s = np.maximum(edges_s[inside], ends_s[last])
        busy[inside] -= carried(over_s) - carried(edges_s[inside])
        idle = np.maximum(np.diff(carried(edges_s) - busy), 0.0)
        return 8 * self.carried_bytes(self.left.frame_bytes, edges_s) + idle

    @cached_property
    def arrival_s(self) -> Floats:
        """When each frame that left had arrived, s after the epoch; NaN where that was not seen.

        Where frames are alike, the latest that is possible.
        """
        arrival = np.full(len(self.left), np.nan)
        seen = np.flatnonzero(self.through.found >= 0)
        arrival[self.through.found[seen]] = self.seconds(self.entered)[seen]
        return arrival

    @cached_property
    def delay_s(self) -> Floats:
        """Time in the queue of each frame that left, s; NaN where its entry was not seen, or may be
        another's.
        """
        return np.where(self.through.certain, self.left_s - self.arrival_s, np.nan)

    @cached_property
    def _backlog(self) -> tuple[Floats, NDArray[np.int64], NDArray[np.int64]]:
        """Times of change (s), and frames and bytes that wait from then on; drops never wait.

        A packet that an AQM drops at the head did wait, but for an unknown time: it is left out.
        """
        waits = ~self.through.lost
        seen = ~self.through.strangers
        times = np.concatenate((self.seconds(self.entered)[waits], self.taken_s[seen]))
        sizes = np.concatenate((self.entered.frame_bytes[waits], -self.left.frame_bytes[seen]))
        order = np.argsort(times, kind="stable")  # at one time: in before out
        return times[order], np.cumsum(np.sign(sizes[order])), np.cumsum(sizes[order])

    def backlog_bytes(self, t_s: Floats) -> Floats:
        """Return the frame bytes that wait at each time, events at that time included; NaN if
        blind.
        """
        return self._stepped(self._backlog[2], t_s)

    def backlog_packets(self, t_s: Floats) -> Floats:
        """Return the frames that wait at each time, events at that time included; NaN if blind."""
        return self._stepped(self._backlog[1], t_s)

    def most(self, edges_s: Floats) -> tuple[Floats, Floats]:
        """Return the most frames, and the most bytes, that waited at once in each slot; NaN if
        blind.

        edges_s: of the slots, s, ascending, shape (slots + 1,). Of what came and left in one
        instant the order is unknown, so only what waits after it counts.
        """
        if self.blind:
            return np.full(len(edges_s) - 1, np.nan), np.full(len(edges_s) - 1, np.nan)
        times, packets, data = self._backlog
        last = np.diff(times, append=np.inf) > 0
        at = np.searchsorted(times[last], edges_s, side="right")
        pairs = np.stack([at[:-1], at[1:] + 1], axis=1).ravel()

        def largest(values: NDArray[np.int64]) -> Floats:
            known = np.concatenate(([0], values[last], [0])).astype(np.float64)
            found: Floats = np.maximum.reduceat(known, pairs)[::2]
            return found

        return largest(packets), largest(data)

    def _stepped(self, values: NDArray[np.int64], t_s: Floats) -> Floats:
        if self.blind:
            return np.full(len(t_s), np.nan)
        known = np.concatenate(([0], values)).astype(np.float64)
        return known[np.searchsorted(self._backlog[0], t_s, side="right")]

    def largest_backlog(self, until_s: float = np.inf) -> tuple[int, int]:
        """Return the most frames, and the most bytes, that must have waited at once up to a time.

        What came and what left in one instant did so in an unknown order, so only what waits after
        it counts.
        """
        times, packets, data = self._backlog
        counts = (np.diff(times, append=np.inf) > 0) & (times <= until_s)
        return int(packets[counts].max(initial=0)), int(data[counts].max(initial=0))

    def met(self, apart_s: float = 0.0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the most frames, and bytes of frames, that can have waited when each dropped frame
        was queued.

        apart_s: frames captured at most that much later may have been queued before it. What left
        in the same instant left after it.
        """
        waits, ours = ~self.through.lost, ~self.through.strangers
        came = np.searchsorted(self.seconds(self.entered), self.drops_s + apart_s, side="right")
        gone = np.searchsorted(self.taken_s[ours], self.drops_s, side="left")
        packets = np.concatenate(([0], np.cumsum(waits)))[came] - gone
        queued = np.concatenate(([0], np.cumsum(np.where(waits, self.entered.frame_bytes, 0))))
        sent = np.concatenate(([0], np.cumsum(self.left.frame_bytes[ours])))
        return packets.astype(np.int64), (queued[came] - sent[gone]).astype(np.int64)

    def overtaken(self, apart_s: float = 0.0) -> Bools:
        """Return which frames left behind one that came more than apart_s later, against the
        queue's order.

        Resets keep no order between flows' queues: what answers a late segment comes from no
        socket, so it lacks the hash that Linux notes on other packets of its connection, and waits
        in another queue.
        """
        order = order_of(self.interface)
        found = np.zeros(len(self.left), np.bool_)
        ordered = self.through.certain
        if order == "flows":
            ordered = ordered & (self.left.flags & pcap.RST == 0)
        came = np.where(ordered, self.arrival_s, np.nan)
        for line in lines(self.left, order):
            latest: Floats = np.fmax.accumulate(came[line])
            found[line] = latest - came[line] > apart_s
        return found

    @cached_property
    def drops_s(self) -> Floats:
        """When each frame that the queue dropped arrived, s after the epoch."""
        return self.seconds(self.entered)[self.through.lost]


def discipline_of(interface: Interface) -> Discipline | None:
    """Return the discipline of an interface's queue; None: it has no queue, or one that a package
    which is not installed brings.
    """
    queue = interface.queue
    return QUEUES[queue.kind] if queue is not None and queue.kind in QUEUES else None


def disciplines_of(interface: Interface) -> list[Discipline]:
    """Return the disciplines of an interface's queue and of those inside it, as far as installed
    packages bring them.
    """
    queue = interface.queue
    parts = () if queue is None else (queue, *queue.inner)
    return [QUEUES[part.kind] for part in parts if part.kind in QUEUES]


def order_of(interface: Interface) -> Order:
    """Return in which order packets leave a queue; an unknown one may keep none."""
    discipline = discipline_of(interface)
    return discipline.order if discipline else "mixed"


def _keeps_order(history: History) -> bool:
    """Return whether packets leave a hop behind a queue in the order in which they reached it."""
    planned: list[Impairment] = [hop for _, hop in history.impairments() if hop is not None]
    if any(hop.reorder for hop in planned):
        return False
    if any(hop.repair for hop in planned):
        return all(hop.repair is None or hop.repair.in_order for hop in planned)
    return all(hop.in_order for hop in planned) or (len(planned) == 1 and not planned[0].jitter_ns)


def assemble(
    captures: Mapping[str, pcap.Capture],
    paths: Paths,
    epoch_ns: int,
    qdiscs: Qdiscs,
    histories: Mapping[Place, History],
    dropped: Mapping[str, Bools] = MappingProxyType({}),
    reroutings: Mapping[str, Sequence[AppliedChange]] = MappingProxyType({}),
    hosts: Processing = NONE,
) -> tuple[QueueRecord, ...]:
    """Combine the captures of each bottleneck queue, in order of place.

    captures: all of the cell's, by name. qdiscs: those of each interface at the end. dropped: by
    capture name, the packets that a device in front of the queue dropped. reroutings: when the
    routes of each node changed. hosts: what they take for each packet.
    Raises ArtefactError, and PathError for routes that lead nowhere.
    """
    places = sorted(
        {capture.queue for capture in paths.cell.captures}
        if paths.cell.captured == "full"
        else {p for f in paths.cell.flows for p in (f.bottleneck, *f.further_bottlenecks)}
    )
    assembly = _Assembly(captures, paths, epoch_ns, qdiscs, histories, dropped, reroutings)
    records = map(assembly.queue, places)
    return tuple(replace(record, late_s=hosts.most_ns(*record.place) * 1e-9) for record in records)


@dataclass(frozen=True)
class _Assembly:
    """The captures of a cell, and what else `assemble` combines with them."""

    captures: Mapping[str, pcap.Capture]
    paths: Paths
    epoch_ns: int
    qdiscs: Qdiscs
    histories: Mapping[Place, History]
    dropped: Mapping[str, Bools]
    reroutings: Mapping[str, Sequence[AppliedChange]]

    def queue(self, place: Place) -> QueueRecord:
        """Return the record of a queue. Raises ArtefactError."""
        paths = self.paths
        if place not in paths.interfaces:
            at = "/".join(place)
            raise ArtefactError(f"the plan captures at {at}, which is not in its network")
        interface = paths.interfaces[place]
        shaper, planned = interface.shaper, interface.queue
        if shaper is None:
            raise ArtefactError(f"the bottleneck {'/'.join(place)} has no rate in the plan")
        blind = self._is_blind(place)
        entered, unsure = self._entered(place, blind)
        kept_out = removed = None
        if shaper.medium is not None:
            removed = model_of(shaper.medium).kept_out(shaper.medium, entered)
        if removed is not None:
            entered, kept_out = entered.select(~removed), entered.select(removed)
            unsure = unsure[~removed]
        left, delivered = self._at(place, "exit"), self._at(place, "delivered")
        delivered = delivered.select(delivered.damage < BROKEN)  # the next host that looks drops it
        drop_tail = None
        # What a medium has taken from the queue is not seen to leave it at once.
        if shaper.medium is None and planned is not None and planned.is_drop_tail:
            in_bytes = planned.limit_bytes is not None
            limit = planned.limit_bytes or planned.limit_packets or 0
            drop_tail = DropTail(limit, in_bytes, interface.frame_bytes if in_bytes else 1)
        limits = self._waiting(place), order_of(interface), drop_tail
        through = match(entered, left, *limits)
        strays = through.lost & unsure
        if strays.any():
            entered = entered.select(~strays)
            through = match(entered, left, *limits)
        return QueueRecord(
            place=place,
            interface=interface,
            history=self.histories[place],
            entered=entered,
            left=left,
            delivered=delivered,
            through=through,
            strays=int(strays.sum()),
            behind=self._behind(place, left, delivered),
            blind=blind,
            bucket_bytes=qdisc.bucket_bytes(self.qdiscs.get(place, ())),
            epoch_ns=self.epoch_ns,
            kept_out=kept_out,
        )

    def _is_blind(self, place: Place) -> bool:
        """Return whether packets are not captured before they come to a queue."""
        cell, paths = self.paths.cell, self.paths
        if cell.captured == "none" or paths.is_host(place[0]):
            return True
        return any(f.bottleneck == place and not paths.before(place, f) for f in cell.flows)

    def _at(self, place: Place, point: str, missing_ok: bool = False) -> pcap.Packets:
        """Return the packets that passed a point of a queue. Raises ArtefactError."""
        cell = self.paths.cell
        names = [c.name for c in cell.captures if c.queue == place and c.point == point]
        if not names and cell.captured != "none" and not missing_ok:
            raise ArtefactError(f"the plan has no {point} capture for {'/'.join(place)}")
        captured = pcap.concatenate(tuple(map(self._behind_devices, names)))
        return framed(captured, self.paths.interfaces[place].framing)

    def _behind_devices(self, capture: str) -> pcap.Packets:
        packets = self.captures[capture].packets
        return packets.select(~self.dropped[capture]) if capture in self.dropped else packets

    def _entered(self, place: Place, blind: bool) -> tuple[pcap.Packets, Bools]:
        """Return the packets that came to a queue, and which of them may have left elsewhere."""
        entered = self._at(place, "entry", missing_ok=blind)
        entered = entered.select(entered.damage != UNREAD)  # the router drops it
        moved = self.reroutings.get(place[0], ())
        bound, unsure = _bound_for(self.paths, place, entered, self.epoch_ns, moved)
        if any(flow.options.discovers_mtu for flow in self.paths.cell.flows):
            fits = entered.ip_bytes <= self.paths.interfaces[place].mtu  # the router refuses others
            bound, unsure = bound & fits, unsure & fits
        return entered.select(bound | unsure), unsure[bound | unsure]

    def _behind(self, place: Place, left: pcap.Packets, delivered: pcap.Packets) -> Matching:
        """Return which packets that left a queue were delivered by its link."""
        delivery, below = self.paths.delivery(place), (place[0], lower_name(place[1]))
        keeps = delivery is None or _keeps_order(self.histories[delivery])
        waiting = self._waiting(below) + (self._waiting(delivery) if delivery else 0)
        return match(left, delivered, waiting, "all" if keeps else "mixed")

    def _waiting(self, place: Place) -> int:
        """Return how many packets waited at an interface at the end."""
        return qdisc.waiting(self.qdiscs.get(place, ()))


def framed(packets: pcap.Packets, framing: Framing) -> pcap.Packets:
    """Return packets with frames as long as on the wire of a link."""
    if framing == ETHERNET or not len(packets):
        return packets
    ip_bytes = np.maximum(packets.frame_bytes - ETHERNET_BYTES, 0)
    return replace(packets, frame_bytes=_lengths(ip_bytes, framing))


def _lengths(ip_bytes: NDArray[np.int64], framing: Framing) -> NDArray[np.int64]:
    """Return how long packets are on the wire, bytes."""
    table = np.array([framing.bytes(size) for size in range(int(ip_bytes.max()) + 1)], np.int64)
    lengths: NDArray[np.int64] = table[ip_bytes]
    return lengths


def _bound_for(
    paths: Paths,
    place: Place,
    packets: pcap.Packets,
    epoch_ns: int,
    moved: Sequence[AppliedChange],
) -> tuple[Bools, Bools]:
    """Return which packets that reach the router leave it through this queue, and which others may,
    as they came while its routes changed.

    moved: when they changed.
    """
    node, interface = place
    stages = [None, *(round(each.at_s * 1e9) for each in moved)]
    t_s = (packets.time_ns - epoch_ns).astype(np.float64) * 1e-9
    begins_s = np.array([each.begin_s for each in moved]) - NEAR_S
    ends_s = np.array([each.end_s for each in moved]) + NEAR_S
    addresses, which = np.unique(packets.towards, return_inverse=True)
    ours = np.array(
        [[paths.egress(node, int(a), at_ns) == interface for a in addresses] for at_ns in stages],
        np.bool_,
    )
    real = packets.ip_bytes > 0
    one = ours[np.searchsorted(ends_s, t_s, side="right"), which] & real
    other = ours[np.searchsorted(begins_s, t_s, side="right"), which] & real
    return np.asarray(one & other, np.bool_), np.asarray(one ^ other, np.bool_)
