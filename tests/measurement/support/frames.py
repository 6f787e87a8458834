"""Builds Ethernet frames and capture files, byte by byte, for tests."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

TIMESTAMPS = b"\x01\x01\x08\x0a"


@dataclass(frozen=True)
class Frame:
    """One captured frame: time in ns, the bytes on the wire."""

    time_ns: int
    data: bytes


def ethernet(payload: bytes, kind: int = 0x0800) -> bytes:
    return bytes.fromhex("020000000002020000000001") + struct.pack(">H", kind) + payload


def ipv4(
    source: str,
    destination: str,
    protocol: int,
    payload: bytes,
    *,
    ip_id: int = 0,
    options: int = 0,
) -> bytes:
    """An IPv4 packet; options: length of (no-operation) IP options, a multiple of 4."""
    words = 5 + options // 4
    head = struct.pack(
        ">BBHHHBBH4s4s",
        0x40 | words,
        0,
        words * 4 + len(payload),
        ip_id,
        0x4000,
        64,
        protocol,
        0,
        IPv4Address(source).packed,
        IPv4Address(destination).packed,
    )
    return head + b"\x01" * options + payload


def tcp(
    source_port: int,
    destination_port: int,
    payload: bytes,
    *,
    sequence: int = 0,
    acknowledgement: int = 0,
    flags: int = 16,
    options: bytes = b"",
) -> bytes:
    options += b"\x00" * (-len(options) % 4)
    words = 5 + len(options) // 4
    head = struct.pack(
        ">HHIIBBHHH",
        source_port,
        destination_port,
        sequence,
        acknowledgement,
        words << 4,
        flags,
        1000,
        0,
        0,
    )
    return head + options + payload


def udp(source_port: int, destination_port: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", source_port, destination_port, 8 + len(payload), 0) + payload


def timestamps(value: int, echo: int) -> bytes:
    """The TCP timestamp option as Linux writes it."""
    return TIMESTAMPS + struct.pack(">II", value, echo)


def pcap(
    frames: Iterable[Frame],
    *,
    order: str = "<",
    nanoseconds: bool = True,
    snaplen: int = 96,
    link: int = 1,
) -> bytes:
    """A classic capture file; order: `<` or `>`."""
    magic = 0xA1B23C4D if nanoseconds else 0xA1B2C3D4
    parts = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, snaplen, link)]
    for frame in frames:
        seconds, rest = divmod(frame.time_ns, 1_000_000_000)
        kept = frame.data[:snaplen]
        fraction = rest if nanoseconds else rest // 1000
        parts.append(struct.pack(order + "IIII", seconds, fraction, len(kept), len(frame.data)))
        parts.append(kept)
    return b"".join(parts)
