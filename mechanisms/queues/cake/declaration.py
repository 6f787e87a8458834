"""Declaration and lowering of `cake`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from fairc.cell.frames import memory_bytes
from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import A_POSITIVE_TIME, A_RATE, Words
from fairc.mechanisms.queues.discipline import SIZE, Discipline, LinkQueue
from fairc.words.framing import A_FRAMING

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

RATE = Parameter("rate", A_RATE, "of its own shaper", otherwise="that is off")
FRAMING = Parameter("framing", A_FRAMING, "how its own shaper counts packets", "linux")


def _doubts(given: LinkQueue, queue: Cake) -> Iterator[Diagnostic]:
    """Yield what is wrong with its own shaper."""
    if queue.rate_bps is None and FRAMING.name in given.written.options:
        yield Diagnostic(
            code="framing-without-rate",
            message="only the shaper of `cake` looks at `framing`, and it is off",
            span=given[FRAMING].span,
            help="give `cake` a `rate`, or the link the `framing`",
        )
    elif queue.rate_bps is not None and queue.rate_bps >= given.rate_bps:
        yield warning(
            code="idle-shaper",
            message="the shaper of `cake` is no slower than its link, and never shapes",
            span=given[RATE].span,
            notes=(f"the link has {given.rate_bps / 1e6:g} Mbit/s",),
            help="write a lower `rate`; a modem with its own queue is a further link",
        )


def _lower(given: LinkQueue) -> Cake:
    return Cake(
        limit_packets=given.packets,
        rtt_ns=given.ns(RTT),
        memory_bytes=given.packets * memory_bytes(given.mtu),
        diffserv=given[DIFFSERV],
        isolate=given[ISOLATE],
        ack_filter=given[ACK_FILTER],
        rate_bps=round(given[RATE].number) if RATE.name in given.written.options else None,
        framing=given[FRAMING].entry.build(given[FRAMING]),
    )


DECLARATION = Discipline(
    part=Cake,
    name="cake",
    summary="Common Applications Kept Enhanced; its own shaper is off unless it has a `rate`",
    parameters=(SIZE, RTT, DIFFSERV, ISOLATE, ACK_FILTER, RATE, FRAMING),
    lower=_lower,
    doubts=_doubts,
    target_ns=lambda queue: queue.rtt_ns // 20,
    is_random=True,
    limit_is_memory=True,
    order="flows",
    probes={"cake": "unlimited"},
    modules=("sch_cake",),
)
