"""Declaration and lowering of `codel`."""

from __future__ import annotations

from fairc.mechanisms.queues.discipline import (
    CE_THRESHOLD,
    CODEL_TARGET,
    ECN,
    INTERVAL,
    SCALED,
    SIZE,
    Discipline,
    LinkQueue,
)

from .cell import CoDel


def _lower(given: LinkQueue) -> CoDel:
    return CoDel(
        limit_packets=given.packets,
        target_ns=given.target_ns(CODEL_TARGET),
        interval_ns=given.interval_ns(),
        ecn=given[ECN],
        ce_threshold_ns=given.ce_threshold_ns(),
    )


DECLARATION = Discipline(
    part=CoDel,
    name="codel",
    summary="Controlled Delay",
    parameters=(SIZE, CODEL_TARGET, INTERVAL, ECN, CE_THRESHOLD, SCALED),
    lower=_lower,
    target_ns=lambda queue: queue.target_ns,
    order="all",
    probes={"codel": "limit 10"},
    modules=("sch_codel",),
)
