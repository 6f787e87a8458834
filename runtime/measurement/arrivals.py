"""Bytes that a page load's connections had received over time, from the capture at the client
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Flow
from fairc.runtime.arrays import Floats

from .loads import PageLoad
from .pcap import SYN, TCP, UDP, Packets

# Points kept per connection; a page of 5 MB comes in 3700 packets.
MOST_POINTS = 300
_SEQUENCE_NUMBERS = 2**32


@dataclass(frozen=True, slots=True)
class Curve:
    """One connection during one load.

    connection: from 0 within the load, in order of its first packet. transport: `tcp` or `quic`.
    t_s: s after the load began to connect, ascending. bytes: received until then: over TCP distinct
    bytes of the stream, over QUIC bytes of IP packets, as their contents cannot be seen.
    """

    connection: int
    transport: str
    t_s: Floats
    bytes: Floats

    @property
    def total(self) -> float:
        """All bytes received during the load."""
        return float(self.bytes[-1])


def from_server(flow: Flow, packets: Packets) -> Packets:
    """Return the packets of a flow's server, over TCP and over UDP."""
    return packets.select(
        (packets.source == int(IPv4Address(flow.address)))
        & (packets.source_port == flow.port)
        & np.isin(packets.protocol, (TCP, UDP))
    )


def curves(load: PageLoad, packets: Packets, epoch_ns: int) -> tuple[Curve, ...]:
    """Return what each connection received between connectStart of a load and its end.

    packets: `from_server`, as the client's interface received them. Connections without data are
    left out.
    """
    begin_s = load.connect_start_s
    if begin_s is None:
        return ()
    t_s = (packets.time_ns - epoch_ns).astype(np.float64) * 1e-9 - begin_s
    inside = np.flatnonzero((t_s >= 0) & (t_s <= load.end_s - begin_s))
    return tuple(_curves(packets.select(inside), t_s[inside]))


def _curves(packets: Packets, t_s: Floats) -> Iterator[Curve]:
    ends = packets.protocol << 16 | packets.destination_port
    _, first = np.unique(ends, return_index=True)
    number = 0
    for at in np.sort(first):
        ours = np.flatnonzero(ends == ends[at])
        mine = packets.select(ours)
        over_tcp = int(packets.protocol[at]) == TCP
        fresh = _distinct(mine) if over_tcp else mine.ip_bytes
        received = np.cumsum(fresh).astype(np.float64)
        if received[-1] > 0:
            kept = _kept(len(ours))
            yield Curve(number, "tcp" if over_tcp else "quic", t_s[ours][kept], received[kept])
            number += 1


def _distinct(packets: Packets) -> NDArray[np.int64]:
    """Return how many bytes of each segment had not arrived before."""
    opened = np.flatnonzero(packets.flags & SYN)
    base = int(packets.sequence[opened[0]]) + 1 if len(opened) else int(packets.sequence[0])
    begins = (packets.sequence - base) % _SEQUENCE_NUMBERS
    # What lies before the base is an old segment, not one 4 GB ahead.
    begins = np.where(begins >= _SEQUENCE_NUMBERS // 2, begins - _SEQUENCE_NUMBERS, begins)
    ends = begins + packets.payload_bytes
    low = int(begins.min())
    seen = np.zeros(int(ends.max()) - low, np.bool_)
    fresh = np.zeros(len(packets), np.int64)
    for at in np.flatnonzero(packets.payload_bytes > 0):
        part = seen[int(begins[at]) - low : int(ends[at]) - low]
        fresh[at] = len(part) - int(np.count_nonzero(part))
        part[:] = True
    return fresh


def _kept(count: int) -> NDArray[np.int64]:
    """Return which of `count` points are kept: the first, the last, and evenly between them."""
    if count <= MOST_POINTS:
        return np.arange(count)
    kept: NDArray[np.int64] = np.unique(np.linspace(0, count - 1, MOST_POINTS).round().astype(int))
    return kept
