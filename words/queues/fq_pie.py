"""`fq_pie`: fair queueing, PIE in each queue."""

from __future__ import annotations

from fairc.cell.queues import FqPie

from .discipline import ECN, FLOWS, PIE_TARGET, SCALED, SIZE, Discipline, LinkQueue


def _lower(given: LinkQueue) -> FqPie:
    return FqPie(
        limit_packets=given.packets,
        target_ns=given.target_ns(PIE_TARGET),
        update_ns=15_000_000,
        alpha=2,
        beta=20,
        flows=given[FLOWS].whole,
        quantum_bytes=given.frame_bytes,
        memory_bytes=given.memory_bytes,
        ecn_percent=10,
        ecn=given[ECN],
    )


FQ_PIE = Discipline(
    name="fq_pie",
    summary="Fair queueing with PIE",
    parameters=(SIZE, PIE_TARGET, FLOWS, ECN, SCALED),
    lower=_lower,
    target_ns=lambda queue: queue.target_ns,
    is_random=True,
    order="flows",
    probes={"fq_pie": "limit 10"},
    modules=("sch_fq_pie",),
)
