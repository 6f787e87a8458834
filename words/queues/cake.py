"""`cake`: Common Applications Kept Enhanced."""

from __future__ import annotations

from fairc.cell.frames import memory_bytes
from fairc.cell.queues import Cake
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_POSITIVE_TIME

from .discipline import SIZE, Discipline, LinkQueue

RTT = Parameter("rtt", A_POSITIVE_TIME, "round trip that its CoDel is tuned for", "100ms")


def _lower(given: LinkQueue) -> Cake:
    return Cake(
        limit_packets=given.packets,
        rtt_ns=given.ns(RTT),
        memory_bytes=given.packets * memory_bytes(given.mtu),
    )


CAKE = Discipline(
    name="cake",
    summary="Common Applications Kept Enhanced, without its own shaper",
    parameters=(SIZE, RTT),
    lower=_lower,
    target_ns=lambda queue: queue.rtt_ns // 20,
    is_random=True,
    always_marks=True,
    limit_is_memory=True,
    order="flows",
    probes={"cake": "unlimited"},
    modules=("sch_cake",),
)
