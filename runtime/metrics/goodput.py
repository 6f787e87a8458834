"""Goodput of a flow: application bytes delivered to the client, per second.

    goodput = 8 * (B(end) - B(begin)) / (end - begin)

B(t): bytes that the client's application has received by t, over all connections of the flow.
begin: the later of the flow's start and the end of the warm-up. end: its last byte, or its stop.
A group of users has values under its name: goodput.group is the sum over its flows, goodput.user
that sum divided by the number of users. Defined only where flows run on users.

Unit: bit/s. Source: RFC 2647, section 3.17 (bits forwarded to the correct destination, less
those retransmitted), for whole transfers; measurement.md, rule 17.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Course, Metric, Presentation, Value, inactive, window
from .groups import rates

GOODPUT = Value(
    "goodput",
    "bit/s",
    "application bytes delivered per second",
    shown=Presentation(rank=0, typical=1, column="goodput_bps"),
)
USER = Value("goodput.user", "bit/s", "of one user of a group, over all of the user's flows")
GROUP = Value("goodput.group", "bit/s", "of all users of a group")


def of_flow(measurement: Measurement, flow: FlowRecord) -> MetricValue:
    """Return the goodput of one flow."""
    begin, end = window(measurement, flow)
    if end <= begin:
        return GOODPUT.of(None, flow.name, inactive(measurement))
    delivered = flow.delivered_bytes(np.array([begin, end]))[0]
    return GOODPUT.of(8 * delivered / (end - begin), flow.name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the goodput of each requested flow, and of their groups of users."""
    flows = measurement.sessions(request.sessions)
    each = {flow.name: of_flow(measurement, flow) for flow in flows}
    return (*each.values(), *rates(flows, each, USER, GROUP))


METRIC = Metric(
    "goodput",
    (GOODPUT, USER, GROUP),
    compute,
    figure="rates",
    course=Course(
        table="slots",
        where="active",
        value="sum(delivered_bytes) * 8 / (count(*) * {slot_s})",
        meaning="bytes delivered to a flow's application while it is active",
    ),
)
