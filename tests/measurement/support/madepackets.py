"""Packets of a made-up cell, sent through its bottleneck.

The queue is worked out packet by packet in integers, so that tests can compare with numbers found
another way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from frames import ethernet, ipv4, tcp, timestamps, udp
from madecell import CLIENTS, FULL, HEADERS, MS, PAYLOAD, SERVERS, UDP_HEADERS, Transport

from fairc.compiler.plan import (
    Cell,
)


@dataclass(frozen=True)
class Sent:
    """A packet of a flow (by number) that comes to the queue at entered_ns after the epoch."""

    entered_ns: int
    flow: int
    connection: int = 0
    frame_bytes: int = FULL
    flags: int = 16
    lost: bool = False


@dataclass(frozen=True)
class Passed:
    """What became of a packet; left_ns, delivered_ns: None where it got no further."""

    sent: Sent
    number: int
    left_ns: int | None
    delivered_ns: int | None

    def frame(self, transport: Transport) -> bytes:
        return ethernet(_PACKETS[transport](self))


def _tcp(packet: Passed) -> bytes:
    s = packet.sent
    segment = tcp(
        5001 + s.flow,
        40_000 + s.connection,
        bytes(s.frame_bytes - HEADERS),
        sequence=packet.number * PAYLOAD % 2**32,
        flags=s.flags,
        options=timestamps(s.entered_ns // MS % 2**32, 1),
    )
    return ipv4(*_hosts(s), 6, segment, ip_id=packet.number)


def _udp(packet: Passed) -> bytes:
    """As Linux sends it, with the id 0; like QUIC's short header, it begins alike in each
    packet.
    """
    s = packet.sent
    payload = b"@connects" + packet.number.to_bytes(4, "big")
    payload = payload.ljust(s.frame_bytes - UDP_HEADERS, b"\0")
    return ipv4(*_hosts(s), 17, udp(5001 + s.flow, 40_000 + s.connection, payload))


def _hosts(s: Sent) -> tuple[str, str]:
    return f"10.0.{SERVERS[s.flow]}.1", f"10.0.{CLIENTS[s.flow] + 10}.1"


_PACKETS: Mapping[Transport, Callable[[Passed], bytes]] = {"tcp": _tcp, "quic": _udp, "udp": _udp}


def through_queue(cell: Cell, packets: Sequence[Sent]) -> list[Passed]:
    """Send packets through the bottleneck: a FIFO with a byte limit, tokens for one frame."""
    bottleneck = next(i for n in cell.nodes for i in n.interfaces if i.bottleneck)
    assert bottleneck.shaper and bottleneck.queue
    rate, delay_ns = bottleneck.shaper.rate_bps, cell.flows[0].base_rtt_ns // 2
    limit, most = bottleneck.queue.limit_bytes, bottleneck.queue.limit_packets
    waiting: list[tuple[int, int]] = []  # (leaves at, bytes)
    passed: list[Passed] = []
    free_ns = 0
    for number, sent in enumerate(sorted(packets, key=lambda p: p.entered_ns)):
        waiting = [(at, size) for at, size in waiting if at > sent.entered_ns]
        backlog = sum(size for _, size in waiting)
        full = limit is not None and backlog + sent.frame_bytes > limit
        full |= most is not None and len(waiting) + 1 > most
        if full:
            passed.append(Passed(sent, number, None, None))
            continue
        left_ns = max(sent.entered_ns, free_ns)
        free_ns = left_ns + sent.frame_bytes * 8 * 10**9 // rate
        waiting.append((left_ns, sent.frame_bytes))
        passed.append(Passed(sent, number, left_ns, None if sent.lost else left_ns + delay_ns))
    return passed


def steady(
    until_ns: int, every_ns: int, flow: int, start_ns: int = 50 * MS, connection: int = 0
) -> list[Sent]:
    """A flow's handshake, then full frames at fixed intervals."""
    answer = Sent(start_ns - 25 * MS, flow, connection, 74, flags=18)
    return [answer, *(Sent(t, flow, connection) for t in range(start_ns, until_ns, every_ns))]
