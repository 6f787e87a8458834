"""The queue `red` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.numbers import Probability, QueueBytes, Small
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.queues import QUEUE_KINDS, Queue

STEP = "instant"
"""Of a line about `gred`: the average is the queue as it is. `tc` gives the present half of the
weight at most.
"""


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Red(Queue):
    """Random Early Detection over the average queue, as Linux's `gred` with one queue.

    min_bytes, max_bytes: the average at which dropping begins, and at which its probability reaches
    `probability`; above max_bytes every packet is dropped (or marked). average_packet_bytes,
    burst_packets: tc derives the weight of the average from them. ecn: mark ECN-capable packets.

    Where min_bytes and max_bytes are equal it is a step: a packet that finds them waiting is
    dropped (or marked), whatever was before. There is no average then, and no burst.

    `gred` is RED that notices when the link falls idle. Linux's `red` counts a link as idle from
    when it is asked for a packet and has none. Shapers look first (peek) and never ask, so beneath
    one the average stays as it was while nothing waits, and goes down by the packet alone: it went
    on to drop on an empty link for seconds. `gred` counts from the last packet.
    """

    can_be_inner = True

    limit_bytes: QueueBytes
    limit_packets: None = None
    kind: Literal["red"] = "red"
    min_bytes: QueueBytes
    max_bytes: QueueBytes
    average_packet_bytes: Small
    burst_packets: Small | None = field(default=None, metadata=UNLESS_ABSENT)
    probability: Probability
    ecn: bool

    def __post_init__(self) -> None:
        """Raise ValueError for a step with an average, or for an average without a burst."""
        if (self.burst_packets is None) != (self.min_bytes == self.max_bytes):
            raise ValueError("red has a burst unless min_bytes and max_bytes are equal")

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ecn

    @property
    def tc_name(self) -> str:
        """What tc and the kernel call it."""
        return "gred"

    def lines(self, device: str, place: str, rate_bps: int) -> list[str]:
        """Return the lines of tc that make it: `gred` is set up before it has a queue."""
        at = f"{device} {place} {self.tc_name}"
        return [
            f"qdisc add {at} setup vqs 1 default 0",
            f"qdisc change {at} {self.words(rate_bps)}",
        ]

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        average = STEP if self.burst_packets is None else f"burst {self.burst_packets}"
        return (
            f"vq 0 limit {self.limit_bytes} min {self.min_bytes} max {self.max_bytes}"
            f" avpkt {self.average_packet_bytes} {average}"
            f" probability {self.probability:.10f} bandwidth {rate_bps}bit{' ecn' * self.ecn}"
        )
