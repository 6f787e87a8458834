"""Media that send aggregates: what each must have done with the captured arrivals, by the reference
model.

The model is that of docs/learn/links.md, of whole nanoseconds. A medium that is free takes packets
in the order in which they leave its queue, closes the aggregate, and sends it at the rate that
holds, whatever that becomes meanwhile; all of it is seen to leave when its last bit has been sent.
An aggregate whose packets leave as the model says begins the next one by the model's time, else by
the captured one, so that no error is carried on. What came so close to the end of a hold, or to a
slot, that its capture does not say whether it was in time was, if it left with the others.
"""

from __future__ import annotations

import numpy as np

from fairc.cell.medium import Medium
from fairc.runtime.arrays import Bools, Int64s
from fairc.runtime.measurement.changes import History
from fairc.runtime.measurement.media import Aggregates
from fairc.runtime.measurement.pcap import ACK, CWR, ECE, FIN, PSH, RST, SYN, TCP, Packets

from .cell import RadioMedium

NEAR_NS = 1000
"""How far from its time a packet may come or leave, and how far one packet of an aggregate may be
behind the one ahead: computing takes no time, and each reading of the clock takes a nanosecond.
"""

PLAIN_BYTES, STAMPED_BYTES = 40, 52
"""An acknowledgement's IP packet, and one with the timestamps option and its padding."""


class _Sending:
    """How long bytes take at a rate that changes."""

    def __init__(self, history: History) -> None:
        assert history.interface.shaper is not None
        self._times = [round(done.end_s * 1e9) for done, _ in history.done]
        first = history.interface.shaper.rate_bps
        self._rates = [
            max(1, rate // 8) for rate in (first, *(c.rate_bps or first for _, c in history.done))
        ]
        self._at = 0

    def rate(self, time_ns: int) -> int:
        """Return the rate at a time, bytes/s; times never go back."""
        while self._at < len(self._times) and self._times[self._at] <= time_ns:
            self._at += 1
        return self._rates[self._at]

    def end_ns(self, begin_ns: int, size: int) -> int:
        """Return when `size` bytes whose sending begins at `begin_ns` have been sent, ns."""
        rate, left, now_ns, at = self.rate(begin_ns), size * 10**9, begin_ns, self._at
        while at < len(self._times):
            passes = (self._times[at] - now_ns) * rate
            if passes >= left:
                break
            left -= passes
            now_ns = self._times[at]
            at += 1
            rate = self._rates[at]
        return now_ns + left // rate


class _Slots:
    """The slots of a medium, the first of which begins with the cell; before that, all are as long
    as it.
    """

    def __init__(self, medium: RadioMedium) -> None:
        self._medium, self._at_ns, self._number = medium, 0, 0

    def _length_ns(self, number: int) -> int:
        assert self._medium.every is not None
        return self._medium.drawn_ns(self._medium.every, number)

    def first(self, time_ns: int) -> tuple[int, int]:
        """Return the first slot that is not before a time, and its length, ns; times never go
        back.
        """
        if time_ns < 0:
            length_ns = self._length_ns(0)
            return -(-time_ns // length_ns * length_ns), length_ns
        while self._at_ns < time_ns:
            self._at_ns += self._length_ns(self._number)
            self._number += 1
        return self._at_ns, self._length_ns(self._number)


def aggregates(
    medium: Medium,
    history: History,
    arrival_ns: Int64s,
    left_ns: Int64s,
    frame_bytes: Int64s,
) -> Aggregates:
    """Return what a medium must have done.

    history: of its interface. arrival_ns: when each frame that left came to the queue; where that
    is not known, the latest that is possible. left_ns: when it was seen to leave, in order.
    """
    assert isinstance(medium, RadioMedium)
    count = len(left_ns)
    sending, slots = _Sending(history), _Slots(medium)
    came, left, sizes = arrival_ns.tolist(), left_ns.tolist(), frame_bytes.tolist()
    most = medium.size_packets or count
    taken, begun, ended, numbers = ([0] * count for _ in range(4))
    free_ns, first, number, drawn = came[0] if count else 0, 0, 0, 0
    full_bytes = history.interface.frame_bytes
    while first < count:
        begin_ns = max(free_ns, came[first])
        last = first + 1

        def joins(at: int, until_ns: int) -> bool:
            if abs(came[at] - until_ns) <= NEAR_NS:
                return bool(left[at] - left[at - 1] <= NEAR_NS)
            return bool(came[at] <= until_ns)

        if medium.every is not None:
            begin_ns, room_ns = slots.first(begin_ns)
            rate, size = sending.rate(begin_ns), sizes[first]
            # One that comes just before a slot may come too late for it.
            own_ns = begin_ns + room_ns + size * 10**9 // rate
            if came[first] >= begin_ns - NEAR_NS and left[first] >= own_ns - NEAR_NS:
                begin_ns, room_ns = slots.first(begin_ns + 1)
                rate = sending.rate(begin_ns)
            while last < count and last - first < most and joins(last, begin_ns):
                if (size + full_bytes) * 10**9 // rate > room_ns:
                    break
                size += sizes[last]
                last += 1
            taken[first:last] = [begin_ns] * (last - first)
        else:
            hold_ns = 0 if medium.hold is None else medium.drawn_ns(medium.hold, drawn)
            drawn += begin_ns >= 0
            while last < count and last - first < most and joins(last, begin_ns + hold_ns):
                last += 1
            taken[first:last] = [max(begin_ns, at) for at in came[first:last]]
            full = last - first == medium.size_packets
            begin_ns = taken[last - 1] if full else begin_ns + hold_ns
        sent = 0
        for at in range(first, last):
            begun[at] = sending.end_ns(begin_ns, sent)
            sent += sizes[at]
        end_ns = sending.end_ns(begin_ns, sent)
        ended[first:last] = [end_ns] * (last - first)
        numbers[first:last] = [number] * (last - first)
        exact = abs(left[first] - end_ns) <= NEAR_NS
        free_ns = end_ns if exact else left[last - 1]
        first, number = last, number + 1
    return Aggregates(*(np.array(each, np.int64) for each in (taken, begun, ended, numbers)))


def kept_out(medium: Medium, packets: Packets) -> Bools | None:
    """Return which packets that come to a queue thinning removes; None: it does not thin."""
    assert isinstance(medium, RadioMedium)
    return None if medium.thin is None else thinned(packets, medium.thin)


def thinned(packets: Packets, ratio: int) -> Bools:
    """Return which packets are acknowledgements that thinning removes, of all that come to a queue.

    Those of a TCP connection that acknowledge more than any before count, if they carry nothing
    else: no data, no SYN, FIN or RST, no option but timestamps, and the bits of ECN (ECE, CWR) of
    the one before. The first packet of a connection passes, then each `ratio`th that counts.
    """
    plain = (packets.ip_bytes == PLAIN_BYTES) | (
        (packets.ip_bytes == STAMPED_BYTES) & ((packets.ts_value > 0) | (packets.ts_echo > 0))
    )
    tcp = (packets.protocol == TCP) & (packets.fragment == 0)
    removed = np.zeros(len(packets), np.bool_)
    state: dict[tuple[int, ...], tuple[int, int, int]] = {}
    columns = (
        packets.source,
        packets.destination,
        packets.source_port,
        packets.destination_port,
    )
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    for at in np.flatnonzero(tcp).tolist():
        flags, key = int(packets.flags[at]), keys[at]
        if flags & SYN:
            state.pop(key, None)
            continue
        if not flags & ACK:
            continue
        number, bits = int(packets.acknowledgement[at]), flags & (ECE | CWR)
        if key not in state:
            state[key] = number, bits, 0
            continue
        highest, before, held = state[key]
        is_new = 0 < (number - highest) % 2**32 < 2**31
        counts = is_new and bits == before and plain[at] and not flags & (FIN | RST)
        counts = counts and not packets.payload_bytes[at] and not flags & ~(ACK | PSH | ECE | CWR)
        if counts:
            held = (held + 1) % ratio
            removed[at] = held > 0
        state[key] = (number if is_new else highest), bits, held
    return removed
