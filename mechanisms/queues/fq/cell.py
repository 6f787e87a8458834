"""The queue `fq` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Literal

from fairc.cell.numbers import Range, Small, TimeNs
from fairc.cell.part import UNLESS_ABSENT, unless
from fairc.cell.queues import QUEUE_KINDS, InPackets, ce_threshold_words


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Fq(InPackets):
    """Fair queueing with one queue per flow.

    Forwarded packets have no socket and no departure time, so its pacing does not act on them.
    flows: how many queues flows are hashed to, a power of two. ce_threshold_ns: as of CoDel.
    """

    can_be_inner = True

    kind: Literal["fq"] = "fq"
    flow_limit_packets: Small
    quantum_bytes: Small
    initial_quantum_bytes: Small
    buckets: Small
    flows: Annotated[int, Range(1, 1024)] = field(default=1024, metadata=unless(1024))
    ce_threshold_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ce_threshold_ns is not None

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flow_limit {self.flow_limit_packets}"
            f" quantum {self.quantum_bytes} initial_quantum {self.initial_quantum_bytes}"
            f" buckets {self.buckets} orphan_mask {self.flows - 1} nopacing"
            f"{ce_threshold_words(self.ce_threshold_ns)}"
        )
