"""Goodput of a flow: application bytes delivered to the client, per second.

    goodput = 8 * (B(end) - B(begin)) / (end - begin)

B(t): bytes that the client's application has received until t, all connections of the flow.
begin: the later of the flow's start and the warm-up. end: its last byte, or its stop.

Unit: bit/s. Source: RFC 2647, section 3.17 (bits forwarded to the correct destination, less
those retransmitted), for whole transfers; measurement.md, rule 17.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.results import MetricValue

from .base import Metric, Value, window

GOODPUT = Value("goodput", "bit/s", "application bytes delivered per second")


def of_flow(measurement: Measurement, flow: FlowRecord) -> MetricValue:
    """Return the goodput of one flow."""
    begin, end = window(measurement, flow)
    if end <= begin:
        return GOODPUT.of(None, flow.name, "the flow ended before the warm-up did")
    delivered = flow.delivered_bytes(np.array([begin, end]))[0]
    return GOODPUT.of(8 * delivered / (end - begin), flow.name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the goodput of each requested flow."""
    return tuple(of_flow(measurement, flow) for flow in measurement.sessions(request.sessions))


METRIC = Metric("goodput", (GOODPUT,), compute)
