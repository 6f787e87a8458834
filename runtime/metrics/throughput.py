"""Throughput of a flow on the wire: bytes of its frames at the bottleneck's exit, per second.

    throughput = 8 * W(begin, end) / (end - begin)

W: frame bytes (Ethernet, without preamble and checksum, or as long as the link's `framing` makes
them) of the flow's data direction that left the bottleneck queue, retransmissions and headers
included, apportioned by serialisation time. begin: the later of the flow's start and the end of the
warm-up. end: its last byte, or its stop. The throughputs of all flows add up to at most the link's
rate. Groups of users: as for `goodput`.

Unit: bit/s. Source: measurement.md, rules 1 and 16.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared, inactive, window
from .groups import rates

THROUGHPUT = declared(
    "throughput", "frame bytes at the bottleneck's exit per second", of_own_time=True
)
USER = declared(
    "throughput.user", "of one user of a group, over all of the user's flows", of_own_time=True
)
GROUP = declared("throughput.group", "of all users of a group", of_own_time=True)


def _of_flow(measurement: Measurement, flow: FlowRecord) -> MetricValue:
    begin, end = window(measurement, flow)
    if end <= begin:
        return THROUGHPUT.of(None, flow.name, inactive(measurement))
    sent = flow.frame_bytes(np.array([begin, end]))[0]
    return THROUGHPUT.of(8 * sent / (end - begin), flow.name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the throughput of each requested flow, and of their groups of users."""
    flows = measurement.sessions(request.sessions)
    each = {flow.name: _of_flow(measurement, flow) for flow in flows}
    return (*each.values(), *rates(measurement, each, _of_flow, USER, GROUP))


METRIC = Metric("throughput", (THROUGHPUT, USER, GROUP), compute, figure="rates")
