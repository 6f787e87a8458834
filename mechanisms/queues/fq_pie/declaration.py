"""Declaration and lowering of `fq_pie`."""

from __future__ import annotations

from fairc.mechanisms.queues.discipline import (
    ECN,
    FLOWS,
    PIE_TARGET,
    SCALED,
    SIZE,
    Discipline,
    LinkQueue,
)

from .cell import FqPie


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


DECLARATION = Discipline(
    part=FqPie,
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
