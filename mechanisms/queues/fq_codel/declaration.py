"""Declaration and lowering of `fq_codel`."""

from __future__ import annotations

from dataclasses import replace

from fairc.mechanisms.queues.discipline import (
    CE_THRESHOLD,
    CODEL_TARGET,
    FLOWS,
    INTERVAL,
    SCALED,
    SIZE,
    Discipline,
    LinkQueue,
)
from fairc.mechanisms.queues.discipline import ECN as _ECN

from .cell import FqCoDel

ECN = replace(_ECN, default="on")


def _lower(given: LinkQueue) -> FqCoDel:
    return FqCoDel(
        limit_packets=given.packets,
        target_ns=given.target_ns(CODEL_TARGET),
        interval_ns=given.interval_ns(),
        flows=given[FLOWS].whole,
        quantum_bytes=given.frame_bytes,
        memory_bytes=given.memory_bytes,
        drop_batch=64,
        ecn=given[ECN],
        ce_threshold_ns=given.ce_threshold_ns(),
    )


DECLARATION = Discipline(
    part=FqCoDel,
    name="fq_codel",
    summary="Fair queueing with Controlled Delay",
    parameters=(SIZE, CODEL_TARGET, INTERVAL, FLOWS, ECN, CE_THRESHOLD, SCALED),
    lower=_lower,
    target_ns=lambda queue: queue.target_ns,
    is_random=True,
    order="flows",
    probes={"fq_codel": "limit 10"},
)
