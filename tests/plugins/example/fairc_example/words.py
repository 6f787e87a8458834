"""What the package adds to the language: the objects that its entry points name."""

from __future__ import annotations

from fairc.api import (
    A_POSITIVE_TIME,
    QUEUE_SIZE,
    CoDel,
    Discipline,
    FigureEntry,
    LinkQueue,
    MetricEntry,
    Parameter,
    Qdisc,
)

TARGET_DELAY = Parameter("target", A_POSITIVE_TIME, "acceptable standing delay", "1ms")


def _lower(given: LinkQueue) -> CoDel:
    """CoDel with a target for short round trips, and twenty of it as its interval."""
    target_ns = given.ns(TARGET_DELAY)
    return CoDel(
        limit_packets=given.packets, target_ns=target_ns, interval_ns=20 * target_ns, ecn=True
    )


QUEUE = Discipline(
    name="rack_codel",
    summary="CoDel for a rack",
    parameters=(QUEUE_SIZE, TARGET_DELAY),
    lower=_lower,
    target_ns=lambda queue: queue.target_ns,
)


def _head_drop(given: LinkQueue) -> Qdisc:
    """A discipline of Linux that the plan has no class of."""
    return Qdisc(
        discipline="pfifo_head_drop",
        limit_packets=given.packets,
        arguments=(("limit", given.packets),),
    )


HEAD_DROP = Discipline(
    name="head_drop",
    summary="First in, first out; the head is dropped",
    parameters=(QUEUE_SIZE,),
    lower=_head_drop,
    probes={"pfifo_head_drop": "limit 10"},
)

METRIC = MetricEntry(
    name="flows_seen",
    summary="Flows of a cell",
    unit="1",
    module="fairc_example.flows_seen",
)

FIGURE = FigureEntry(
    name="dots", summary="A dot for each cell", panels=1, groups=10, module="fairc_example.dots"
)
