"""Declaration and lowering of `cake`."""

from __future__ import annotations

from typing import get_args

from fairc.cell.frames import memory_bytes
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_POSITIVE_TIME, Words
from fairc.mechanisms.queues.discipline import SIZE, Discipline, LinkQueue

from .cell import AckFilter, Cake, Isolation, Tins

RTT = Parameter("rtt", A_POSITIVE_TIME, "round trip that its CoDel is tuned for", "100ms")

TINS: Words[Tins] = Words("value of `diffserv`", get_args(Tins))
ISOLATIONS: Words[Isolation] = Words("value of `isolate`", get_args(Isolation))
ACK_FILTERS: Words[AckFilter] = Words("value of `ack_filter`", get_args(AckFilter))
DIFFSERV = Parameter("diffserv", TINS, "classes of traffic (tins), by DSCP", "besteffort")
ISOLATE = Parameter(
    "isolate",
    ISOLATIONS,
    (
        "fair between `flows`, `hosts` (a source and a destination), `sources`, `destinations`;"
        " `dual_` ones: between these, then between their flows; `triple`: both; `none`: one queue"
    ),
    "flows",
)
ACK_FILTER = Parameter(
    "ack_filter", ACK_FILTERS, "an ACK that waits gives way to a later one of its connection", "off"
)


def _lower(given: LinkQueue) -> Cake:
    return Cake(
        limit_packets=given.packets,
        rtt_ns=given.ns(RTT),
        memory_bytes=given.packets * memory_bytes(given.mtu),
        diffserv=given[DIFFSERV],
        isolate=given[ISOLATE],
        ack_filter=given[ACK_FILTER],
    )


DECLARATION = Discipline(
    part=Cake,
    name="cake",
    summary="Common Applications Kept Enhanced, without its own shaper",
    parameters=(SIZE, RTT, DIFFSERV, ISOLATE, ACK_FILTER),
    lower=_lower,
    target_ns=lambda queue: queue.rtt_ns // 20,
    is_random=True,
    limit_is_memory=True,
    order="flows",
    probes={"cake": "unlimited"},
    modules=("sch_cake",),
)
