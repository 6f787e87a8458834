"""Declaration and lowering of `fq`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import PACKET_COUNT, Quantities
from fairc.dsl.core.units import NUMBER
from fairc.dsl.model import Flow, Queue
from fairc.mechanisms.queues.discipline import CE_THRESHOLD, SIZE, Discipline, LinkQueue

from .cell import Fq

FLOW_LIMIT = Parameter("flow_limit", PACKET_COUNT, "maximum packets per flow", "100pkt")

FLOWS = Parameter(
    "flows",
    Quantities((NUMBER,), low=1, high=1024, whole=True),
    "number of queues that flows are hashed to, a power of two",
    "1024",
)

UNMARKED_PACKETS = 8
"""What finds fq empty takes a shorter way (fq_fastpath_check() in Linux's sch_fq.c), on which
nothing is marked, and which its limit does not count; so many packets fit.
"""


def _lower(given: LinkQueue) -> Fq:
    return Fq(
        limit_packets=given.packets,
        flow_limit_packets=round(given[FLOW_LIMIT].number),
        quantum_bytes=2 * given.frame_bytes,
        initial_quantum_bytes=10 * given.frame_bytes,
        buckets=1024,
        flows=given[FLOWS].whole,
        ce_threshold_ns=given.ce_threshold_ns(),
    )


def _doubts(given: LinkQueue, queue: Fq) -> Iterator[Diagnostic]:
    if queue.flows & (queue.flows - 1):
        below = 1 << (queue.flows.bit_length() - 1)
        yield Diagnostic(
            code="not-a-power-of-two",
            message="`flows` of `fq` must be a power of two",
            span=given.written.span,
            notes=("Linux takes that many bits of a packet's hash",),
            help=f"write `flows: {below}` or `flows: {2 * below}`",
        )
    unmarked_ns = UNMARKED_PACKETS * given.frame_bytes * 8 * 10**9 // given.rate_bps
    if queue.ce_threshold_ns is not None and queue.ce_threshold_ns < unmarked_ns:
        yield warning(
            code="unmarked-packets",
            message=(
                "at this rate packets wait longer than `ce_threshold` of `fq` and are not marked"
            ),
            span=given.written.span,
            notes=(
                (
                    f"Linux's fq does not mark the first {UNMARKED_PACKETS} packets that find it"
                    f" empty: {unmarked_ns / 1e6:g} ms"
                ),
            ),
            help="write `fq_codel(...)` or `codel(...)`, which mark these, too",
        )


def _misused(queue: Queue, crossing: Sequence[Flow]) -> Iterator[Diagnostic]:
    """Yield that a threshold counts from another time than a packet's arrival.

    Linux's TCP notes on a packet when it may depart, routers of the same machine leave the note on
    it, but for those of `uml`, and fq takes it for the arrival. Packets of UDP and QUIC have none.
    """
    flows = [flow for flow in crossing if flow.transport in ("tcp", "web") and flow.options.ecn]
    if CE_THRESHOLD.name in queue.options and flows:
        yield warning(
            code="early-marks",
            message="over TCP, `ce_threshold` of `fq` counts from when the sender sent a packet",
            span=queue.span,
            notes=(
                f"`{flows[0].name}` is over TCP: its waits in front of this queue count as well",
            ),
            help="write `over = quic`, or `fq_codel(...)`, which counts from the arrival; or run it"
            " on `uml`, whose routers leave no such time on packets",
        )


DECLARATION = Discipline(
    part=Fq,
    name="fq",
    summary="Fair queueing, one queue per flow",
    parameters=(SIZE, FLOW_LIMIT, FLOWS, CE_THRESHOLD),
    lower=_lower,
    doubts=_doubts,
    misused=_misused,
    order="flows",
    limit_is_of_class=True,  # band_pkt_count[] of three bands, by the packets' priorities
    beyond_packets=UNMARKED_PACKETS,
    probes={"fq": "limit 10"},
    modules=("sch_fq",),
)
