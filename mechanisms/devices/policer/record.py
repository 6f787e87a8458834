"""Records of policers: their reports, and the decisions that they must have made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairc.cell.model import Cell
from fairc.runtime.arrays import Bools, Floats, Int64s
from fairc.runtime.measurement import FlowRecord, Measurement, pcap
from fairc.runtime.measurement.artefacts import NS, ArtefactError, Artefacts, field
from fairc.runtime.measurement.devices import DeviceRecord

from . import token_bucket
from .cell import Policer
from .decisions import ECHOES, CapturedPackets, Decisions, decide, levels, policed
from .token_bucket import BucketRecord

if TYPE_CHECKING:
    from fairc.runtime.measurement.queues import QueueRecord

Place = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a policer's log: a packet that exposed congestion, or that was dropped."""

    t_ns: int
    bucket: int
    echo: int
    dropped: bool
    level: float


@dataclass(frozen=True, slots=True)
class Total:
    """A policer's final report: how many packets it policed, dropped, could not queue, and missed.

    late_s: the longest that it held a packet before sending it on, s.
    """

    packets: int
    dropped: int
    refused: int
    missed: int
    late_s: float


@dataclass(frozen=True)
class PolicerRecord(DeviceRecord):
    """A policer: its plan, its log by packet number, and the packets as they arrived.

    decisions: what it must have done, from the captures. total: None if it never ended properly.
    arrivals: name of the capture of the arrivals; packets: its contents; dropped: which of them the
    policer says it dropped. apart_s: the largest difference between the policer's and the capture's
    time of the same packet, s. epoch_ns: zero of the other `*_s`.
    """

    plan: Policer
    log: Mapping[int, Entry]
    total: Total | None
    errors: tuple[str, ...]
    decisions: Decisions
    arrivals: str
    packets: pcap.Packets
    dropped: Bools
    apart_s: float
    epoch_ns: int

    @property
    def place(self) -> Place:
        """The egress interface of the packets that it forwards."""
        return self.plan.node, self.plan.egress

    @cached_property
    def arrival_s(self) -> Floats:
        """When each packet that it policed arrived, s after the epoch."""
        after: Floats = (self.decisions.time_ns - self.epoch_ns).astype(np.float64) * 1e-9
        return after

    @property
    def dropped_packets(self) -> Mapping[str, Bools]:
        """Those that it says it dropped."""
        return {self.arrivals: self.dropped}

    def held_s(self, place: Place) -> float:
        """Return the longest that it held a packet in front of its own queue, s."""
        return self.total.late_s if self.total and place == self.place else 0.0

    def passed(self, measurement: Measurement, flow: FlowRecord) -> float:
        """Return the share of a flow's packets that it did not drop; all of what it does not
        read.
        """
        ours = self.of_flow(flow.plan.name)
        if ours is None:
            return 1.0
        return 1 - self.dropped_share(ours & measurement.counts(self.arrival_s))

    def dropped_share(self, counted: Bools) -> float:
        """Return the share of some of its packets that it dropped."""
        return float((counted & self.decisions.dropped).sum() / max(1, counted.sum()))

    @property
    def charged(self) -> Bools:
        """Which packets took a token: those with a re-echo; forwarded ones only, if the plan says
        so.
        """
        echo: Bools = self.decisions.echo > 0
        return echo if self.plan.charge == "arrived" else echo & ~self.decisions.dropped

    def of_flow(self, name: str) -> Bools | None:
        """Return which packets are a flow's; None if it is not policed here."""
        for number, one in enumerate(self.plan.policed):
            if one.flow == name:
                return np.asarray(self.decisions.flow == number, np.bool_)
        return None

    def bucket_of(self, name: str) -> int:
        """Return the number of the bucket of a flow that is policed here."""
        return next(one.bucket for one in self.plan.policed if one.flow == name)

    def unexposed_marks(self, name: str) -> int:
        """Return how many marks of a flow were never exposed."""
        number = [one.flow for one in self.plan.policed].index(name)
        return int(self.decisions.unexposed[number])

    def levels(self, t_s: Floats) -> Mapping[int, Floats]:
        """Return each bucket's level, tokens, at times t_s, s after the epoch."""
        t_ns = np.round(t_s * 1e9).astype(np.int64) + self.epoch_ns
        return levels(self.plan, self.decisions, t_ns)


def load(
    artefacts: Artefacts, cell: Cell, captures: Mapping[str, pcap.Capture], epoch_ns: int
) -> tuple[PolicerRecord | BucketRecord, ...]:
    """Read the logs of all policers, and compute what each must have done. Raises ArtefactError."""
    policers = [
        _load(artefacts, cell, captures, epoch_ns, one)
        for one in cell.devices
        if isinstance(one, Policer)
    ]
    return (*policers, *token_bucket.load(cell, captures, epoch_ns))


def policers_of(measurement: Measurement) -> tuple[PolicerRecord, ...]:
    """Return the policers of a cell that count congestion."""
    records = measurement.devices.get("policer", ())
    return tuple(each for each in records if isinstance(each, PolicerRecord))


def buckets_of(measurement: Measurement) -> tuple[BucketRecord, ...]:
    """Return the token buckets of a cell."""
    records = measurement.devices.get("policer", ())
    return tuple(each for each in records if isinstance(each, BucketRecord))


def _load(
    artefacts: Artefacts,
    cell: Cell,
    captures: Mapping[str, pcap.Capture],
    epoch_ns: int,
    policer: Policer,
) -> PolicerRecord:
    file = f"{policer.name}.policer.ndjson"
    log: dict[int, Entry] = {}
    total, errors = None, []
    for event in artefacts.lines(file):
        kind = event.get("event")
        if kind == "packet":
            log[field(event, "number", file)] = _entry(event, file)
        elif kind == "policed":
            names = ("packets", "dropped", "refused", "missed")
            counts = {name: field(event, name, file) for name in names}
            total = Total(**counts, late_s=field(event, "late_us", file) * 1e-6)
        elif kind == "error":
            errors.append(f"{policer.name}.policer: {event.get('message')}")

    def seen(interface: str, direction: str) -> CapturedPackets | None:
        name = _capture(cell, policer.node, interface, direction)
        if name is None:
            return None
        return CapturedPackets(
            captures[name].packets, pcap.feedback(artefacts.content(f"{name}.pcap"))
        )

    name = _capture(cell, policer.node, policer.ingress, "in")
    if name is None:
        raise ArtefactError(f"the plan does not capture what comes to the policer {policer.name}")
    packets = captures[name].packets
    needed = policer.feedback != "none"
    leaving = seen(policer.egress, "out") if policer.feedback == "accurate" else None
    back = seen(policer.egress, "in") if needed else None
    index, _ = policed(policer, cell, packets)
    times_ns = _times(artefacts, policer) + epoch_ns
    if len(times_ns) < len(index):  # the check of the policer's count reports it
        times_ns = np.concatenate((times_ns, packets.time_ns[index[len(times_ns) :]]))
    late_ns = np.abs(times_ns[: len(index)] - packets.time_ns[index]).max(initial=0)
    decisions = decide(policer, cell, packets, leaving, back, times_ns)
    dropped = np.zeros(len(packets), np.bool_)
    numbers = np.array([number for number, entry in log.items() if entry.dropped], np.int64)
    dropped[decisions.index[numbers[(numbers >= 0) & (numbers < len(decisions))]]] = True
    return PolicerRecord(
        plan=policer,
        log=log,
        total=total,
        errors=tuple(errors),
        decisions=decisions,
        arrivals=name,
        packets=packets,
        dropped=dropped,
        apart_s=float(late_ns) * NS,
        epoch_ns=epoch_ns,
    )


def _times(artefacts: Artefacts, policer: Policer) -> Int64s:
    """Return when a policer saw each packet, ns after the epoch."""
    name = f"{policer.name}.policer.times"
    content = artefacts.content(name)
    if len(content) % 8:
        raise ArtefactError(f"{name} ends in a part of a time")
    return np.frombuffer(content, "<i8").astype(np.int64)


def _entry(event: Mapping[str, object], file: str) -> Entry:
    level, echo, dropped = event.get("level"), event.get("echo"), event.get("dropped")
    if not isinstance(level, int | float) or not isinstance(dropped, bool) or echo not in ECHOES:
        raise ArtefactError(f"{file}: a packet at t_ns {event['t_ns']} is not as documented")
    t_ns = field(dict(event), "t_ns", file)
    bucket = field(dict(event), "bucket", file)
    return Entry(t_ns, bucket, ECHOES.index(echo), dropped, float(level))


def _capture(cell: Cell, node: str, interface: str, direction: str) -> str | None:
    """Return the name of the capture of one direction of an interface."""
    for capture in cell.captures:
        if (capture.node, capture.interface, capture.direction) == (node, interface, direction):
            return capture.name
    return None


def unexposed_losses(record: PolicerRecord, queue: QueueRecord | None, ours: Bools) -> int | None:
    """Count data packets that were lost and never retransmitted, among policed ones.

    ours: mask over the policed packets. queue: the one behind the policer; without it, losses are
    not seen and None is returned. A packet is lost if the policer or the queue dropped it, or
    random loss behind them.
    """
    if queue is None:
        return None
    arrivals = record.packets
    lost = record.dropped.copy()
    behind = np.flatnonzero(~record.dropped & (arrivals.ip_bytes > 0))
    if len(behind) != len(queue.entered):
        return None
    lost[behind[queue.through.lost]] = True
    found = queue.through.found
    passed = np.flatnonzero(found >= 0)
    lost[behind[passed[queue.behind.lost[found[passed]]]]] = True
    chosen = record.decisions.index[ours]
    chosen = chosen[arrivals.payload_bytes[chosen] > 0]
    packets = arrivals.select(chosen)
    rows = zip(
        packets.destination.tolist(),
        packets.destination_port.tolist(),
        packets.sequence.tolist(),
        packets.payload_bytes.tolist(),
        lost[chosen].tolist(),
        strict=True,
    )
    # Backwards: `later` holds the parts of the stream that are sent later.
    later: dict[tuple[int, int], dict[int, int]] = {}
    count = 0
    for address, port, sequence, payload, gone in reversed(list(rows)):
        known = later.setdefault((address, port), {})
        if gone and not _again(known, sequence):
            count += 1
        known[sequence] = max(payload, known.get(sequence, 0))
    return count


def _again(known: Mapping[int, int], sequence: int) -> bool:
    """Return whether a packet's first byte is sent again, most often by a packet that begins with
    it.
    """
    if sequence in known:
        return True
    return any((sequence - begin) % (1 << 32) < length for begin, length in known.items())
