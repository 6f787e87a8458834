"""Utilization of the bottleneck: the share of its capacity that frames took.

    utilization = 8 * W(begin, end) / C(begin, end)
    C = 8 * W + (integral of the rate in force over the time in which no frame is sent)

W: bytes of all frames that left the bottleneck queue, apportioned by serialisation time. C: the
capacity, bit. A frame is sent to its end at the rate at which it began, whatever the link's rate
becomes meanwhile, so while a frame is sent the rate of the link is that of the frame. Where the
rate does not change, C is rate * (end - begin). A link that is never idle has a utilization of 1,
and none has more. Behind a token bucket a frame occupies the link for its length / rate from when
it left, or from the end of the frame ahead of it. begin: the later of the end of the warm-up and
the first start of a flow that crosses the bottleneck. end: the last end of such a flow; flows whose
own bottleneck is elsewhere count as well. Of a flow with several paths (Multipath TCP; routers move
it around a link that is down) it is the bottleneck of the first one.
Where the flows of a cell have several bottlenecks, each flow gets the value of its own; otherwise
the cell has one value.

Unit: 1. Source: RFC 5136, section 2.3.5 (IP-layer link utilization), on frames.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared, inactive

UTILIZATION = declared("utilization", "share of the bottleneck's rate that frames took")


def _of_bottleneck(measurement: Measurement, flow: FlowRecord, name: str | None) -> MetricValue:
    queue = flow.queue
    crossing = [
        f
        for f in measurement.flows
        if f.at(queue) is not None or queue.place in measurement.data_paths[f.name]
    ]
    begin = max(min(f.start_s for f in crossing), measurement.begin_s)
    end = min(max(f.end_s for f in crossing), measurement.until_s)
    if end <= begin:
        return UTILIZATION.of(None, name, inactive(measurement, "every flow"))
    edges_s = np.array([begin, end])
    carried_bits = 8 * float(queue.carried_bytes(queue.left.frame_bytes, edges_s)[0])
    return UTILIZATION.of(carried_bits / float(queue.capacity_bits(edges_s)[0]), name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the utilization of the bottleneck, or of each requested flow's bottleneck."""
    flows = measurement.sessions(request.sessions)
    if len({flow.queue.place for flow in measurement.flows}) == 1:
        return (_of_bottleneck(measurement, flows[0], None),)
    return tuple(_of_bottleneck(measurement, flow, flow.name) for flow in flows)


METRIC = Metric("utilization", (UTILIZATION,), compute, figure="rates")
