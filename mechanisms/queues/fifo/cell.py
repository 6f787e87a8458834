"""The queue `fifo` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.numbers import Packets, QueueBytes
from fairc.cell.queues import QUEUE_KINDS, Queue, check_one_limit


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Fifo(Queue):
    """First in, first out, drop-tail.

    It has one limit, of bytes of waiting frames or of packets.
    """

    can_be_inner = True
    is_drop_tail = True

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["fifo"] = "fifo"

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one limit."""
        check_one_limit(self)

    @property
    def tc_name(self) -> str:
        """What tc and the kernel call it."""
        return "bfifo" if self.limit_bytes is not None else "pfifo"

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        return f"limit {self.limit_packets if self.limit_bytes is None else self.limit_bytes}"
