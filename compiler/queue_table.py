"""The table in docs/learn/links.md: every queue of the language as `tc` gets it."""

from __future__ import annotations

from fractions import Fraction

from fairc.cell.frames import FRAME_BYTES
from fairc.dsl.core import units
from fairc.dsl.core.source import Source, Span
from fairc.dsl.core.values import Quantity, Size
from fairc.dsl.model import Queue
from fairc.mechanisms.queues.discipline import Limit, LinkQueue
from fairc.mechanisms.queues.registry import QUEUES

RATE_BPS = 10_000_000
PACKETS = 100


def queue_table() -> str:
    """Return Markdown: a row for each queue of 100 packets at 10 Mbit/s, nothing else written."""
    nowhere = Span(Source("", ""), 0, 0)
    rows = ["| queue | holds | what `tc` gets |", "| --- | --- | --- |"]
    for entry in filter(lambda queue: queue.is_sized, QUEUES):
        written = Queue(entry.name, Quantity(Fraction(PACKETS), units.PACKETS, nowhere), nowhere)
        queues = [
            entry.lower(LinkQueue(written, limit, RATE_BPS, _bytes))
            for limit in (Limit(limit_packets=PACKETS), Limit(limit_bytes=PACKETS))
        ]
        queue = queues[0]
        counted = {"packets" if made.limit_bytes is None else "bytes" for made in queues}
        holds = " or ".join(sorted(counted))
        command = f"{queue.tc_name} {queue.words(RATE_BPS)}"
        rows.append(f"| `{entry.name}({PACKETS}pkt)` | {holds} | `{command}` |")
    return "\n".join(rows)


def _bytes(size: Size) -> int:
    return int(size.bits({units.PACKETS: Fraction(8 * FRAME_BYTES), units.DATA: Fraction(1)}) / 8)
