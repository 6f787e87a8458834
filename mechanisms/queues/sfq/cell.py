"""The queue `sfq` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.numbers import Small
from fairc.cell.queues import QUEUE_KINDS, InPackets


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Sfq(InPackets):
    """Stochastic fair queueing; `depth_packets` of one flow at most."""

    can_be_inner = True

    kind: Literal["sfq"] = "sfq"
    flows: Small
    divisor: Small
    depth_packets: Small
    quantum_bytes: Small
    perturb_s: Small

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return (
            f"limit {self.limit_packets} flows {self.flows} divisor {self.divisor}"
            f" depth {self.depth_packets} quantum {self.quantum_bytes} perturb {self.perturb_s}"
        )
