"""`fq`: fair queueing with one queue per flow."""

from __future__ import annotations

from fairc.cell.queues import Fq
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import PACKET_COUNT

from .discipline import SIZE, Discipline, LinkQueue

FLOW_LIMIT = Parameter("flow_limit", PACKET_COUNT, "maximum packets per flow", "100pkt")


def _lower(given: LinkQueue) -> Fq:
    return Fq(
        limit_packets=given.packets,
        flow_limit_packets=round(given[FLOW_LIMIT].number),
        quantum_bytes=2 * given.frame_bytes,
        initial_quantum_bytes=10 * given.frame_bytes,
        buckets=1024,
    )


FQ = Discipline(
    name="fq",
    summary="Fair queueing, one queue per flow",
    parameters=(SIZE, FLOW_LIMIT),
    lower=_lower,
    order="flows",
    probes={"fq": "limit 10"},
    modules=("sch_fq",),
)
