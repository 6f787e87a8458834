"""Goodput of a flow: application bytes delivered to the client, per second.

    goodput = 8 * (B(end) - B(begin)) / (end - begin)

B(t): bytes that the client's application has received by t, over all connections of the flow.
begin: the later of the flow's start and the end of the warm-up. end: its last byte, or its stop.
A flow over Multipath TCP has a value for each of its paths, named after the flow and the path,
`one-wifi`: goodput.subflow counts the bytes of its subflows there, B(t) being the highest sequence
number that has crossed the path's bottleneck by t. What one subflow sends again for another one
counts for both, so they may add up to more than the flow's.
A group of users has values under its name: goodput.group is the sum over all of its flows,
whichever are asked for, goodput.user that sum divided by the number of users. The flows of an index
are such a group.

Unit: bit/s. Source: RFC 2647, section 3.17 (bits forwarded to the correct destination, less
those retransmitted), for whole transfers; measurement.md, rule 17.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.results import MetricValue

from .base import Course, Metric, Presentation, declared, inactive, window
from .groups import rates

GOODPUT = declared(
    "goodput",
    "application bytes delivered per second",
    shown=Presentation(rank=0, typical=1, column="goodput_bps"),
    of_own_time=True,
)
USER = declared(
    "goodput.user", "of one user of a group, over all of the user's flows", of_own_time=True
)
GROUP = declared("goodput.group", "of all users of a group", of_own_time=True)
SUBFLOW = declared("goodput.subflow", "of the subflows on one path of a flow over MPTCP")


def of_flow(measurement: Measurement, flow: FlowRecord) -> MetricValue:
    """Return the goodput of one flow."""
    begin, end = window(measurement, flow)
    if end <= begin:
        return GOODPUT.of(None, flow.name, inactive(measurement))
    delivered = flow.delivered_bytes(np.array([begin, end]))[0]
    return GOODPUT.of(8 * delivered / (end - begin), flow.name)


def of_subflows(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    """Return the goodput of each path of a flow over Multipath TCP; none for any other flow."""
    begin, end = window(measurement, flow)
    found = []
    for path in flow.plan.subflows:
        name, reason = f"{flow.name}-{path.name}", inactive(measurement)
        rate = None
        if not measurement.captured:
            reason = "no packets were captured"
        elif end > begin:
            edges_s = np.array([begin, end])
            rate = 8 * float(measurement.crossed_bytes(flow, path, edges_s)[0]) / (end - begin)
        found.append(SUBFLOW.of(rate, name, reason))
    return tuple(found)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the goodput of each requested flow, and of their groups of users."""
    flows = measurement.sessions(request.sessions)
    each = {flow.name: of_flow(measurement, flow) for flow in flows}
    paths = (value for flow in flows for value in of_subflows(measurement, flow))
    return (*each.values(), *rates(measurement, each, of_flow, USER, GROUP), *paths)


def traces(measurement: Measurement, request: MetricRequest) -> tuple[Trace, ...]:
    """Return the goodput of each path of flows over Multipath TCP in each slot."""
    found = []
    for flow in measurement.sessions(request.sessions):
        for path in flow.plan.subflows if measurement.captured else ():
            slots = np.arange(int(flow.end_s / SLOT_S) + 1, dtype=np.float64) * SLOT_S
            rates_bps = 8 * measurement.crossed_bytes(flow, path, slots) / SLOT_S
            found.append(Trace(SUBFLOW.name, f"{flow.name}-{path.name}", slots[:-1], rates_bps))
    return tuple(found)


METRIC = Metric(
    "goodput",
    (GOODPUT, USER, GROUP, SUBFLOW),
    compute,
    traces,
    figure="rates",
    course=Course(
        table="slots",
        where="active",
        value="sum(delivered_bytes) * 8 / (count(*) * {slot_s})",
        meaning="bytes delivered to a flow's application while it is active",
    ),
    courses={
        SUBFLOW.name: Course(
            table="traces",
            where=f"metric = '{SUBFLOW.name}{{mark}}'",
            value="avg(value)",
            meaning="bytes of the subflows on a path that crossed its bottleneck",
        )
    },
)
