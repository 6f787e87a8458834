"""The queue `dualpi2` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from fairc.cell.batch import duration
from fairc.cell.numbers import Packets, Percent, QueueBytes, Range, Small, TimeNs
from fairc.cell.queues import QUEUE_KINDS, InPackets


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class DualPi2(InPackets):
    """Coupled queues for L4S and classic packets (RFC 9332); the limit, in packets, is of both.

    alpha, beta: gains as the kernel takes them, in units of 1/256 Hz. step_ns, step_packets: one of
    them is
    set: the delay, or number of packets, from which on every L4S packet is marked.
    protection_percent: smallest share of the link for classic packets. l4s: packets with ECT(1) or
    CE, or `any` ECN-capable packet. drop: where packets are dropped and marked. overload: whether
    L4S packets are dropped where all of them are marked.
    """

    beyond_tc: ClassVar[frozenset[str]] = frozenset({"dualpi2"})

    kind: Literal["dualpi2"] = "dualpi2"
    target_ns: TimeNs
    update_ns: TimeNs
    alpha: Small
    beta: Small
    coupling: Annotated[int, Range(1, 255)]
    step_ns: TimeNs | None = None
    step_packets: Packets | None = None
    protection_percent: Percent
    l4s: Literal["ect1", "any"]
    drop: Literal["dequeue", "enqueue"]
    overload: Literal["drop", "overflow"]
    memory_bytes: QueueBytes

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one step."""
        if (self.step_ns is None) == (self.step_packets is None):
            raise ValueError("dualpi2 has one step: step_ns or step_packets")

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return True

    def words(self, rate_bps: int) -> str:
        """Return the arguments as `tc` of an iproute2 that has it takes them; gains in Hz."""
        step = f"{self.step_packets}p" if self.step_ns is None else duration(self.step_ns)
        return (
            f"limit {self.limit_packets} memlimit {self.memory_bytes} target"
            f" {duration(self.target_ns)}"
            f" tupdate {duration(self.update_ns)} alpha {self.alpha / 256:.6f} beta"
            f" {self.beta / 256:.6f}"
            f" step_thresh {step} min_qlen_step 0 coupling_factor {self.coupling}"
            f" {_OVERLOAD[self.overload]} drop_{self.drop} classic_protection"
            f" {self.protection_percent}"
            f" {_L4S[self.l4s]} no_split_gso"
        )


_OVERLOAD = {"drop": "drop_on_overload", "overflow": "overflow"}
_L4S = {"ect1": "l4s_ect", "any": "any_ect"}
