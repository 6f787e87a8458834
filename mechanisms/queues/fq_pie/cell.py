"""The queue `fq_pie` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.batch import duration
from fairc.cell.numbers import Percent, QueueBytes, Small, TimeNs
from fairc.cell.queues import QUEUE_KINDS, InPackets, ecn_word


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class FqPie(InPackets):
    """Fair queueing, PIE in each of `flows` hashed queues.

    ecn_percent: packets are marked, not dropped, up to this drop probability.
    """

    can_be_inner = True

    kind: Literal["fq_pie"] = "fq_pie"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    flows: Small
    quantum_bytes: Small
    memory_bytes: QueueBytes
    ecn_percent: Percent
    ecn: bool

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ecn

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} target {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha} beta {self.beta}"
            f" quantum {self.quantum_bytes} memory_limit {self.memory_bytes}"
            f" ecn_prob {self.ecn_percent} {ecn_word(self.ecn)} nobytemode no_dq_rate_estimator"
        )
