"""Round trips of a flow's packets: from the transmission of each to the arrival of the ACK that
covers it.

Both are seen at the sender's own interface. TCP's ACKs are in the capture there. QUIC encrypts its
own, so the server logs them with the number of the datagram, and the capture says when that one was
transmitted. Pings over UDP come back with their numbers, and with the time at which they were sent:
it counts where the bottleneck's queue is in the sender itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Cell, Flow, Subflow
from fairc.runtime.arrays import Bools, Floats, Int64s

from . import headers, pcap
from .artefacts import NS, ArtefactError, Artefacts
from .headers import Headers
from .pcap import ACK, RST, SYN, TCP, Packets, concatenate
from .selection import acks_of, ends_of, packets_of

# Of endpoints/src/quic/packets.rs.
RECORD = np.dtype([("sent_ns", "<i8"), ("acked_ns", "<i8"), ("number", "<u4"), ("bytes", "<u4")])
# Sequence numbers of all connections on one axis: each has this much of it, and begins a quarter
# in.
SPAN = 1 << 44
NEVER = np.iinfo(np.int64).max
# Logs and captures have the same clock; in real time a program is interrupted between two readings.
EARLY_NS = 1_000_000

UNLOGGED = "its server left no log of acknowledgements"
REFUSED = "the server's host did not transmit all that the server sent, so its log fits no packets"


@dataclass(frozen=True, slots=True)
class RoundTrips:
    """Transmissions that were acknowledged: sent_s (after the epoch, increasing), rtt_s; shape
    (packets,).

    unknown: why there are none to tell; empty: there are as many as there were.
    """

    sent_s: Floats
    rtt_s: Floats
    unknown: str = ""


def unknown(why: str) -> RoundTrips:
    """Return no round trips, and why."""
    return RoundTrips(np.empty(0), np.empty(0), why)


@dataclass(frozen=True)
class SenderCapture:
    """What was captured at a sender's interfaces, read when it is first wanted: few analyses need
    it.
    """

    artefacts: Artefacts
    names: tuple[str, ...]

    @cached_property
    def _headers(self) -> Headers:
        """All packets in order of time."""
        parts = [headers.parse(self.artefacts.content(f"{name}.headers")) for name in self.names]
        order = np.argsort(np.concatenate([p.packets.time_ns for p in parts]), kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        before = np.cumsum([0, *(len(part.packets) for part in parts)])
        blocks = [part.block_of + at for part, at in zip(parts, before, strict=False)]
        return Headers(
            concatenate(tuple(part.packets for part in parts)),
            place[np.concatenate(blocks)],
            np.concatenate([part.first for part in parts]),
            np.concatenate([part.last for part in parts]),
        )

    def directions(self, cell: Cell, flow: Flow) -> tuple[Packets, Packets]:
        """Return the packets with data that a flow's sender transmitted, and those without that it
        received: its ACKs. Each in order of time.

        Of QUIC, which encrypts what a packet is for, they are all datagrams of each direction.
        """
        packets = self._headers.packets
        tcp = packets.protocol == TCP
        filled = packets.payload_bytes > 0
        data, back = packets_of(cell, flow, packets), acks_of(flow, packets)
        opening = packets.flags & (SYN | RST) > 0
        acks = np.where(tcp, ~filled & ~opening & (packets.flags & ACK > 0), filled)
        return packets.select(data & filled), packets.select(back & acks)

    def of(
        self,
        cell: Cell,
        flow: Flow,
        log: NDArray[np.void] | None,
        epoch_ns: int,
        path: Subflow | None = None,
    ) -> RoundTrips:
        """Return the round trips of a flow. log: its server's, where it speaks QUIC. path: of
        Multipath TCP, alone.
        """
        seen = self._headers
        packets = seen.packets
        data, acks = packets_of(cell, flow, packets), acks_of(flow, packets)
        if path is not None:
            ours = ends_of(path, packets)
            data, acks = data & ours, acks & ours
        tcp = packets.protocol == TCP
        parts = [_tcp(seen, data & tcp, acks & tcp)]
        datagrams = packets.select(data & ~tcp)
        if flow.workload.echoes:
            parts.append(_pings(datagrams, packets.select(acks & ~tcp)))
        elif len(datagrams) or log is not None:
            found = _quic(datagrams, log, epoch_ns)
            if isinstance(found, str):
                return unknown(found)
            parts.append(found)
        sent_ns, acked_ns = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(sent_ns, kind="stable")
        rtt_s: Floats = (acked_ns - sent_ns)[order].astype(np.float64) * NS
        sent_s: Floats = (sent_ns[order] - epoch_ns).astype(np.float64) * NS
        return RoundTrips(sent_s, rtt_s)


def log_of(artefacts: Artefacts, file: str, records: int) -> NDArray[np.void]:
    """Return the log of a QUIC server, which says that it wrote so many records.

    Raises ArtefactError.
    """
    content = artefacts.content(file)
    if len(content) != records * RECORD.itemsize:
        raise ArtefactError(
            f"{file} has {len(content)} bytes, and the server wrote {records * RECORD.itemsize}"
        )
    return np.frombuffer(content, RECORD)


def _quic(
    datagrams: Packets, log: NDArray[np.void] | None, epoch_ns: int
) -> tuple[Int64s, Int64s] | str:
    """Return when each acknowledged datagram was transmitted and acknowledged, ns, or why that is
    unknown.

    datagrams: all of the server's, as its interface transmitted them.
    """
    if log is None:
        return UNLOGGED
    number = log["number"].astype(np.int64)
    if len(number) and number.max() >= len(datagrams):
        return REFUSED
    sent_ns = datagrams.time_ns[number]
    handed_ns, acked_ns = log["sent_ns"] + epoch_ns, log["acked_ns"] + epoch_ns
    other = datagrams.payload_bytes[number] != log["bytes"]
    other |= (sent_ns < handed_ns - EARLY_NS) | (sent_ns > acked_ns)
    return REFUSED if other.any() else (sent_ns, acked_ns)


def _pings(pings: Packets, echoes: Packets) -> tuple[Int64s, Int64s]:
    """Return when each ping that came back was transmitted, and when its first echo arrived, ns.

    Both have the ping's number as their sequence, and the port of its connection.
    """
    sent = pings.destination_port << 32 | pings.sequence
    back = echoes.source_port << 32 | echoes.sequence
    sent, first_sent = np.unique(sent, return_index=True)
    back, first_back = np.unique(back, return_index=True)
    _, ours, theirs = np.intersect1d(sent, back, assume_unique=True, return_indices=True)
    return pings.time_ns[first_sent[ours]], echoes.time_ns[first_back[theirs]]


def echoed(
    artefacts: Artefacts, cell: Cell, flow: Flow, tunnels: pcap.Headers, epoch_ns: int
) -> RoundTrips | None:
    """Return the round trips of pings from their programs' sending to the arrival of the first
    echo, which says when that was; None where these are not captured.
    """
    names = [c.name for c in cell.captures if (c.point, c.node) == ("echo", flow.server)]
    if not names:
        return None
    arrived, sent, number = [], [], []
    for name in names:
        packets = artefacts.capture(name, tunnels).packets
        at_ns, numbers = pcap.sent_ns(artefacts.content(f"{name}.pcap"), tunnels)
        ours = acks_of(flow, packets) & (numbers >= 0)
        arrived.append(packets.time_ns[ours] - epoch_ns)
        sent.append(at_ns[ours])
        number.append(packets.source_port[ours] << 48 | numbers[ours])
    arrived_ns, sent_ns, numbers = map(np.concatenate, (arrived, sent, number))
    order = np.argsort(arrived_ns, kind="stable")
    first = order[np.unique(numbers[order], return_index=True)[1]]
    first = first[np.argsort(sent_ns[first], kind="stable")]
    sent_s: Floats = sent_ns[first].astype(np.float64) * NS
    rtt_s: Floats = (arrived_ns - sent_ns)[first].astype(np.float64) * NS
    return RoundTrips(sent_s, rtt_s)


def _tcp(seen: Headers, data: Bools, acks: Bools) -> tuple[Int64s, Int64s]:
    """Return when each segment was transmitted and covered by an ACK, cumulative or selective, ns.

    Left out are segments any byte of which was transmitted twice: which of the two an ACK answers
    is unknown (Karn and Partridge, Improving round-trip time estimates in reliable transport
    protocols, 1987).
    """
    mine = np.flatnonzero(data | acks)
    place = np.full(len(seen.packets), -1)
    place[mine] = np.arange(len(mine))
    packets, data = seen.packets.select(mine), data[mine]
    acks = ~data & (packets.flags & (ACK | RST) == ACK)
    connection = _connections(packets, data)
    order = np.argsort(connection, kind="stable")
    forth, back = order[data[order]], order[acks[order]]
    if not len(forth) or not len(back):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    start, covered = np.zeros((2, len(packets)), np.int64)
    base = _first(connection[forth], packets.sequence[forth])
    start[forth] = _axis(connection[forth], packets.sequence[forth], base)
    covered[back] = _axis(connection[back], packets.acknowledgement[back], base)

    sent = forth[packets.payload_bytes[forth] > 0]
    sent = sent[np.argsort(start[sent], kind="stable")]
    begin = start[sent] + (packets.flags[sent] & SYN > 0)  # a SYN has a number of its own
    end = begin + packets.payload_bytes[sent]
    again = np.zeros(len(sent), np.bool_)
    again[:-1] |= begin[1:] < end[:-1]
    again[1:] |= begin[1:] < np.maximum.accumulate(end)[:-1]
    sent, begin, end = sent[~again], begin[~again], end[~again]

    # Connections follow each other on the axis, so the largest ACK so far never falls.
    highest = np.maximum.accumulate(covered[back])
    first = np.searchsorted(highest, end)
    reached = first < len(back)
    reached[reached] = connection[back[first[reached]]] == connection[sent[reached]]
    acked_ns = np.full(len(sent), NEVER)
    acked_ns[reached] = packets.time_ns[back[first[reached]]]

    by = place[seen.block_of]
    told = by >= 0
    told[told] = acks[by[told]]
    by = by[told]
    edges = (seen.first[told], seen.last[told])
    low, high = (covered[by] + _signed(edge - packets.acknowledgement[by]) for edge in edges)
    selected_ns = _earliest(
        np.searchsorted(begin, low),
        np.searchsorted(end, high, side="right"),
        packets.time_ns[by],
        len(sent),
    )
    acked_ns = np.minimum(acked_ns, selected_ns)
    sent_ns = packets.time_ns[sent]
    known = (acked_ns < NEVER) & (acked_ns >= sent_ns)
    return sent_ns[known], acked_ns[known]


def _connections(packets: Packets, data: Bools) -> Int64s:
    """Number the connections of packets; one that reuses the port of an earlier one is another."""
    address = np.where(data, packets.destination, packets.source)
    port = np.where(data, packets.destination_port, packets.source_port)
    number = np.unique(address << 16 | port, return_inverse=True)[1].astype(np.int64)
    order = np.argsort(number, kind="stable")
    opening = order[packets.flags[order] & (SYN | ACK) == SYN]
    opens = np.zeros(len(packets), np.int64)
    # A SYN that is retransmitted opens nothing.
    opens[opening] = 1
    opens[opening[1:]] -= (np.diff(number[opening]) == 0) & (
        np.diff(packets.sequence[opening]) == 0
    )
    opened = np.empty(len(packets), np.int64)
    opened[order] = np.cumsum(opens[order])
    pairs = number * (len(packets) + 1) + opened
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _signed(difference: Int64s) -> Int64s:
    """Return differences of 32-bit numbers as the nearest ones, in [-2^31, 2^31)."""
    near: Int64s = (difference + (1 << 31)) % (1 << 32) - (1 << 31)
    return near


def _first(connection: Int64s, number: Int64s) -> Int64s:
    """Return the first number of each connection, by connection; connections are in order. 0 for
    one without.
    """
    found = np.zeros(int(connection[-1]) + 1, np.int64)
    found[connection[::-1]] = number[::-1]
    return found


def _axis(connection: Int64s, number: Int64s, base: Int64s) -> Int64s:
    """Return 32-bit numbers without their wraps on one axis for all connections, each from its own
    base on.

    connection: increasing; the numbers of each in order of time. base: by connection.
    """
    base = np.concatenate((base, np.zeros(max(0, int(connection[-1]) + 1 - len(base)), np.int64)))
    begins = np.diff(connection, prepend=-1) != 0
    before = np.where(begins, base[connection], np.concatenate((number[:1], number[:-1])))
    step = _signed(number - before)
    total = np.cumsum(step)
    starts = np.flatnonzero(begins)
    lead = np.repeat(total[starts] - step[starts], np.diff(starts, append=len(number)))
    place: Int64s = total - lead + connection * SPAN + SPAN // 4
    return place


def _earliest(low: Int64s, high: Int64s, time_ns: Int64s, size: int) -> Int64s:
    """Return for each of `size` places the smallest time of all ranges [low, high) that hold it, or
    NEVER.

    A range is covered by two of a power of two; each level then hands its times on to the next
    smaller one.
    """
    some = high > low
    low, high, time_ns = low[some], high[some], time_ns[some]
    if not len(low):
        return np.full(size, NEVER)
    level = np.log2(high - low).astype(np.int64)
    times = np.full(size, NEVER)
    for power in range(int(level.max()), -1, -1):
        half, here = 1 << power, level == power
        if (
            power < level.max()
        ):  # each place of the level above stands for this one and the one `half` further
            upper = times
            times = upper.copy()
            times[half:] = np.minimum(times[half:], upper[:-half])
        np.minimum.at(times, low[here], time_ns[here])
        np.minimum.at(times, high[here] - half, time_ns[here])
    return times


def watched(artefacts: Artefacts, cell: Cell, node: str) -> SenderCapture | None:
    """Return what was captured at the interfaces of a sending host, or None."""
    names = tuple(c.name for c in cell.captures if (c.point, c.node) == ("sender", node))
    return SenderCapture(artefacts, names) if names else None
