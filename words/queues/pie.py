"""`pie`: Proportional Integral controller Enhanced (RFC 8033)."""

from __future__ import annotations

from fairc.cell.queues import Pie

from .discipline import ECN, PIE_TARGET, SCALED, SIZE, Discipline, LinkQueue


def _lower(given: LinkQueue) -> Pie:
    return Pie(
        limit_packets=given.packets,
        target_ns=given.target_ns(PIE_TARGET),
        update_ns=15_000_000,
        alpha=2,
        beta=20,
        ecn=given[ECN],
    )


PIE = Discipline(
    name="pie",
    summary="Proportional Integral controller Enhanced",
    parameters=(SIZE, PIE_TARGET, ECN, SCALED),
    lower=_lower,
    target_ns=lambda queue: queue.target_ns,
    is_random=True,
    order="all",
    probes={"pie": "limit 10"},
    modules=("sch_pie",),
)
