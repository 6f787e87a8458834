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
the capture ended; what waits in a `fifo` then is not lost, and counts in E.

Unit: 1. Source: RFC 7680, section 4.1 (one-way loss ratio); measurement.md, rule 14.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairc.runtime.measurement import FlowRecord, Measurement
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


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    passages, later = measurement.crossed(flow)
    first = [_counted(measurement, one) for one in passages]
    behind = [_counted(measurement, one) for one in later]
    sent = sum(one.sent for one in first) - sum(one.dropped for one in behind)
    if sent <= 0:
        reason = "no packet of the flow passed the bottleneck"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    lost = sum(one.lost for one in (*first, *behind)) / sent
    if any(one.queue.blind for one in (*passages, *later)):
        return (
            TOTAL.of(None, flow.name, UNSEEN),
            QUEUE.of(None, flow.name, UNSEEN),
            RANDOM.of(lost, flow.name),
        )
    came = sum(one.came for one in first)
    dropped = sum(one.dropped for one in (*first, *behind)) / max(1, came)
    passed = (1 - dropped) * (1 - lost) * (1 - measurement.dropped_by_devices(flow))
    return (
        TOTAL.of(1 - passed, flow.name),
        QUEUE.of(dropped, flow.name),
        RANDOM.of(lost, flow.name),
    )


METRIC = Metric("loss_rate", VALUES, per_flow(_of_flow))
