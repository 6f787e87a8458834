"""The part of a plan that is `onoff`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from fairc.cell.model import Cell
from fairc.cell.numbers import MtuBytes, Rate, Seed
from fairc.cell.workloads import WORKLOAD_KINDS, Distribution, Workload


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class OnOffWorkload(Workload):
    """A rate (bit/s of IP) while `on` (s), nothing while `off` (s); begins with `on`.

    packet_bytes: IP bytes of a datagram over UDP.
    """

    paced = True
    kind: Literal["onoff"] = "onoff"
    rate_bps: Rate
    on: Distribution
    off: Distribution
    packet_bytes: MtuBytes
    seed: Seed

    def description(self, cell: Cell) -> dict[str, Any]:
        """Return its parameters; where hosts take a time of their own, its gaps vary as well."""
        varied = {"vary_gaps": True} if cell.processing_ns else {}
        return {**self.plain(), **varied}

    @property
    def peak_bps(self) -> float:
        """The rate while it sends, bit/s of IP."""
        return self.rate_bps

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the rate times the fraction of time that a source is on, bit/s."""
        return self.rate_bps * (self.on.mean / (self.on.mean + self.off.mean)) * connections
