"""The part of a plan that is `ping`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairc.cell.numbers import MtuBytes, SpanNs
from fairc.cell.workloads import NS, WORKLOAD_KINDS, Workload


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class PingWorkload(Workload):
    """A packet of packet_bytes (of IP) every every_ns, which the client returns at once."""

    paced = True
    echoes = True
    transports = ("udp",)
    kind: Literal["ping"] = "ping"
    every_ns: SpanNs
    packet_bytes: MtuBytes

    @property
    def peak_bps(self) -> float:
        """Its bits of IP per second."""
        return 8 * self.packet_bytes * NS / self.every_ns

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return its bits of IP per second."""
        return self.peak_bps * connections
