"""Retransmissions of a flow: packets that its sender retransmitted or, over QUIC, declared lost.

    retransmissions       = sum over connections of (R_c(end) - R_c(warm-up))
    retransmissions.share = retransmissions / packets of the flow that were sent after the warm-up

R_c(t): what the sender of connection c had counted by t: retransmitted segments (TCP_INFO), or
packets that QUIC's loss detection declared lost, whose data it sends in new packets. It is sampled
every 100 ms, or more often if a metric of the flow asks for it: an edge of what is measured that
lies between two samples counts as the first of them, for the packets that were sent, too. This is
the sender's view: a spurious retransmission counts, an unnoticed loss does not; `loss_rate` is the
network's. Sent packets are those that arrived at the first bottleneck of a path, or that left it
where arrivals are not captured, and those that policers dropped.

Unit: packets (share: 1). Source: RFC 4898, section 4.2 (tcpEStatsPerfSegsRetrans); RFC 9002,
section 6 (loss detection).
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared, per_flow

COUNT = declared("retransmissions", "packets retransmitted or declared lost")
SHARE = declared("retransmissions.share", "retransmissions over packets sent")
VALUES = (COUNT, SHARE)


def _edges_s(measurement: Measurement, flow: FlowRecord) -> tuple[float, float]:
    """Return from when to when retransmissions are counted, s: the last samples of the flow before
    the edges of what is measured, or these where it has none then.
    """
    t_s, every_s = flow.due_s, flow.plan.sample_every_ns * NS

    def sampled(at_s: float) -> float:
        before = t_s[t_s <= at_s + 1e-6]
        near = len(before) and before[-1] > at_s - every_s
        return float(before[-1]) if near else at_s

    return sampled(measurement.begin_s), sampled(measurement.until_s)


def _sent_again(flow: FlowRecord, begin_s: float, until_s: float) -> float | None:
    samples = flow.endpoints.samples
    known = np.isfinite(samples.retransmits)
    if not known.any():
        return None
    total = 0.0
    for connection in np.unique(samples.connection[known]):
        ours = known & (samples.connection == connection)
        counted, t_s = samples.retransmits[ours], flow.due_s[ours]
        before, upto = counted[t_s <= begin_s + 1e-6], counted[t_s <= until_s + 1e-6]
        total += (upto[-1] if len(upto) else 0.0) - (before[-1] if len(before) else 0.0)
    return total


def _sent(measurement: Measurement, flow: FlowRecord, begin_s: float, until_s: float) -> int:
    sent = 0
    for one in measurement.crossed(flow)[0]:
        queue = one.queue
        mine, t_s = one.entered, queue.seconds(queue.entered)
        if queue.blind:
            mine, t_s = one.left, queue.left_s
        sent += int((mine & (t_s >= begin_s) & (t_s < until_s)).sum())
    return sent


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    edges_s = _edges_s(measurement, flow)
    again = _sent_again(flow, *edges_s)
    if again is None:
        udp = flow.plan.transport == "udp"
        reason = "UDP does not retransmit" if udp else "the sender has no sample"
        if flow.plan.image is not None:
            reason = "a third-party image does not report its retransmissions"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    sent = _sent(measurement, flow, *edges_s)
    passed = 1 - measurement.dropped_by_devices(flow)  # those in front of the bottleneck
    share = again * passed / sent if sent else None
    return COUNT.of(again, flow.name), SHARE.of(share, flow.name, "no packet of the flow was sent")


METRIC = Metric("retransmissions", VALUES, per_flow(_of_flow))
