"""Read a packet capture into columns: classic pcap, Ethernet, IPv4, TCP and UDP.

The format is draft-ietf-opsawg-pcap: a header of 24 bytes, then records of 16 bytes and the bytes
that were kept. Fields that a packet does not have, or that the snap length cut off, are 0.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import islice
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.arrays import Int64s

from .checksums import damage

UInt64s = NDArray[np.uint64]

# 2^64 over the golden ratio, made odd (Knuth, The Art of Computer Programming 3, section 6.4).
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)


def absorb(digest: UInt64s, words: UInt64s) -> UInt64s:
    """Return the digests after one more word of each row, both of shape (rows,).

    A bijection of the word for a given digest, so rows that differ in only one word never collide.
    """
    mixed: UInt64s = (digest ^ words) * _MULTIPLIER
    return mixed ^ (mixed >> _FOLD)


UInt8s = NDArray[np.uint8]

ETHERNET = 1
ICMP, TCP, UDP, CARRIED = 1, 6, 17, 253
_DATAGRAM = int.from_bytes(b"fair")
"""Protocols of IP; CARRIED: another packet, in a tunnel (endpoints/src/tunnel)."""
FIN, SYN, RST, PSH, ACK, ECE, CWR = 1, 2, 4, 8, 16, 64, 128

# The first four bytes of a file: byte order and nanoseconds per unit of the fraction.
_MAGIC = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}
_HEADER_BYTES, _RECORD_BYTES = 24, 16
_ETHERNET_BYTES = 14
_ETHERTYPE_IPV4 = 0x0800
_SACK, _TIMESTAMPS = 5, 8  # kinds of TCP options
# A snapshot of 96 bytes holds 54 of a datagram's payload.
DIGEST_BYTES = 64
# Mask of the first 0 to 8 bytes of a little-endian word.
_FIRST_BYTES = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)
# Records per batch: enough to amortise the overhead of NumPy's calls, few enough for their columns
# to fit into the CPU's cache.
_AT_ONCE = 4096
# Records of one length that are worth finding at once.
_MANY = 64
# Options can end behind the last captured byte: gathers may read this far past it.
_PADDING = 160


class PcapError(ValueError):
    """The bytes are not a capture that this reader supports; the message says what they are."""


@dataclass(frozen=True, slots=True)
class Packets:
    """Packets as columns, each of shape (packets,), int64, in the order of capture.

    time_ns: as captured, ns. frame_bytes: length on the wire, without preamble and checksum.
    ip_bytes: total length of the IPv4 header, 0 for anything else (ARP, IPv6). source,
    destination: IPv4 addresses. protocol: of IPv4. ip_id, fragment: identification; offset in
    8 bytes. source_port, destination_port: TCP and UDP. sequence: of TCP, and the second word of
    ICMP (an echo's identifier and number). acknowledgement, flags: TCP. payload_bytes: of TCP or
    UDP. ts_value, ts_echo: TCP timestamps (RFC 7323). payload_digest: of the first DIGEST_BYTES
    bytes of a UDP datagram's payload, or as many of them as were captured. tos: the byte of IPv4
    that has the DSCP (upper six bits, RFC 2474) and ECN (lower two, RFC 3168).

    Of a packet in a tunnel, frame_bytes, ip_bytes and tos are those of what carries it, and all
    others its own. towards: the address to which routers send it, which is that of what carries it.
    own_tos: its own. long_header: 1 for a UDP datagram that begins with a packet of QUIC's
    handshake (Initial and Handshake of version 1: RFC 9000, 17.2), else 0. damage: UNREAD for one
    that the next router or host drops, BROKEN for one that the host drops that it is for, UNNOTICED
    for one that has changed where nobody looks; 0 for others, and where that was not asked for.
    translated: 1 for one whose ports were others as it was captured, on the far side of a NAT that
    has rebound them.
    """

    time_ns: Int64s
    frame_bytes: Int64s
    ip_bytes: Int64s
    source: Int64s
    destination: Int64s
    protocol: Int64s
    ip_id: Int64s
    fragment: Int64s
    source_port: Int64s
    destination_port: Int64s
    sequence: Int64s
    acknowledgement: Int64s
    flags: Int64s
    payload_bytes: Int64s
    ts_value: Int64s
    ts_echo: Int64s
    payload_digest: Int64s
    tos: Int64s
    towards: Int64s
    own_tos: Int64s
    long_header: Int64s
    damage: Int64s
    translated: Int64s

    def __len__(self) -> int:
        return len(self.time_ns)

    def select(self, which: NDArray[np.bool_] | Int64s) -> Packets:
        """Return the packets that a mask or an array of indices selects."""
        if which.dtype == np.bool_ and which.all():
            return self
        return Packets(*(getattr(self, f.name)[which] for f in fields(self)))


def concatenate(parts: tuple[Packets, ...]) -> Packets:
    """Join captures, sorted by time; packets of one time keep the order of the parts."""
    if len(parts) == 1 and (np.diff(parts[0].time_ns) >= 0).all():
        return parts[0]
    joined = _in_order(parts)
    return joined.select(np.argsort(joined.time_ns, kind="stable"))


def _in_order(parts: Sequence[Packets]) -> Packets:
    """Join captures, one behind the other."""
    return Packets(
        *(
            np.concatenate([np.empty(0, np.int64), *(getattr(p, f.name) for p in parts)])
            for f in fields(Packets)
        )
    )


@dataclass(frozen=True, slots=True)
class Capture:
    """The packets of one file. cut_bytes: length of a truncated record at its end, else 0."""

    packets: Packets
    cut_bytes: int


Headers = Mapping[tuple[int, int], int]
"""Between which addresses tunnels carry packets, and the length of the header that they add."""


def read(path: Path) -> Capture:
    """Read a capture file. Raises OSError, and PcapError for what is not a classic pcap."""
    return parse(path.read_bytes())


def parse(data: bytes, headers: Headers = MappingProxyType({}), summed: bool = False) -> Capture:
    """Read the bytes of a capture file. Raises PcapError for what is not a classic pcap.

    headers: of tunnels. summed: find damaged packets (`damage`).
    """
    if len(data) < _HEADER_BYTES:
        raise PcapError(f"it has {len(data)} bytes, a capture has at least {_HEADER_BYTES}")
    try:
        order, tick_ns = _MAGIC[data[:4]]
    except KeyError:
        raise PcapError(f"it does not begin like a capture ({data[:4].hex()})") from None
    link = struct.unpack_from(order + "I", data, 20)[0] & 0xFFFF
    if link != ETHERNET:
        raise PcapError(f"its link type is {link}, not Ethernet (1)")
    offsets, end = _record_offsets(data, order)
    buffer = np.frombuffer(data + bytes(_PADDING), np.uint8)
    columns = [np.empty(len(offsets), np.int64) for _ in fields(Packets)]
    for first in range(0, len(offsets), _AT_ONCE):
        batch = slice(first, first + _AT_ONCE)
        part = _columns(buffer, offsets[batch], order, tick_ns, headers)
        for column, f in zip(columns, fields(Packets), strict=True):
            column[batch] = getattr(part, f.name)
    packets = Packets(*columns)
    if summed:
        packets = replace(packets, damage=damage(buffer, offsets + _RECORD_BYTES, packets))
    return Capture(packets, len(data) - end)


@dataclass(frozen=True, slots=True)
class Feedback:
    """The bits that inform a sender of congestion, besides the columns of `Packets`.

    marked: whether each packet has the mark CE (RFC 3168), shape (packets,). block_of, block_first,
    block_last: blocks [first, last) that packets acknowledge selectively (RFC 2018), shape
    (blocks,);
    block_of: index of the packet, increasing.
    """

    marked: NDArray[np.bool_]
    block_of: Int64s
    block_first: Int64s
    block_last: Int64s


def feedback(data: bytes) -> Feedback:
    """Read marks and selective acknowledgements of a capture that `parse` reads."""
    order, _ = _MAGIC[data[:4]]
    offsets, _ = _record_offsets(data, order)
    buffer = np.frombuffer(data + bytes(_PADDING), np.uint8)
    kept = offsets[:, None] + 8 + np.arange(4)
    frame = offsets + _RECORD_BYTES
    end = frame + buffer[kept].reshape(-1).view(order + "u4").astype(np.int64)
    read = _Bytes(buffer, end).field
    every = np.ones(len(offsets), np.bool_)
    ip = frame + _ETHERNET_BYTES
    first = read(ip, 1, every)
    ipv4 = (read(frame + 12, 2, every) == _ETHERTYPE_IPV4) & (first >> 4 == 4)
    marked = ipv4 & (read(ip + 1, 1, ipv4) & 3 == 3)
    tcp = ipv4 & (read(ip + 9, 1, ipv4) == TCP) & (read(ip + 6, 2, ipv4) & 0x1FFF == 0)
    transport = ip + (first & 15) * 4
    data_offset = (read(transport + 12, 1, tcp) >> 4) * 4
    place = _option(buffer, transport, data_offset, end, tcp, _SACK)
    blocks = np.where(place > 0, (buffer[place + 1].astype(np.int64) - 2) // 8, 0)
    which = np.repeat(np.arange(len(offsets)), blocks)
    rank = np.arange(len(which)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    at = place[which] + 2 + 8 * rank
    whole = _Bytes(buffer, end[which]).field
    present = np.ones(len(which), np.bool_)
    return Feedback(marked, which, whole(at, 4, present), whole(at + 4, 4, present))


def sent_ns(data: bytes, headers: Headers = MappingProxyType({})) -> tuple[Int64s, Int64s]:
    """Return when each packet of a capture that `parse` reads was sent, ns after the epoch, and its
    number, as datagrams of our endpoints say (endpoints/src/udp/datagram.rs); of others -1 and -1.
    """
    order, _ = _MAGIC[data[:4]]
    offsets, _ = _record_offsets(data, order)
    buffer = np.frombuffer(data + bytes(_PADDING), np.uint8)
    words = np.ndarray((len(buffer) - 3,), order + "u4", buffer, strides=(1,))
    frame = offsets + _RECORD_BYTES
    read = _Bytes(buffer, frame + words[offsets + 8].astype(np.int64)).field
    every = np.ones(len(offsets), np.bool_)
    ip = frame + _ETHERNET_BYTES
    ipv4 = (read(frame + 12, 2, every) == _ETHERTYPE_IPV4) & (read(ip, 1, every) >> 4 == 4)
    ip = _inside(read, ip, ipv4, headers)
    udp = ipv4 & (read(ip + 9, 1, ipv4) == UDP) & (read(ip + 6, 2, ipv4) & 0x1FFF == 0)
    payload = ip + (read(ip, 1, ipv4) & 15) * 4 + 8
    ours = udp & (read(payload, 4, udp) == _DATAGRAM) & (read(payload + 4, 2, udp) == 1)
    number, sent = (
        (read(payload + at, 4, ours) << 32) + read(payload + at + 4, 4, ours) for at in (8, 16)
    )
    return np.where(ours, sent, -1), np.where(ours, number, -1)


def _record_offsets(data: bytes, order: str) -> tuple[Int64s, int]:
    """Return where each complete record begins, and where the last one ends.

    Each length is where the one before says. Many records of the same length are found at once;
    others are read one by one, which costs least with two bytes of the length: whether the other
    two are zero is seen for many at once.
    """
    size = len(data)
    low, high = (8, 9) if order == "<" else (11, 10)
    # Four bytes as one word, starting at every byte.
    words = np.ndarray((size - 3,), order + "u4", data, strides=(1,))

    def walk(at: int) -> Iterator[int]:
        while at + _RECORD_BYTES <= size:
            yield at
            at += _RECORD_BYTES + data[at + low] + (data[at + high] << 8)

    parts: list[Int64s] = []
    position, most = _HEADER_BYTES, _AT_ONCE
    while True:
        offsets = _alike(words, position)
        if len(offsets) < _MANY:
            offsets = np.fromiter(islice(walk(position), most), np.int64)
        following = offsets + _RECORD_BYTES + words[offsets + 8]
        wrong = np.flatnonzero(following[:-1] != offsets[1:])
        right = int(wrong[0]) + 1 if len(wrong) else len(offsets)
        whole = int(np.count_nonzero(following[:right] <= size))
        parts.append(offsets[:whole])
        if whole:
            position = int(following[whole - 1])
        if whole < right or position + _RECORD_BYTES > size:
            return np.concatenate(parts), position
        most = _AT_ONCE if len(wrong) else 2 * most


def _alike(words: NDArray[np.uint32], at: int) -> Int64s:
    """Return where the records begin that are as long as the first one, at `at`, one behind the
    other.

    words: the four bytes that begin at each one of the file.
    """
    first, last = at + 8, len(words) + 3 - _RECORD_BYTES + 8
    if first > last:
        return np.empty(0, np.int64)
    step, count = _RECORD_BYTES + int(words[first]), _MANY
    while True:
        same = words[first : min(first + count * step, last + 1) : step] == words[first]
        if len(same) < count or not same.all():
            alike = len(same) if same.all() else int(np.argmin(same))
            return at + step * np.arange(alike)
        count *= 4


class _Bytes:
    """Big-endian fields of many packets at once; a field that was not captured in full reads as
    0.
    """

    def __init__(self, buffer: UInt8s, end: Int64s) -> None:
        self._end = end
        # One, two and four bytes as one number, starting at every byte.
        self._numbers = {
            width: np.ndarray((len(buffer) - width + 1,), f">u{width}", buffer, strides=(1,))
            for width in (1, 2, 4)
        }

    def field(self, at: Int64s, width: int, present: NDArray[np.bool_]) -> Int64s:
        """Return the unsigned field of `width` bytes (1, 2 or 4) at `at`, shape (packets,)."""
        present = present & (at + width <= self._end)
        if present.all():
            return self._numbers[width][at].astype(np.int64)
        value = self._numbers[width][np.where(present, at, 0)].astype(np.int64)
        return np.where(present, value, 0)


def _columns(
    buffer: UInt8s, offsets: Int64s, order: str, tick_ns: int, headers: Headers
) -> Packets:
    # Four bytes of the buffer as one word, starting at every byte.
    words = np.ndarray((len(buffer) - 3,), order + "u4", buffer, strides=(1,))
    heads = np.stack([words[offsets + at] for at in (0, 4, 8, 12)], axis=1).astype(np.int64)
    frame = offsets + _RECORD_BYTES
    read = _Bytes(buffer, frame + heads[:, 2]).field
    every = np.ones(len(offsets), np.bool_)

    ip = frame + _ETHERNET_BYTES
    ipv4 = (read(frame + 12, 2, every) == _ETHERTYPE_IPV4) & (read(ip, 1, every) >> 4 == 4)
    frame_ip_bytes, tos, towards = (
        read(ip + at, width, ipv4) for at, width in ((2, 2), (1, 1), (16, 4))
    )
    ip = _inside(read, ip, ipv4, headers)
    header_bytes = (read(ip, 1, ipv4) & 15) * 4
    ip_bytes = read(ip + 2, 2, ipv4)
    fragment = read(ip + 6, 2, ipv4) & 0x1FFF
    protocol = read(ip + 9, 1, ipv4)
    # Only the first fragment carries the transport header.
    tcp = ipv4 & (protocol == TCP) & (fragment == 0)
    udp = ipv4 & (protocol == UDP) & (fragment == 0)
    icmp = ipv4 & (protocol == ICMP) & (fragment == 0)

    transport = ip + header_bytes
    data_offset = (read(transport + 12, 1, tcp) >> 4) * 4
    transport_bytes = np.where(tcp, data_offset, np.where(udp, 8, 0))
    payload = np.maximum(ip_bytes - header_bytes - transport_bytes, 0)
    ts_value, ts_echo = _timestamps(buffer, read, transport, data_offset, frame + heads[:, 2], tcp)
    return Packets(
        time_ns=heads[:, 0] * 1_000_000_000 + heads[:, 1] * tick_ns,
        frame_bytes=heads[:, 3],
        ip_bytes=frame_ip_bytes,
        source=read(ip + 12, 4, ipv4),
        destination=read(ip + 16, 4, ipv4),
        protocol=protocol,
        ip_id=read(ip + 4, 2, ipv4),
        fragment=fragment,
        source_port=read(transport, 2, tcp | udp),
        destination_port=read(transport + 2, 2, tcp | udp),
        sequence=read(transport + 4, 4, tcp | icmp),
        acknowledgement=read(transport + 8, 4, tcp),
        flags=read(transport + 13, 1, tcp),
        payload_bytes=np.where((tcp & (data_offset >= 20)) | udp, payload, 0),
        ts_value=ts_value,
        ts_echo=ts_echo,
        payload_digest=_digests(
            buffer, transport + 8, np.minimum(ip + ip_bytes, frame + heads[:, 2]), udp
        ),
        tos=tos,
        towards=towards,
        own_tos=read(ip + 1, 1, ipv4),
        long_header=_long_header(read, transport + 8, udp),
        damage=np.zeros(len(offsets), np.int64),
        translated=np.zeros(len(offsets), np.int64),
    )


def _long_header(
    read: Callable[[Int64s, int, NDArray[np.bool_]], Int64s],
    payload: Int64s,
    udp: NDArray[np.bool_],
) -> Int64s:
    """Return 1 for each datagram that begins with a packet of QUIC's handshake, else 0."""
    found: NDArray[np.bool_] = read(payload, 4, udp) & 0x90FFFFFF == 0x80000000
    found &= read(payload + 4, 1, udp & found) == 1
    return found.astype(np.int64)


def _inside(
    read: Callable[[Int64s, int, NDArray[np.bool_]], Int64s],
    ip: Int64s,
    ipv4: NDArray[np.bool_],
    headers: Headers,
) -> Int64s:
    """Return where each packet's own header begins, behind those of tunnels.

    A tunnel may lead through others, so the loop runs once for each that is in another.
    """
    for _ in headers:
        carried = ipv4 & (read(ip + 9, 1, ipv4) == CARRIED)
        if not carried.any():
            break
        source, destination = read(ip + 12, 4, carried), read(ip + 16, 4, carried)
        for (a, b), length in headers.items():
            ip = np.where(carried & (source == a) & (destination == b), ip + length, ip)
    return ip


def _digests(buffer: UInt8s, start: Int64s, end: Int64s, present: NDArray[np.bool_]) -> Int64s:
    """Return a digest of the bytes from start to end, DIGEST_BYTES at most; 0 where not present.

    Eight bytes of all packets at a time, so the loop runs once per word of the longest.
    """
    # Eight bytes of the buffer as one word, starting at every byte.
    words = np.ndarray((len(buffer) - 7,), "<u8", buffer, strides=(1,))
    digests = np.zeros(len(start), np.int64)
    rows = np.flatnonzero(present)
    at, left = start[rows], np.clip(end[rows] - start[rows], 0, DIGEST_BYTES)
    digest = absorb(np.zeros(len(rows), np.uint64), left.astype(np.uint64))
    for first in range(0, int(left.max(initial=0)), 8):
        inside = np.clip(left - first, 0, 8)
        word = words[np.where(inside > 0, at + first, 0)] & _FIRST_BYTES[inside]
        # A datagram's digest must not depend on how long others of its capture are.
        digest = np.where(inside > 0, absorb(digest, word), digest)
    digests[rows] = digest.view(np.int64)
    return digests


def _timestamps(
    buffer: UInt8s,
    read: Callable[[Int64s, int, NDArray[np.bool_]], Int64s],
    transport: Int64s,
    data_offset: Int64s,
    captured: Int64s,
    tcp: NDArray[np.bool_],
) -> tuple[Int64s, Int64s]:
    """Return the value and echo of each packet's TCP timestamp option, 0 without one."""
    place = _option(buffer, transport, data_offset, captured, tcp, _TIMESTAMPS)
    present = place > 0
    return read(place + 2, 4, present), read(place + 6, 4, present)


def _option(
    buffer: UInt8s,
    transport: Int64s,
    data_offset: Int64s,
    captured: Int64s,
    tcp: NDArray[np.bool_],
    wanted: int,
) -> Int64s:
    """Return where the TCP option of a kind begins in each packet, 0 where there is none.

    All packets walk through their options in step, so the loop runs once per option of the
    packet with the most.
    """
    place = np.zeros(len(transport), np.int64)
    end = np.minimum(transport + data_offset, captured)
    pending = np.flatnonzero(tcp & (data_offset > 20))
    at = transport[pending] + 20
    while len(pending):
        inside = at < end[pending]
        pending, at = pending[inside], at[inside]
        kind, length = buffer[at].astype(np.int64), buffer[at + 1].astype(np.int64)
        found = (kind == wanted) & (at + length <= end[pending])
        found &= (length == 10) if wanted == _TIMESTAMPS else (length >= 10)
        place[pending[found]] = at[found]
        # End of options (0), an impossible length, and a found option end the walk.
        go_on = (kind == 1) | ((kind != 0) & (length >= 2) & ~found)
        step = np.where(kind == 1, 1, length)
        pending, at = pending[go_on], (at + step)[go_on]
    return place
