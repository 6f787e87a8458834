"""Loss rate of a flow's data direction, by its cause.

    loss_rate.queue  = D / E         loss_rate.random = L / X
    loss_rate.total  = 1 - (1 - P) * (1 - loss_rate.queue) * (1 - loss_rate.random)

P: share of the packets that policers dropped (policing.loss); 0 without one.
E: packets of the flow that arrived at the bottleneck queue; D: those that it dropped (never seen to
leave). X: packets that left it; L: those that were never delivered, lost at random behind it. Only
packets after the warm-up count, and not those still in flight when the capture ended.

Unit: 1. Source: RFC 7680, section 4.1 (one-way loss ratio); measurement.md, rule 14.
"""

from __future__ import annotations

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import UNSEEN, Metric, Presentation, Value, per_flow
from .policing import policed_loss

TOTAL = Value(
    "loss_rate.total",
    "1",
    "share of the packets lost, whatever the cause",
    shown=Presentation(title="Loss rate"),
)
QUEUE = Value("loss_rate.queue", "1", "share of the packets that the bottleneck queue dropped")
RANDOM = Value("loss_rate.random", "1", "share of the packets lost at random behind the queue")
VALUES = (TOTAL, QUEUE, RANDOM)


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    sent = missing = came = refused = 0
    for one in flow.passages:
        queue = one.queue
        left = one.left & measurement.counts(queue.left_s) & ~queue.behind.pending
        sent += int(left.sum())
        missing += int((left & queue.behind.lost).sum())
        entered = one.entered & measurement.counts(queue.seconds(queue.entered))
        entered &= ~queue.through.pending
        came += int(entered.sum())
        refused += int((entered & queue.through.lost).sum())
    if not sent:
        reason = "no packet of the flow passed the bottleneck"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    lost = missing / sent
    if any(one.queue.blind for one in flow.passages):
        return (
            TOTAL.of(None, flow.name, UNSEEN),
            QUEUE.of(None, flow.name, UNSEEN),
            RANDOM.of(lost, flow.name),
        )
    dropped = refused / max(1, came)
    passed = (1 - dropped) * (1 - lost) * (1 - policed_loss(measurement, flow))
    return (
        TOTAL.of(1 - passed, flow.name),
        QUEUE.of(dropped, flow.name),
        RANDOM.of(lost, flow.name),
    )


METRIC = Metric("loss_rate", VALUES, per_flow(_of_flow))
