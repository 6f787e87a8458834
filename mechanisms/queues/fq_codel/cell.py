"""The queue `fq_codel` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.batch import duration
from fairc.cell.numbers import QueueBytes, Small, TimeNs
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.queues import QUEUE_KINDS, InPackets, ce_threshold_words, ecn_word


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class FqCoDel(InPackets):
    """Fair queueing, CoDel in each of `flows` hashed queues; ce_threshold_ns: as of CoDel."""

    can_be_inner = True

    kind: Literal["fq_codel"] = "fq_codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    flows: Small
    quantum_bytes: Small
    memory_bytes: QueueBytes
    drop_batch: Small
    ecn: bool
    ce_threshold_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ecn or self.ce_threshold_ns is not None

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} quantum {self.quantum_bytes}"
            f" target {duration(self.target_ns)} interval {duration(self.interval_ns)}"
            f" memory_limit {self.memory_bytes} drop_batch {self.drop_batch} {ecn_word(self.ecn)}"
            f"{ce_threshold_words(self.ce_threshold_ns)}"
        )
