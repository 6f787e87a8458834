"""Utilization of the bottleneck: the share of its rate that frames took.

    utilization = 8 * W(begin, end) / (integral of the rate from begin to end)

W: bytes of all frames that left the bottleneck queue, apportioned by serialisation time. begin: the
later of the end of the warm-up and the first start of a flow that crosses the bottleneck. end: the
last end of such a flow; flows whose own bottleneck is elsewhere count as well.
Where the flows of a cell have several bottlenecks, each flow gets the value of its own; otherwise
the cell has one value.

Unit: 1. Source: RFC 5136, section 2.3.5 (IP-layer link utilization), on frames.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.measurement.slots import apportion

from .base import Metric, Value, inactive

UTILIZATION = Value("utilization", "1", "share of the bottleneck's rate that frames took")


def _of_bottleneck(measurement: Measurement, flow: FlowRecord, name: str | None) -> MetricValue:
    queue = flow.queue
    paths = measurement.paths
    crossing = [f for f in measurement.flows if queue.place in paths.of(f.plan)]
    begin = max(min(f.start_s for f in crossing), measurement.begin_s)
    end = min(max(f.end_s for f in crossing), measurement.until_s)
    if end <= begin:
        return UTILIZATION.of(None, name, inactive(measurement, "every flow"))
    frames = queue.left.frame_bytes.astype(np.float64)
    carried = apportion(queue.left_s, queue.serialisation_s, frames, np.array([begin, end]))[0]
    capacity_bits = float(queue.history.capacity_bits(np.array([begin, end]))[0])
    return UTILIZATION.of(8 * carried / capacity_bits, name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the utilization of the bottleneck, or of each requested flow's bottleneck."""
    flows = measurement.sessions(request.sessions)
    if len({flow.queue.place for flow in measurement.flows}) == 1:
        return (_of_bottleneck(measurement, flows[0], None),)
    return tuple(_of_bottleneck(measurement, flow, flow.name) for flow in flows)


METRIC = Metric("utilization", (UTILIZATION,), compute, figure="rates")
