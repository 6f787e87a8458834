"""Congestion policing, packet by packet: what a policer must have done, from captures alone.

The definition is that of docs/learn/links.md. The policer itself (`endpoints/src/policer`) shares
no code with this module: `check.py` compares the two. Both compute in IEEE
doubles and in the same order, so that they agree to the last bit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from ipaddress import IPv4Address

import numpy as np

from fairc.cell.model import Cell
from fairc.runtime.arrays import Bools, Floats, Int64s
from fairc.runtime.measurement.pcap import CWR, ECE, FIN, SYN, TCP, Feedback, Packets

from .cell import Policer

NOTHING, LOSS, ECN = 0, 1, 2
"""What a packet exposes."""
ECHOES = (None, "loss", "ecn")
"""Their names in the policer's log."""

_WORD = (1 << 64) - 1
_HALF = 1 << 31
_MODULUS = 1 << 32

Key = tuple[int, int, int, int]
"""A direction of a connection: addresses and ports, source first."""


@dataclass(frozen=True, slots=True)
class CapturedPackets:
    """The packets of a capture, and what they say about congestion; None where that is not
    needed.
    """

    packets: Packets
    feedback: Feedback | None = None


@dataclass(frozen=True, slots=True)
class Decisions:
    """What happens to every packet that is policed, in order of arrival; arrays of shape
    (packets,).

    index: in the capture of the arrivals. flow: index into the plan's `policed`. echo: what it
    exposes. level: the one that decided, tokens. unexposed: marks that were never exposed, by flow.
    """

    index: Int64s
    time_ns: Int64s
    flow: Int64s
    bucket: Int64s
    echo: Int64s
    dropped: Bools
    level: Floats
    unexposed: Int64s

    def __len__(self) -> int:
        return len(self.index)


def probability(policer: Policer, level: float) -> float:
    """Return the probability that a packet is dropped at a level, tokens."""
    if policer.harshness == "strict":
        return 1.0 if level <= 0.0 else 0.0
    steepness = 10.0 if policer.harshness == "mild" else 1.0
    return min(max(-steepness * level / policer.depth, 0.0), 1.0)


def uniform(seed: int, bucket: int, number: int) -> float:
    """Return random number `number` of a bucket, in [0, 1): 53 bits of SplitMix64.

    Source: Steele, Lea and Flood, OOPSLA 2014, figure 14.
    """
    return (_mix(_mix(_mix(seed) ^ bucket) ^ number) >> 11) * 2.0**-53


def _mix(value: int) -> int:
    z = (value + 0x9E3779B97F4A7C15) & _WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _WORD
    return z ^ (z >> 31)


class Bucket:
    """The token bucket of one user; it begins full."""

    def __init__(self, policer: Policer, number: int) -> None:
        self._policer = policer
        self._number = number
        self._level = policer.depth
        self._filled_ns: int | None = None
        self._arrivals = 0

    def arrive(self, t_ns: int, exposes: bool) -> tuple[bool, float]:
        """Take a packet at a time, ns; return whether it is dropped, and the level that decided."""
        policer = self._policer
        passed_ns = 0 if self._filled_ns is None else t_ns - self._filled_ns
        self._filled_ns = t_ns
        level = min(self._level + policer.rate * (passed_ns * 1e-9), policer.depth)
        if exposes and policer.charge == "arrived":
            level = max(level - 1.0, -policer.depth)
        likely = probability(policer, level)
        dropped = likely == 1.0 or (
            likely > 0.0 and uniform(policer.seed, self._number, self._arrivals) < likely
        )
        self._arrivals += 1
        charged = exposes and not dropped and policer.charge == "forwarded"
        self._level = level - 1.0 if charged else level
        return dropped, level


def before(a: int, b: int) -> bool:
    """Return whether one sequence number comes before another, modulo 2^32 (RFC 9293, section
    3.4).
    """
    return (a - b) % _MODULUS >= _HALF


Note = tuple[int, bool, Key, int, int, Sequence[tuple[int, int]]]
"""Time, whether it is a mark, its connection; then sequence number and payload of a mark, or
acknowledgement number, flags and blocks."""


@dataclass(slots=True)
class _Connection:
    """What is known about a connection; see `State` in the endpoints' exposure.rs."""

    flow: int
    highest: int | None = None
    marked: list[tuple[int, int]] = field(default_factory=list)
    pending: int = 0
    echoed: bool = False


class Exposure:
    """Which packets expose congestion, and which marks were never exposed."""

    def __init__(self, policer: Policer) -> None:
        self._feedback = policer.feedback
        self._connections: dict[Key, _Connection] = {}
        self._over: list[_Connection] = []

    def sent(self, key: Key, flow: int, sequence: int, flags: int, payload: int) -> int:
        """Return what a packet of a sender exposes; a SYN begins a new connection."""
        connection = self._connections.get(key)
        length = payload + bool(flags & SYN) + bool(flags & FIN)
        end = (sequence + length) % _MODULUS
        if connection is None or (flags & SYN and connection.highest != end):
            if connection is not None:
                self._over.append(connection)
            connection = self._connections[key] = _Connection(flow)
        highest = connection.highest
        again = length > 0 and highest is not None and before(sequence, highest)
        if length and (highest is None or before(highest, end)):
            connection.highest = end
        if self._feedback == "classic" and flags & CWR:
            exposed, connection.echoed = connection.echoed, False
            return LOSS if again else ECN if exposed else NOTHING
        if again:
            return LOSS
        if self._feedback == "accurate" and payload and connection.pending:
            connection.pending -= 1
            return ECN
        return NOTHING

    def see(self, note: Note) -> None:
        """Note a mark or an acknowledgement."""
        _, is_mark, key, first, second, blocks = note
        if is_mark:
            self.marked(key, first, second)
        else:
            self.acknowledged(key, first, second, blocks)

    def marked(self, key: Key, sequence: int, payload: int) -> None:
        """Note a marked data packet that leaves for its receiver."""
        connection = self._connections.get(key)
        if connection is not None:
            connection.marked.append((sequence, (sequence + payload) % _MODULUS))

    def acknowledged(
        self, key: Key, acknowledgement: int, flags: int, blocks: Sequence[tuple[int, int]]
    ) -> None:
        """Note a packet of a receiver; key: of the direction that it acknowledges."""
        connection = self._connections.get(key)
        if connection is None or flags & SYN:
            return
        connection.echoed |= bool(flags & ECE)
        if connection.marked:
            left = [
                (begin, end)
                for begin, end in connection.marked
                if before(acknowledgement, end)
                and not any(
                    not before(begin, first) and not before(last, end) for first, last in blocks
                )
            ]
            connection.pending += len(connection.marked) - len(left)
            connection.marked = left

    def unexposed(self, flows: int) -> Int64s:
        """Return, by flow, how many marks are left, acknowledged or not; for `classic`, how many
        ECEs.
        """
        counts = np.zeros(flows, np.int64)
        for connection in (*self._over, *self._connections.values()):
            classic = self._feedback == "classic" and connection.echoed
            counts[connection.flow] += connection.pending + len(connection.marked) + classic
        return counts


def decide(
    policer: Policer,
    cell: Cell,
    arrivals: Packets,
    leaving: CapturedPackets | None,
    back: CapturedPackets | None,
    times_ns: Int64s | None = None,
) -> Decisions:
    """Compute what a policer does with every packet that arrives.

    times_ns: when the policer itself saw the packets that it reads, ns, at least one for each;
    None: as captured. leaving: what leaves its queue, needed for `accurate`; back: what comes back,
    needed for any feedback. What is seen at the same time as an arrival counts after it.
    """
    index, flow = policed(policer, cell, arrivals)
    of_flow = np.array([p.bucket for p in policer.policed], np.int64)
    bucket = of_flow[flow]
    exposure = Exposure(policer)
    notes = deque(_notes(policer, cell, leaving, back))
    buckets = [Bucket(policer, number) for number in range(len(policer.buckets))]
    echo = np.zeros(len(index), np.int64)
    dropped = np.zeros(len(index), np.bool_)
    level = np.zeros(len(index), np.float64)
    chosen = arrivals.select(index)
    if times_ns is not None:
        chosen = replace(chosen, time_ns=times_ns[: len(index)])
    rows = zip(
        chosen.time_ns.tolist(),
        _keys(chosen),
        flow.tolist(),
        bucket.tolist(),
        chosen.sequence.tolist(),
        chosen.flags.tolist(),
        chosen.payload_bytes.tolist(),
        strict=True,
    )
    for at, (t_ns, key, whose, number, sequence, flags, payload) in enumerate(rows):
        while notes and notes[0][0] < t_ns:
            exposure.see(notes.popleft())
        exposes = exposure.sent(key, whose, sequence, flags, payload)
        echo[at] = exposes
        dropped[at], level[at] = buckets[number].arrive(t_ns, exposes != NOTHING)
    while notes:
        exposure.see(notes.popleft())
    unexposed = exposure.unexposed(len(policer.policed))
    return Decisions(index, chosen.time_ns, flow, bucket, echo, dropped, level, unexposed)


def policed(policer: Policer, cell: Cell, packets: Packets) -> tuple[Int64s, Int64s]:
    """Return which packets a policer reads, by index, and of which flow (index into `policed`)."""
    flows = {flow.name: flow for flow in cell.flows}
    places = [
        (int(IPv4Address(flows[p.flow].address)), flows[p.flow].port) for p in policer.policed
    ]
    found = np.full(len(packets), -1, np.int64)
    tcp = (packets.protocol == TCP) & (packets.fragment == 0)
    for number, (address, port) in enumerate(places):
        found[tcp & (packets.source == address) & (packets.source_port == port)] = number
    index = np.flatnonzero(found >= 0).astype(np.int64)
    return index, found[index]


def _notes(
    policer: Policer, cell: Cell, leaving: CapturedPackets | None, back: CapturedPackets | None
) -> Iterator[Note]:
    """Return what a policer sees besides the arrivals, in order of time; marks first."""
    notes: list[Note] = []
    if policer.feedback == "accurate" and leaving is not None and leaving.feedback is not None:
        ours = np.zeros(len(leaving.packets), np.bool_)
        ours[policed(policer, cell, leaving.packets)[0]] = True
        which = leaving.packets.select(
            ours & leaving.feedback.marked & (leaving.packets.payload_bytes > 0)
        )
        notes += [
            (t_ns, True, key, sequence, payload, ())
            for t_ns, key, sequence, payload in zip(
                which.time_ns.tolist(),
                _keys(which),
                which.sequence.tolist(),
                which.payload_bytes.tolist(),
                strict=True,
            )
        ]
    if policer.feedback != "none" and back is not None and back.feedback is not None:
        blocks: dict[int, list[tuple[int, int]]] = {}
        columns = (back.feedback.block_of, back.feedback.block_first, back.feedback.block_last)
        for of, first, last in zip(*(column.tolist() for column in columns), strict=True):
            blocks.setdefault(of, []).append((first, last))
        packets = back.packets
        tcp = np.flatnonzero((packets.protocol == TCP) & (packets.fragment == 0))
        which = packets.select(tcp)
        notes += [
            (t_ns, False, (to, port, source, source_port), number, flags, blocks.get(at, ()))
            for at, t_ns, (source, source_port, to, port), number, flags in zip(
                tcp.tolist(),
                which.time_ns.tolist(),
                _keys(which),
                which.acknowledgement.tolist(),
                which.flags.tolist(),
                strict=True,
            )
        ]
    return iter(sorted(notes, key=lambda note: (note[0], not note[1])))


def _keys(packets: Packets) -> Iterator[Key]:
    columns = (
        packets.source,
        packets.source_port,
        packets.destination,
        packets.destination_port,
    )
    return zip(*(column.tolist() for column in columns), strict=True)


def levels(policer: Policer, decisions: Decisions, t_ns: Int64s) -> Mapping[int, Floats]:
    """Return each bucket's level, tokens, at times t_ns, events at those times included."""
    charged = (decisions.echo > 0) & ~decisions.dropped & (policer.charge == "forwarded")
    after = decisions.level - charged
    found = {}
    for number in range(len(policer.buckets)):
        ours = np.flatnonzero(decisions.bucket == number)
        place = np.searchsorted(decisions.time_ns[ours], t_ns, side="right") - 1
        if len(ours) == 0:
            found[number] = np.full(len(t_ns), policer.depth)
            continue
        last = ours[np.maximum(place, 0)]
        filled = after[last] + policer.rate * ((t_ns - decisions.time_ns[last]) * 1e-9)
        found[number] = np.where(place < 0, policer.depth, np.minimum(filled, policer.depth))
    return found
