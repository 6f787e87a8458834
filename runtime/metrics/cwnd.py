"""Congestion window of a flow: the sum over its connections, sampled at equal intervals.

    cwnd(t) = sum over connections c of the last sample of c at or before t

at the multiples t of `every` (100 ms by default) after the warm-up, while the flow has a live
connection: a connection counts from its first sample to its last, no later than the stop of the
flow or the end of the cell. A sample that is due at t counts as taken at t, although its process
takes it some microseconds later (at most a tenth of the time between samples). Mean, extremes and
percentiles are over these times. The endpoints sample TCP_INFO, or the QUIC controller, every 100
ms, or more often if a metric of the flow asks for it; each sample costs CPU time and disk space. A
QUIC window in packets is its bytes divided by the packet size.

Time series: cwnd, one per flow.

Unit: packets. Source: RFC 5681, section 2 (cwnd); measurement.md, rule 19.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.results import MetricValue

from .base import Course, Distribution, Metric, Presentation, declared
from .distribution import TOO_FEW, percentile_values, percentiles

EVERY_S = 0.1

MEAN = declared(
    "cwnd.mean", "mean congestion window over time", shown=Presentation(title="Mean window")
)
MIN = declared("cwnd.min", "smallest congestion window")
MAX = declared("cwnd.max", "largest congestion window")
VALUES = (MEAN, *percentile_values("cwnd", "the congestion window"), MIN, MAX)


def sampled(measurement: Measurement, flow: FlowRecord, every_s: float) -> tuple[Floats, Floats]:
    """Return a flow's sampling times, s, and its windows, packets; both empty if it has no
    window.
    """
    samples = flow.endpoints.samples
    known = np.isfinite(samples.cwnd_packets) & flow.before_stop
    times, windows = flow.due_s[known], samples.cwnd_packets[known]
    connections = samples.connection[known]
    if not len(times):
        return np.empty(0), np.empty(0)
    first = int(np.ceil(max(times.min(), measurement.begin_s) / every_s - 1e-6))
    last = int(np.floor(times.max() / every_s + 1e-6))
    if times.max() >= measurement.until_s:
        last = int(np.ceil(measurement.until_s / every_s - 1e-6)) - 1
    at = np.arange(first, last + 1, dtype=np.float64) * every_s
    total, alive = np.zeros(len(at)), np.zeros(len(at), np.bool_)
    for connection in np.unique(connections):
        ours = connections == connection
        t = times[ours]
        place = np.searchsorted(t, at + 1e-6, side="right") - 1
        here = (place >= 0) & (at <= t[-1] + 1e-6)
        total += np.where(here, windows[ours][place], 0.0)
        alive |= here
    return at[alive], total[alive]


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the windows of each requested flow."""
    every_s = float(request.options.get("every", EVERY_S))
    flows = measurement.sessions(request.sessions)
    return tuple(value for flow in flows for value in _of_flow(measurement, flow, every_s))


def _of_flow(measurement: Measurement, flow: FlowRecord, every_s: float) -> tuple[MetricValue, ...]:
    _, windows = sampled(measurement, flow, every_s)
    if not len(windows):
        udp = flow.plan.transport == "udp"
        reason = (
            "a flow over UDP has no window" if udp else "the sender has no sample of its window"
        )
        if flow.plan.image is not None:
            reason = "a third-party image does not report its window"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    extremes = (float(windows.min()), float(windows.max()))
    numbers = (float(windows.mean()), *percentiles(windows), *extremes)
    return tuple(value.of(n, flow.name, TOO_FEW) for value, n in zip(VALUES, numbers, strict=True))


def traces(measurement: Measurement, request: MetricRequest) -> tuple[Trace, ...]:
    """Return the window of each requested flow over time."""
    every_s = float(request.options.get("every", EVERY_S))
    found = (
        (flow.name, *sampled(measurement, flow, every_s))
        for flow in measurement.sessions(request.sessions)
    )
    return tuple(Trace("cwnd", name, t_s, windows) for name, t_s, windows in found if len(t_s))


METRIC = Metric(
    "cwnd",
    VALUES,
    compute,
    traces,
    course=Course(
        table="samples",
        where="cwnd_packets IS NOT NULL",
        value="avg(cwnd_packets)",
        meaning="mean congestion window of a flow's connections",
    ),
    distribution=Distribution(
        table="samples",
        column="cwnd_packets",
        where="t_s >= begin_s AND t_s < until_s AND cwnd_packets IS NOT NULL",
        there="cwnd.mean",
        things="samples of the congestion window {when}",
        word="samples",
    ),
)
