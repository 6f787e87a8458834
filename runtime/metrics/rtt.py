"""Round-trip time of a flow.

    rtt.mean, rtt.p5 ... rtt.p99 = mean and percentiles over samples of srtt
    rtt.min = min over connections of min_rtt       rtt.base = median of the pings

srtt: the sender's smoothed RTT (TCP_INFO, or QUIC's of RFC 9002), sampled every 100 ms on each
connection after the warm-up, so the statistics are over time; it varies less than the RTTs of single
packets. Percentiles interpolate linearly. min_rtt: the smallest RTT that the sender saw; it includes
queueing if the queue was never empty. pings: small packets between the flow's hosts on the idle
network before the epoch, which measure the base RTT without queueing. iperf3 reports only srtt.

Unit: s. Source: RFC 6298, section 2 (srtt); RFC 9002, section 5.3; measurement.md, rules 1 and 19.
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value, per_flow
from .distribution import percentile_values, percentiles

MEAN = Value("rtt.mean", "s", "mean of the sender's smoothed RTT")
MIN = Value("rtt.min", "s", "smallest RTT that the sender saw")
BASE = Value("rtt.base", "s", "median round trip of pings on the idle network")
PERCENTILES = percentile_values("rtt", "s", "the sender's smoothed RTT")


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    samples = flow.endpoints.samples
    # 0 stands for a connection that has measured nothing yet.
    counted = (samples.t_s >= measurement.warmup_s) & (samples.rtt_s > 0)
    smallest = samples.min_rtt_s[samples.min_rtt_s > 0]
    pings = flow.pings.rtts_s if flow.pings else np.empty(0)
    none = "the sender has no RTT sample"
    untold = "iperf3 does not report it" if flow.plan.workload.kind == "iperf3" else none
    rtts = samples.rtt_s[counted]
    numbers = percentiles(rtts) if len(rtts) else (None,) * len(PERCENTILES)
    return (
        MEAN.of(float(np.mean(rtts)) if len(rtts) else None, flow.name, none),
        MIN.of(float(smallest.min()) if len(smallest) else None, flow.name, untold),
        BASE.of(float(np.median(pings)) if len(pings) else None, flow.name, "no ping came back"),
        *(value.of(n, flow.name, none) for value, n in zip(PERCENTILES, numbers, strict=True)),
    )


METRIC = Metric("rtt", (MEAN, MIN, BASE, *PERCENTILES), per_flow(_of_flow))
