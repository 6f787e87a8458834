"""Time that a UDP flow's datagrams take from the server's program to the client, over all hops.

    delay(d) = t_arrival(d) - t_sent(d)

over the datagrams d that arrive after the warm-up, without the copies of those that had arrived
before. t_sent: when the server hands the datagram to its kernel, as it writes into the datagram.
t_arrival: when the client's kernel receives it, on the same clock. So all queues, transmissions and
propagations on the way count, those of the sending host included; `queue_delay` is the wait at the
bottleneck alone. A lost datagram has no delay: `datagrams.lost` is their share. Nor has one that is
on its way when the flow ends. Where these are more than 1 %, and of the last delays, as many as
these, half exceed all earlier ones, as behind a queue that still grows, the longest delays are
missing: `censored` and a remark count them. Of a `ping`, it is the way from server to client.
iperf3 and third-party images do not say when datagrams arrive.

Percentiles interpolate linearly; the 95th needs 20 values, the 99th 100. The curve `distribution`
has the whole distribution: x is the delay that a share y of the datagrams does not exceed, in steps
of 0.5 %; scale is the number of datagrams.

Unit: s. Source: RFC 7679 (one-way delay), between the two programs; Hyndman and Fan, Sample
quantiles in statistical packages, 1996, definition 7.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared
from .datagrams import LEFT_OUT, left_out_of
from .distribution import TOO_FEW, curves_of, percentile_values, percentiles, stored

MEAN = declared("one_way_delay.mean", "mean time from server to client", LEFT_OUT)
MIN = declared("one_way_delay.min", "shortest time from server to client")
MAX = declared("one_way_delay.max", "longest time from server to client", LEFT_OUT)
PERCENTILES = percentile_values(
    "one_way_delay", "the time from server to client", censoring=LEFT_OUT
)
VALUES = (MEAN, *PERCENTILES, MIN, MAX)


def _flows(measurement: Measurement, request: MetricRequest) -> tuple[FlowRecord, ...]:
    """Return the requested flows (default: all flows over UDP)."""
    flows = measurement.sessions(request.sessions)
    if request.sessions:
        return flows
    return tuple(flow for flow in flows if flow.plan.transport == "udp")


def _delays(measurement: Measurement, flow: FlowRecord) -> Floats:
    """Return the delay of each datagram that counts, s."""
    transits = flow.endpoints.transits
    if transits is None:
        return np.empty(0)
    counted: Floats = transits.transit_s[measurement.counts(transits.arrived_s)]
    return counted


def _reason(flow: FlowRecord) -> str:
    """Return why a flow has no delays."""
    if flow.plan.transport != "udp":
        return "the flow is not over UDP"
    if flow.endpoints.transits is None:
        return "its client does not say when datagrams arrive"
    return "no datagram arrived"


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    delays = _delays(measurement, flow)
    if not len(delays):
        return tuple(value.of(None, flow.name, _reason(flow)) for value in VALUES)
    numbers = (delays.mean(), *percentiles(delays), delays.min(), delays.max())
    left = left_out_of(measurement, flow, delays)
    return tuple(
        value.of(float(n), flow.name, TOO_FEW, censored=left if value.censoring else (0, 0))
        for value, n in zip(VALUES, numbers, strict=True)
    )


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the delays of the requested flows."""
    flows = _flows(measurement, request)
    if not flows:
        return tuple(value.of(None, None, "no flow is over UDP") for value in VALUES)
    return tuple(value for flow in flows for value in _of_flow(measurement, flow))


curves = curves_of("one_way_delay", lambda measurement, flow, _: _delays(measurement, flow))


METRIC = Metric(
    "one_way_delay",
    VALUES,
    compute,
    curves=curves,
    distribution=stored("one_way_delay", "datagrams that arrived {when}", "datagrams"),
)
