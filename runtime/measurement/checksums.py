"""Damaged packets in captures, by the checksums of IP, TCP, UDP and ICMP, and by the addresses of
Ethernet, which differ on no cable.

A packet that has not left its machine may have the sum of its pseudo-header alone in the place of
its checksum (Linux, CHECKSUM_PARTIAL): nothing has damaged that one, as what does completes it
first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.arrays import Int64s

if TYPE_CHECKING:
    from .pcap import Packets


UNNOTICED, BROKEN, UNREAD = 1, 2, 3
"""Nobody's checksum finds it; the host that it is for drops it; so does any router."""
ICMP, TCP, UDP = 1, 6, 17
_IPV4, _ARP = 0x0800, 0x0806
_FULL = 0xFFFF
"""Sums of ones' complements (RFC 1071) are remainders of this."""


class _Sums:
    """Sums of 16-bit words of a buffer, from any byte to any other, and fields in it."""

    def __init__(self, buffer: NDArray[np.uint8]) -> None:
        self._buffer = buffer
        padded = np.append(buffer, np.zeros(len(buffer) % 2, np.uint8)).reshape(-1, 2)
        total = np.zeros((2, len(padded) + 1), np.int64)
        np.cumsum(padded.T, axis=1, out=total[:, 1:])
        self._even, self._odd = total

    def field(self, at: Int64s, width: int) -> Int64s:
        """Return big-endian numbers of `width` bytes."""
        found = np.zeros(len(at), np.int64)
        for offset in range(width):
            found = (found << 8) + self._buffer[at + offset]
        return found

    def of(self, begin: Int64s, end: Int64s) -> Int64s:
        """Return the sums from begin to before end, modulo 65535."""
        even = self._even[(end + 1) // 2] - self._even[(begin + 1) // 2]
        odd = self._odd[end // 2] - self._odd[begin // 2]
        high, low = np.where(begin % 2, odd, even), np.where(begin % 2, even, odd)
        found: Int64s = (high * 256 + low) % _FULL
        return found


def damage(buffer: NDArray[np.uint8], frame: Int64s, packets: Packets) -> Int64s:
    """Return for each packet UNREAD, BROKEN, UNNOTICED or 0.

    buffer: a capture, with some bytes behind its end. frame: where each frame begins in it, which
    was captured whole: of others nothing is said.
    """
    sums = _Sums(buffer)
    ip, kept = frame + 14, np.minimum(frame + packets.frame_bytes, len(buffer) - 64)
    kind, total = sums.field(frame + 12, 2), sums.field(ip + 2, 2)
    unread = (kind != _IPV4) & (kind != _ARP)
    unread |= _strange(sums.field(frame, 6))
    sound = (kind == _IPV4) & (sums.field(ip, 1) == 0x45) & (ip + total <= kept) & (total >= 20)
    unread |= (kind == _IPV4) & ~sound
    unread |= sound & (sums.of(ip, ip + 20) != 0)
    wrong = unread.copy()
    protocol, segment, end = sums.field(ip + 9, 1), ip + 20, np.where(sound, ip + total, ip + 20)
    whole = sound & (sums.field(ip + 6, 2) & 0x3FFF == 0)
    pseudo = np.where(protocol == ICMP, 0, sums.of(ip + 12, ip + 20) + protocol + total - 20)
    place = {TCP: 16, UDP: 6, ICMP: 2}
    for number, at in place.items():
        ours = whole & (protocol == number)
        written = sums.field(np.where(ours, segment + at, segment), 2)
        good = (sums.of(segment, end) + pseudo) % _FULL == 0
        good |= (written % _FULL == pseudo % _FULL) & (number != ICMP)
        good |= (written == 0) & (number == UDP)
        wrong |= ours & ~good
    unnoticed = ~wrong & _strange(sums.field(frame + 6, 6))
    kinds = [(unread, UNREAD), (wrong, BROKEN), (unnoticed, UNNOTICED)]
    return np.select([which for which, _ in kinds], [kind for _, kind in kinds], 0).astype(np.int64)


def _strange(addresses: Int64s) -> NDArray[np.bool_]:
    """Return which addresses are not the one that nearly all packets have."""
    if not len(addresses):
        return np.zeros(0, np.bool_)
    values, counts = np.unique(addresses, return_counts=True)
    return np.asarray(addresses != values[counts.argmax()], np.bool_)
