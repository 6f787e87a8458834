"""Smoothed round-trip time of a flow, as its sender knows it.

    srtt.mean, srtt.p5 ... srtt.p99 = mean and percentiles over samples of srtt
    srtt.min = min over connections of min_rtt

srtt: the sender's smoothed RTT (TCP_INFO, or QUIC's of RFC 9002), sampled every 100 ms on each
connection after the warm-up and until the flow is stopped or the cell ends, so the statistics are
over time; it varies less than the RTTs of single packets (`rtt`). QUIC subtracts the time for which
the receiver says that it delayed an ACK, TCP cannot: where ACKs are delayed, the two differ on one
path. Percentiles interpolate linearly; the 95th needs 20 values, the 99th 100. min_rtt: the
smallest RTT that the sender saw, no delay of an ACK subtracted; it includes queueing if the queue
was never empty. iperf3 reports only srtt.

Unit: s. Source: RFC 6298, section 2 (srtt); RFC 9002, section 5.3; measurement.md, rule 19.
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Course, Distribution, Metric, declared, per_flow
from .distribution import TOO_FEW, percentile_values, percentiles

MEAN = declared("srtt.mean", "mean of the sender's smoothed RTT")
MIN = declared("srtt.min", "smallest RTT that the sender saw")
PERCENTILES = percentile_values("srtt", "the sender's smoothed RTT")


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    samples = flow.endpoints.samples
    # 0 stands for a connection that has measured nothing yet.
    counted = measurement.counts(samples.t_s) & flow.before_stop & (samples.rtt_s > 0)
    smallest = samples.min_rtt_s[samples.min_rtt_s > 0]
    none = "the sender has no RTT sample"
    rtts = samples.rtt_s[counted]
    untold = "its sender does not report it" if len(rtts) else none
    few = TOO_FEW if len(rtts) else none
    numbers = percentiles(rtts) if len(rtts) else (None,) * len(PERCENTILES)
    return (
        MEAN.of(float(np.mean(rtts)) if len(rtts) else None, flow.name, none),
        MIN.of(float(smallest.min()) if len(smallest) else None, flow.name, untold),
        *(value.of(n, flow.name, few) for value, n in zip(PERCENTILES, numbers, strict=True)),
    )


METRIC = Metric(
    "srtt",
    (MEAN, MIN, *PERCENTILES),
    per_flow(_of_flow),
    course=Course(
        table="samples",
        where="rtt_s > 0",
        value="avg(rtt_s)",
        meaning="mean of a flow's smoothed RTT",
    ),
    distribution=Distribution(
        table="samples",
        column="rtt_s",
        where="t_s >= begin_s AND t_s < until_s AND rtt_s > 0",
        there="srtt.mean",
        things="samples of the sender's smoothed RTT {when}",
        word="samples",
    ),
)
