"""Declaration of `onoff`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fairc.cell.frames import MTU
from fairc.cell.seeds import stream_seed
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_RATE
from fairc.dsl.model import Distribution, Flow, Input, Path, Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry, check_lasting, inputs_of
from fairc.words.distributions import A_RANDOM_TIME, distribution, is_drawn
from fairc.words.sizes import A_PACKET_SIZE, whole_bytes

from .cell import OnOffWorkload

RATE = Parameter("rate", A_RATE, "rate while sending", required=True)
ON = Parameter("on", A_RANDOM_TIME, "how long it sends", required=True)
OFF = Parameter("off", A_RANDOM_TIME, "how long it pauses", required=True)
PACKET = Parameter(
    "packet", A_PACKET_SIZE, "IP bytes of a datagram over UDP", otherwise="the path's MTU"
)


@dataclass(frozen=True)
class OnOff(Workload):
    """The workload `onoff`; times in s.

    packet_bytes: of a datagram over UDP with its IP header; None: the path's MTU.
    """

    part: OnOffWorkload
    on: Distribution
    off: Distribution
    packet_bytes: int | None

    @property
    def is_drawn(self) -> bool:
        """Whether its times are drawn."""
        return is_drawn(self.on) or is_drawn(self.off)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files of its distributions."""
        return inputs_of(self.on, self.off)

    def lower(self, flow: Flow, path: Path, seed: int, shared: Mapping[str, Any]) -> OnOffWorkload:
        """Return its part of the plan."""
        return replace(
            self.part,
            packet_bytes=path.mtu if self.packet_bytes is None else self.packet_bytes,
            seed=stream_seed(seed, "workload", flow.name),
        )


def _build(use: Use[WorkloadEntry]) -> OnOff:
    on = distribution(use[ON])
    check_lasting(on, use, ON)
    off, packet = distribution(use[OFF]), use.given(PACKET)
    packet_bytes = None if packet is None else whole_bytes(packet)
    part = OnOffWorkload(
        rate_bps=max(1, round(use[RATE].number)),
        on=on.lowered(),
        off=off.lowered(),
        packet_bytes=MTU if packet_bytes is None else packet_bytes,
        seed=0,
    )
    return OnOff(part, on, off, packet_bytes)


DECLARATION = WorkloadEntry(
    name="onoff",
    summary="A source that sends at a rate, and pauses",
    parameters=(RATE, ON, OFF, PACKET),
    over_mptcp=True,
    build=_build,
    sentence=lambda source, quantity: f"{quantity(source.rate_bps, 'bit/s')} on and off",
    over_udp=True,
    has_rate=True,
)
