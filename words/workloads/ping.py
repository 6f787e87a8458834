"""`ping`: small packets at regular times that the client returns, to measure round trips."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairc.cell.workloads import PingWorkload
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.units import TIME
from fairc.dsl.model import Flow, Path, Workload
from fairc.words.sizes import A_PACKET_SIZE, whole_bytes

from .workload import NS, WorkloadEntry

# SHORTEST_PERIOD in endpoints/src/description.rs.
_A_PERIOD = Quantities((TIME,), low=Fraction(1, 10_000), high=3600)

EVERY = Parameter("every", _A_PERIOD, "time between packets", required=True)
PACKET = Parameter("packet", A_PACKET_SIZE, "IP bytes of each, as of the program ping", "84B")


@dataclass(frozen=True)
class Ping(Workload):
    """The workload `ping`: packets of packet_bytes (IP) every every_ns, each answered at once."""

    every_ns: int
    packet_bytes: int
    kind = "ping"

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> PingWorkload:
        """Return its part of the plan."""
        return PingWorkload(every_ns=self.every_ns, packet_bytes=self.packet_bytes)


def _build(use: Use[WorkloadEntry]) -> Ping:
    return Ping(round(use[EVERY].number * NS), whole_bytes(use[PACKET]))


WORKLOAD = WorkloadEntry(
    name="ping",
    summary="Small packets at regular times over UDP, which the client returns",
    parameters=(EVERY, PACKET),
    build=_build,
    over_udp=True,
    only_over_udp=True,
    has_rate=True,
)
