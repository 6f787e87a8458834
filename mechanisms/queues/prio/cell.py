"""The queue `prio` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from fairc.cell.numbers import CodePoint, Packets, QueueBytes, Range
from fairc.cell.part import Part
from fairc.cell.queues import QUEUE_KINDS, InnerQueue, Queue, check_one_limit

MOST_BANDS = 16
"""`TCQ_PRIO_BANDS`, the most that Linux has; it has two at least."""

_OTHERS = 16
"""How many priorities the kernel knows for packets that no filter takes."""

_DSCP_MASK = 0xFC


@dataclass(frozen=True, slots=True, kw_only=True)
class Band(Part):
    """A band of `prio`: the queue of packets with a code point."""

    code_point: CodePoint
    queue: InnerQueue

    @property
    def filter(self) -> str:
        """The words of tc for its packets."""
        return f"flower ip_tos {self.code_point << 2:#x}/{_DSCP_MASK:#x}"


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Prio(Queue):
    """Strict priority: the first band that holds a packet sends.

    A packet of a code point without a band waits in that of code point 0 (RFC 2474, section 3).
    limit_bytes, limit_packets: one of them, what all bands hold together.
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["prio"] = "prio"
    bands: Annotated[tuple[Band, ...], Range(2, MOST_BANDS)]

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one limit, and a band for each code point and for 0."""
        check_one_limit(self)
        points = [band.code_point for band in self.bands]
        if 0 not in points or len(set(points)) < len(points):
            raise ValueError("prio has a band of code point 0, and one band for each")

    @property
    def inner(self) -> tuple[Queue, ...]:
        """The queues of its bands."""
        return tuple(band.queue for band in self.bands)

    @property
    def filters(self) -> frozenset[str]:
        """The filters of tc that sort packets into its bands."""
        return frozenset(f"{band.filter} classid 2:1" for band in self.bands if band.code_point)

    def lines(self, device: str, place: str, rate_bps: int) -> list[str]:
        """Return the lines of tc that make it, its bands, and what sorts packets into these."""
        made = Queue.lines(self, device, place, rate_bps)
        for number, band in enumerate(self.bands, start=1):
            below = f"parent 2:{number:x} handle {2 + number:x}:"
            made += band.queue.lines(device, below, rate_bps)
            if band.code_point:
                made.append(
                    f"filter add {device} parent 2: protocol ip prio 1 {band.filter}"
                    f" classid 2:{number:x}"
                )
        return made

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        others = [band.code_point for band in self.bands].index(0)
        return f"bands {len(self.bands)} priomap {' '.join([str(others)] * _OTHERS)}"
