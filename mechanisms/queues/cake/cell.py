"""The queue `cake` in a cell: its part of the plan, and its lines of tc."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fairc.cell.batch import duration
from fairc.cell.framing import ETHERNET, UNLESS_ETHERNET, Framing
from fairc.cell.numbers import QueueBytes, Rate, TimeNs
from fairc.cell.part import UNLESS_ABSENT, unless
from fairc.cell.queues import QUEUE_KINDS, InPackets

Tins = Literal["besteffort", "precedence", "diffserv3", "diffserv4", "diffserv8"]
Isolation = Literal[
    "none",
    "flows",
    "sources",
    "destinations",
    "hosts",
    "dual_sources",
    "dual_destinations",
    "triple",
]
AckFilter = Literal["off", "on", "aggressive"]


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Cake(InPackets):
    """Common Applications Kept Enhanced (limit in full frames).

    memory_bytes: that many frames as the kernel accounts for them; rtt_ns: sets its CoDel, target
    rtt / 20 and interval rtt. diffserv: its classes of traffic (tins), by DSCP. isolate: what it is
    fair between. ack_filter: whether an ACK that waits gives way to a later one of its connection.
    rate_bps: of its own shaper, left out where that is off; framing: how that counts packets, left
    out where it is as Linux does.
    """

    kind: Literal["cake"] = "cake"
    rtt_ns: TimeNs
    memory_bytes: QueueBytes
    diffserv: Tins = field(default="besteffort", metadata=unless("besteffort"))
    isolate: Isolation = field(default="flows", metadata=unless("flows"))
    ack_filter: AckFilter = field(default="off", metadata=unless("off"))
    rate_bps: Rate | None = field(default=None, metadata=UNLESS_ABSENT)
    framing: Framing = field(default=ETHERNET, metadata=UNLESS_ETHERNET)

    @property
    def shaping(self) -> tuple[int, Framing] | None:
        """The rate of its own shaper, bit/s, and how it counts packets; None: that is off."""
        return None if self.rate_bps is None else (self.rate_bps, self.framing)

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return True

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        own = "unlimited" if self.rate_bps is None else f"bandwidth {self.rate_bps}bit"
        return (
            f"{own} {self.diffserv} {_ISOLATIONS[self.isolate]} nowash"
            f" {_ACK_FILTERS[self.ack_filter]} no-split-gso {self.framing.cake_words()}"
            f" rtt {duration(self.rtt_ns)} memlimit {self.memory_bytes}"
        )


_ISOLATIONS: dict[str, str] = {
    "none": "flowblind",
    "flows": "flows",
    "sources": "srchost",
    "destinations": "dsthost",
    "hosts": "hosts",
    "dual_sources": "dual-srchost",
    "dual_destinations": "dual-dsthost",
    "triple": "triple-isolate",
}
_ACK_FILTERS = {
    "off": "no-ack-filter",
    "on": "ack-filter",
    "aggressive": "ack-filter-aggressive",
}
