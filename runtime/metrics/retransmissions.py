"""Retransmissions of a flow: packets that its sender retransmitted or, over QUIC, declared lost.

    retransmissions       = sum over connections of (R_c(end) - R_c(warm-up))
    retransmissions.share = retransmissions / packets of the flow that were sent after the warm-up

R_c(t): what the sender of connection c had counted by t: retransmitted segments (TCP_INFO), or
packets that QUIC's loss detection declared lost, whose data it sends in new packets. This is the
sender's view: a spurious retransmission counts, an unnoticed loss does not; `loss_rate` is the
network's. Sent packets are those that arrived at the first bottleneck of a path, or that left it
where arrivals are not captured.

Unit: packets (share: 1). Source: RFC 4898, section 4.2 (tcpEStatsPerfSegsRetrans); RFC 9002,
section 6 (loss detection).
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared, per_flow

COUNT = declared("retransmissions", "packets retransmitted or declared lost")
SHARE = declared("retransmissions.share", "retransmissions over packets sent")
VALUES = (COUNT, SHARE)


def _sent_again(measurement: Measurement, flow: FlowRecord) -> float | None:
    samples = flow.endpoints.samples
    known = np.isfinite(samples.retransmits)
    if not known.any():
        return None
    total = 0.0
    for connection in np.unique(samples.connection[known]):
        ours = known & (samples.connection == connection)
        counted, t_s = samples.retransmits[ours], samples.t_s[ours]
        before = counted[t_s <= measurement.begin_s]
        upto = counted[t_s <= measurement.until_s]
        total += (upto[-1] if len(upto) else 0.0) - (before[-1] if len(before) else 0.0)
    return total


def _sent(measurement: Measurement, flow: FlowRecord) -> int:
    sent = 0
    for one in measurement.crossed(flow)[0]:
        queue = one.queue
        if queue.blind:
            sent += int((one.left & measurement.counts(queue.left_s)).sum())
        else:
            sent += int((one.entered & measurement.counts(queue.seconds(queue.entered))).sum())
    return sent


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    again = _sent_again(measurement, flow)
    if again is None:
        udp = flow.plan.transport == "udp"
        reason = "UDP does not retransmit" if udp else "the sender has no sample"
        if flow.plan.image is not None:
            reason = "a third-party image does not report its retransmissions"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    sent = _sent(measurement, flow)
    share = again / sent if sent else None
    return COUNT.of(again, flow.name), SHARE.of(share, flow.name, "no packet of the flow was sent")


METRIC = Metric("retransmissions", VALUES, per_flow(_of_flow))
