"""Declaration and lowering of `pie`."""

from __future__ import annotations

from fairc.mechanisms.queues.discipline import ECN, PIE_TARGET, SCALED, SIZE, Discipline, LinkQueue

from .cell import Pie


def _lower(given: LinkQueue) -> Pie:
    return Pie(
        limit_packets=given.packets,
        target_ns=given.target_ns(PIE_TARGET),
        update_ns=15_000_000,
        alpha=2,
        beta=20,
        ecn=given[ECN],
    )


DECLARATION = Discipline(
    part=Pie,
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
