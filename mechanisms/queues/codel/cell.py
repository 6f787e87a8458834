"""The queue `codel` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.batch import duration
from fairc.cell.numbers import TimeNs
from fairc.cell.part import UNLESS_ABSENT
from fairc.cell.queues import QUEUE_KINDS, InPackets, ce_threshold_words, ecn_word


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class CoDel(InPackets):
    """Controlled Delay: drops at the head while the delay exceeds the target.

    ce_threshold_ns: every ECN-capable packet that waited longer is marked.
    """

    can_be_inner = True

    kind: Literal["codel"] = "codel"
    target_ns: TimeNs
    interval_ns: TimeNs
    ecn: bool
    ce_threshold_ns: TimeNs | None = field(default=None, metadata=UNLESS_ABSENT)

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ecn or self.ce_threshold_ns is not None

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" interval {duration(self.interval_ns)} {ecn_word(self.ecn)}"
            f"{ce_threshold_words(self.ce_threshold_ns)}"
        )
