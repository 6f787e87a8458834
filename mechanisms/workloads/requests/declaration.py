"""Declaration of `requests`, and the arrivals that several flows share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import cast

from fairc.cell.frames import segment_bytes, stream_bytes
from fairc.cell.seeds import stream_seed
from fairc.cell.workloads import RequestsWorkload, SharedArrivals
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_SHARE
from fairc.dsl.core.problems import Gather, fail
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
    quantities,
)

PROCESS = ("shared arrivals",)
"""Name of the stream that belongs to no flow; no flow can have this name."""

LEAST_PART = Fraction(1, 10**6)
"""The smallest share of one stream of requests: each draws all arrivals of the process to find its
own.
"""

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

    size: bytes or, with `packets`, payloads of full packets.
    share: the flow's part of the one process of arrivals that all flows with a share split; `every`
    is then that of the process. None: the flow has separate arrivals.
    """

    size: Distribution
    every: Distribution
    packets: bool = False
    share: Fraction | None = None

    @property
    def planned(self) -> type[RequestsWorkload]:
        """The class of its part of the plan."""
        return RequestsWorkload

    @property
    def is_drawn(self) -> bool:
        """Whether sizes, times or the flow's part of shared arrivals are drawn."""
        return self.share is not None or is_drawn(self.size) or is_drawn(self.every)

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files of its distributions."""
        return inputs_of(self.size, self.every)

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
        return RequestsWorkload(
            size=size.lowered(),
            every=self.every.lowered(),
            seed=stream_seed(seed, "workload", flow.name),
            shared=shared.get(flow.name),
        )


def shared_arrivals(flows: Iterable[Flow], seed: int) -> dict[str, SharedArrivals]:
    """Return the part of each flow that shares a process of arrivals, by its name.

    Parts lie one after the other in the order of the flows, and the last one ends at 1.
    """
    parts: dict[str, SharedArrivals] = {}
    low = Fraction()
    for flow in flows:
        if isinstance(flow.workload, Requests) and flow.workload.share is not None:
            high = low + flow.workload.share
            parts[flow.name] = SharedArrivals(
                seed=stream_seed(seed, *PROCESS), low=float(low), high=float(high)
            )
            low = high
    return parts


def check_arrivals(flows: Sequence[Flow], users: Mapping[str, int]) -> None:
    """Raise CompileError unless the flows with a share are the parts of one process.

    flows: as declared. users: the number of users of each group.
    """
    shares = [(f, f.workload.share) for f in flows if isinstance(f.workload, Requests)]
    sharing = [(flow, share) for flow, share in shares if share is not None]
    if not sharing:
        return
    first, gather = sharing[0][0], Gather()
    for flow, share in sharing:
        with gather.attempt():
            if flow.random_start is not None:
                fail(
                    "conflicting-arrivals",
                    f"`{flow.name}` has a random start, but shares its arrivals with other flows",
                    flow.span,
                    notes=("an arrival process has one start",),
                    help="write a time, or leave `start` out",
                )
            for key in ("every", "start"):
                if _agreed(flow)[key] != _agreed(first)[key]:
                    fail(
                        "conflicting-arrivals",
                        f"`{first.name}` and `{flow.name}` share their arrivals, but differ in"
                        f" `{key}`",
                        flow.span,
                        labels=(Label(first.span, "the other flow"),),
                        notes=(
                            f"`{key}` applies to all arrivals, of which each flow gets its share",
                        ),
                        help="give both the same value, or leave `share` out for separate arrivals",
                    )
        streams = flow.connections * users.get(flow.users or "", 1)
        with gather.attempt():
            if share / streams < LEAST_PART:
                fail(
                    "out-of-range",
                    f"each stream of requests of `{flow.name}` would have less than"
                    f" {float(LEAST_PART):.4%} of the arrivals",
                    flow.span,
                    note=f"{streams} streams",
                    help="increase the share, or use fewer streams",
                )
    gather.finish()
    total = sum((share for _, share in sharing), Fraction())
    if total != 1:
        *others, (last, _) = sharing
        fail(
            "conflicting-arrivals",
            f"the shares of the arrivals add up to {_percent(total)}, not to 100%",
            last.span,
            labels=tuple(Label(flow.span, _percent(share)) for flow, share in others),
            help="flows with a `share` split a single arrival process between them",
        )


def _agreed(flow: Flow) -> Mapping[str, object]:
    """Return the keys of a flow that belong to the process: all of its flows must agree on them."""
    return {"every": cast(Requests, flow.workload).every, "start": flow.start_ns}


def _percent(share: Fraction) -> str:
    return f"{float(100 * share):g}%"


def _build(use: Use[WorkloadEntry]) -> Requests:
    every = distribution(use[EVERY])
    check_lasting(every, use, EVERY)
    size, share = use[SIZE], use.given(SHARE)
    packets = _in_packets(size)
    return Requests(
        distribution(size, 1 if packets else 8),
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
