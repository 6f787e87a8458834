"""Packets of a flow that its bottleneck queue marked, of those that it could mark.

    marks       = M / E
    marks.count = M

E: packets of the flow's data direction that arrived at its bottleneck queue as ECT(0) or ECT(1), of
IPv4; those that the queue dropped count, those that arrived marked do not, and neither do those
still in it when the capture ended. M: those of E that left the queue marked (CE). A packet counts
when it arrives; only those after the warm-up do. Each flow is counted at its own bottleneck: marks
of queues before or behind that are not in it.

0: the queue marked none. A flow of which no packet arrived as ECT, because it does not ask for ECN
or a link bleached it, has no value.

Unit: 1 (marks.count: packets). Source: RFC 3168, section 5 (ECT and CE); RFC 8087, section 1;
measurement.md, rule 14.
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import UNSEEN, Metric, declared, per_flow

MARKS = declared("marks", "share of the packets that arrived as ECT that left as CE")
COUNT = declared("marks.count", "packets that arrived as ECT and left as CE")

ECN, NOT_ECT, CE = 3, 0, 3
"""The two bits of the byte that also has the DSCP, and two of their values."""


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    if any(one.queue.blind for one in flow.passages):
        return MARKS.of(None, flow.name, UNSEEN), COUNT.of(None, flow.name, UNSEEN)
    arrived = marked = 0
    for one in flow.passages:
        queue = one.queue
        came = queue.entered.tos & ECN
        ours = one.entered & measurement.counts(queue.seconds(queue.entered))
        ours &= ~queue.through.pending & (came != NOT_ECT) & (came != CE)
        found = queue.through.found[ours]
        arrived += len(found)
        marked += int(np.sum(queue.left.tos[found[found >= 0]] & ECN == CE))
    if not arrived:
        reason = f"no packet of the flow arrived as ECT {measurement.when}"
        return MARKS.of(None, flow.name, reason), COUNT.of(None, flow.name, reason)
    return MARKS.of(marked / arrived, flow.name), COUNT.of(marked, flow.name)


METRIC = Metric("marks", (MARKS, COUNT), per_flow(_of_flow))
