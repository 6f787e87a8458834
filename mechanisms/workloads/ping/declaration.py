"""Declaration of `ping`."""

from __future__ import annotations

from fractions import Fraction

from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.units import TIME
from fairc.dsl.model import Workload
from fairc.mechanisms.workloads.workload import NS, WorkloadEntry
from fairc.words.sizes import A_PACKET_SIZE, whole_bytes

from .cell import PingWorkload

# SHORTEST_PERIOD in endpoints/src/description.rs.
_A_PERIOD = Quantities((TIME,), low=Fraction(1, 10_000), high=3600)

EVERY = Parameter("every", _A_PERIOD, "time between packets", required=True)
PACKET = Parameter("packet", A_PACKET_SIZE, "IP bytes of each, as of the program ping", "84B")


def _build(use: Use[WorkloadEntry]) -> Workload:
    every_ns, packet_bytes = round(use[EVERY].number * NS), whole_bytes(use[PACKET])
    return Workload(PingWorkload(every_ns=every_ns, packet_bytes=packet_bytes))


DECLARATION = WorkloadEntry(
    name="ping",
    summary="Small packets at regular times over UDP, which the client returns",
    parameters=(EVERY, PACKET),
    build=_build,
    sentence=lambda ping, quantity: f"ping every {quantity(ping.every_ns / 1e9, 's')}",
    over_udp=True,
    only_over_udp=True,
    has_rate=True,
)
