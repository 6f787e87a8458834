"""The queue `pie` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.batch import duration
from fairc.cell.numbers import Small, TimeNs
from fairc.cell.queues import QUEUE_KINDS, InPackets, ecn_word


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Pie(InPackets):
    """Proportional Integral controller Enhanced; alpha, beta: in units of 1/16 Hz."""

    can_be_inner = True

    kind: Literal["pie"] = "pie"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    ecn: bool

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ecn

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha} beta {self.beta}"
            f" {ecn_word(self.ecn)} nobytemode no_dq_rate_estimator"
        )
