"""Loss rate of a flow's data direction, by its cause.

    loss_rate.queue  = D / E         loss_rate.random = L / X
    loss_rate.total  = 1 - (1 - P) * (1 - loss_rate.queue) * (1 - loss_rate.random)

P: share of the packets that policers dropped (policing.loss); 0 without one.
E: packets of the flow that arrived at the first bottleneck of a path; D: those that a bottleneck's
queue dropped (never seen to leave), there or further on. X: packets that left the first one's queue
and that no later one dropped; L: those that were never delivered, lost behind any of them: at
random, and also by the number or kind that a link loses, by a flipped bit, or on a link that was
down. Bottlenecks are all links of its paths where data can wait (rule 2), so drops at those of
other flows count as well. Only packets after the warm-up count, and not those still in flight when
the capture ended; what waits in a `fifo` then is not lost, and counts in E. A copy that a link has
made (`duplicate`) counts in D and L like any other packet.

Losses on links that are no bottlenecks are not captured. Where such a link of a flow's way loses
packets, or is down at times, its loss_rate.total has no value, nor has loss_rate.random if the link
is behind a bottleneck. A link whose `queue` the file names is a bottleneck. Of a flow all of whose
packets were dropped loss_rate.total is 1.

Unit: 1. Source: RFC 7680, section 4.1 (one-way loss ratio); measurement.md, rule 14.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.paths import Paths, Place
from fairc.runtime.measurement.record import Passage
from fairc.runtime.measurement.results import MetricValue

from .base import UNSEEN, Metric, Presentation, declared, per_flow

TOTAL = declared(
    "loss_rate.total",
    "share of the packets lost, whatever the cause",
    shown=Presentation(title="Loss rate", is_percent=True),
)
QUEUE = declared(
    "loss_rate.queue",
    "share of the packets that queues of bottlenecks dropped",
    shown=Presentation(is_percent=True),
)
RANDOM = declared(
    "loss_rate.random",
    "share of the packets lost at random behind these queues",
    shown=Presentation(is_percent=True),
)
VALUES = (TOTAL, QUEUE, RANDOM)


@dataclass(frozen=True, slots=True)
class _Counted:
    """What came to a queue, what it dropped, what left it, and what was lost behind it, packets."""

    came: int
    dropped: int
    sent: int
    lost: int


def _counted(measurement: Measurement, one: Passage) -> _Counted:
    queue = one.queue
    left = one.left & measurement.counts(queue.left_s) & ~queue.behind.pending
    entered = one.entered & measurement.counts(queue.seconds(queue.entered))
    planned = queue.interface.queue
    if planned is None or not planned.is_drop_tail:  # it may still drop what waits
        entered &= ~queue.through.pending
    return _Counted(
        came=int(entered.sum()),
        dropped=int((entered & queue.through.lost).sum()),
        sent=int(left.sum()),
        lost=int((left & queue.behind.lost).sum()),
    )


def _unseen(measurement: Measurement, flow: FlowRecord) -> tuple[str, str]:
    """Return why it is not known how many packets of a flow were lost, and how many of those behind
    its bottlenecks; empty where it is.
    """
    paths, queues = measurement.paths, {queue.place for queue in measurement.queues}
    seen = queues | {paths.delivery(place) for place in queues}
    times_ns = (None, *paths.reroutings_ns)
    ways = dict.fromkeys(way for at_ns in times_ns for way in paths.ways(flow.plan, at_ns))
    anywhere, behind = "", ""
    for way in ways:
        first = min((at for at, place in enumerate(way) if place in queues), default=len(way))
        nodes = [*(node for node, _ in way), flow.plan.client]
        for at, place in enumerate(way):
            if place in seen or not _loses(paths, place):
                continue
            begins = at - 1 if paths.is_hop(place[0]) else at
            why = (
                f"the link from {nodes[begins]} to {nodes[at + 1]} loses packets and is no"
                " bottleneck, so they are not captured there: name its `queue`"
            )
            anywhere, behind = anywhere or why, behind or (why if at > first else "")
    return anywhere, behind


def _loses(paths: Paths, place: Place) -> bool:
    """Return whether packets that leave by an interface may be lost before the next node has
    them.
    """
    arrival = paths.arrival(place)
    return paths.may_lose([place]) or (arrival is not None and bool(arrival.arriving_losses))


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    passages, later = measurement.crossed(flow)
    first = [_counted(measurement, one) for one in passages]
    behind = [_counted(measurement, one) for one in later]
    came = sum(one.came for one in first)
    dropped = sum(one.dropped for one in (*first, *behind))
    sent = sum(one.sent for one in first) - sum(one.dropped for one in behind)
    lost = sum(one.lost for one in (*first, *behind)) / sent if sent > 0 else None
    none = "no packet of the flow passed the bottleneck"
    unseen, unseen_behind = _unseen(measurement, flow)
    random = RANDOM.of(None if unseen_behind else lost, flow.name, unseen_behind or none)
    if any(one.queue.blind for one in (*passages, *later)):
        return TOTAL.of(None, flow.name, UNSEEN), QUEUE.of(None, flow.name, UNSEEN), random
    queue = dropped / came if came else None if lost is None else 0.0
    passed = (1 - (queue or 0.0)) * (1 - measurement.dropped_by_devices(flow))
    if passed == 0:  # whatever happens to others behind it
        total = TOTAL.of(1.0, flow.name)
    else:
        known = None if unseen or lost is None else 1 - passed * (1 - lost)
        total = TOTAL.of(known, flow.name, unseen or none)
    return total, QUEUE.of(queue, flow.name, none), random


METRIC = Metric("loss_rate", VALUES, per_flow(_of_flow))
