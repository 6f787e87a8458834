"""Declaration of `requests`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from fairc.cell.frames import MTU, segment_bytes, stream_bytes
from fairc.cell.seeds import stream_seed
from fairc.cell.workloads import SharedArrivals
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_SHARE
from fairc.dsl.core.problems import fail
from fairc.dsl.core.units import PACKETS
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import Distribution, Flow, Input, Path, Workload
from fairc.mechanisms.workloads.workload import WorkloadEntry, check_lasting, inputs_of
from fairc.words.distributions import (
    A_RANDOM_TIME,
    A_RANDOM_TRANSFER,
    DistributionEntry,
    distribution,
    is_drawn,
    mean,
    quantities,
)

from .cell import RequestsWorkload

SIZE = Parameter("size", A_RANDOM_TRANSFER, "payload of each answer", required=True)
EVERY = Parameter("every", A_RANDOM_TIME, "time between requests", required=True)
SHARE = Parameter(
    "share",
    A_POSITIVE_SHARE,
    "this flow's share of the arrivals of all flows with a `share`",
    otherwise="separate arrivals",
)


@dataclass(frozen=True)
class Requests(Workload):
    """The workload `requests`: answers of random sizes, requested at random times (s).

    part: with sizes as on a path with the usual MTU.
    size: bytes or, with `packets`, payloads of full packets.
    share: the flow's part of the one process of arrivals that all flows with a share split; `every`
    is then that of the process. None: the flow has separate arrivals.
    """

    part: RequestsWorkload
    size: Distribution
    every: Distribution
    packets: bool = False
    share: Fraction | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether sizes, times or the flow's part of shared arrivals are drawn."""
        return self.share is not None or is_drawn(self.size) or is_drawn(self.every)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files of its distributions."""
        return inputs_of(self.size, self.every)

    @property
    def shared_process(self) -> tuple[Fraction, Distribution] | None:
        """Its share, and the time between all requests."""
        return None if self.share is None else (self.share, self.every)

    def transfers(
        self, connections: int, from_start: bool, lasts_s: Fraction | None
    ) -> Fraction | None:
        """Return how many requests it makes in a time, on average."""
        if lasts_s is None:
            return None
        return lasts_s / mean(self.every) * (connections if self.share is None else self.share)

    def split(self, users: int) -> Requests:
        """Return the requests of each user: a share of the arrivals is their group's."""
        return self if self.share is None else replace(self, share=self.share / users)

    def lower(
        self, flow: Flow, path: Path, seed: int, shared: Mapping[str, SharedArrivals]
    ) -> RequestsWorkload:
        """Return its part of the plan; a packet has the payload of a full one on the path."""
        size = self.size
        if self.packets:
            quic = flow.transport == "quic"
            payload = stream_bytes(path.mtu) if quic else segment_bytes(path.mtu)
            size = size.times(payload)
        return replace(
            self.part,
            size=size.lowered(),
            seed=stream_seed(seed, "workload", flow.name),
            shared=shared.get(flow.name),
        )


def _build(use: Use[WorkloadEntry]) -> Requests:
    every = distribution(use[EVERY])
    check_lasting(every, use, EVERY)
    written, share = use[SIZE], use.given(SHARE)
    packets = _in_packets(written)
    size = distribution(written, 1 if packets else 8)
    usual = size.times(segment_bytes(MTU)) if packets else size
    return Requests(
        RequestsWorkload(size=usual.lowered(), every=every.lowered(), seed=0),
        size,
        every,
        packets=packets,
        share=None if share is None else share.number,
    )


def _in_packets(size: Quantity | Use[DistributionEntry]) -> bool:
    """Return whether a size, or its distribution, counts packets.

    Raises CompileError for a fraction of a packet.
    """
    if not isinstance(size, Quantity):
        return any(value.dimension == PACKETS for value in quantities(size).values())
    if size.dimension == PACKETS and size.number.denominator != 1:
        fail(
            "out-of-range",
            "a transfer must have a whole number of packets",
            size.span,
            note=f"this is {size.canonical}",
            help="write other sizes in bytes",
        )
    return size.dimension == PACKETS


DECLARATION = WorkloadEntry(
    name="requests",
    summary="Short transfers, each requested at its arrival time",
    parameters=(SIZE, EVERY, SHARE),
    build=_build,
)
