"""Headers that a capture at a sender keeps (endpoints/src/headers.rs) as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from fairc.runtime.arrays import Int64s

from .pcap import TCP, UDP, Packets

RECORD = np.dtype(
    [
        ("time_ns", "<u8"),
        ("source", "<u4"),
        ("destination", "<u4"),
        ("source_port", "<u2"),
        ("destination_port", "<u2"),
        ("number", "<u4"),
        ("payload_bytes", "<u2"),
        ("flags", "u1"),
        ("kind", "u1"),
        ("other", "<u4"),
    ]
)
SEGMENT, BLOCK, DATAGRAM = range(3)


@dataclass(frozen=True, slots=True)
class Headers:
    """Packets, and the blocks [first, last) of sequence numbers that they acknowledge selectively
    (RFC 2018).

    Of the packets' columns only those are not 0 that a record has. block_of: index of the packet of
    each block.
    """

    packets: Packets
    block_of: Int64s
    first: Int64s
    last: Int64s


def parse(data: bytes) -> Headers:
    """Read the bytes of a file; a record that is cut off at its end is left out."""
    records = np.frombuffer(data, RECORD, len(data) // RECORD.itemsize)
    block = records["kind"] == BLOCK
    place = np.cumsum(~block) - 1
    blocks, rows = records[block], records[~block]
    tcp = rows["kind"] == SEGMENT
    none = np.zeros(len(rows), np.int64)
    columns = dict.fromkeys((f.name for f in fields(Packets)), none)
    kept = ("time_ns", "source", "destination", "source_port", "destination_port", "payload_bytes")
    columns |= {name: rows[name].astype(np.int64) for name in (*kept, "flags")}
    columns |= {
        "protocol": np.where(tcp, TCP, UDP),
        "sequence": rows["number"].astype(np.int64),
        "acknowledgement": rows["other"].astype(np.int64),
    }
    return Headers(
        Packets(**columns),
        place[block].astype(np.int64),
        blocks["number"].astype(np.int64),
        blocks["other"].astype(np.int64),
    )
