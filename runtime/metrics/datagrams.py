"""Loss, reordering, duplication and jitter of a UDP flow's datagrams, as its client counts them.

    datagrams.lost       = missing / (arrived + missing)
    datagrams.reordered  = arrived after one with a higher number / arrived
    datagrams.duplicates = arrived again / arrived
    datagrams.jitter     = mean over connections of J at their end

arrived: distinct datagrams. missing: those below the highest number that arrived. Both count all
connections of the flow from its start to its end, warm-up included, because the client reports only
totals. Those sent after the last that arrived are not counted: they were lost, or still on their
way. The column `censored` and a remark on the value count them, and where nothing at all arrived
the share has no value. (iperf3 counts a duplicate as a late datagram, and as one loss less.) J: the
interarrival jitter, with D the difference between the transit times of two consecutive arrivals,

    J := J + (|D| - J) / 16

Unit: 1 (datagrams.jitter: s). Source: RFC 3550, section 6.4.1 (jitter); RFC 4737, section 3.3
(reordering); RFC 5560, section 5.1 (duplicates).
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import US
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Presentation, Value, asked, declared

LEFT_OUT = "datagrams were sent after the last that arrived and are left out, lost or on their way"
LOST = declared(
    "datagrams.lost",
    "share of the datagrams that never arrived",
    LEFT_OUT,
    bounds="fraction",
    shown=Presentation(is_percent=True),
)
REORDERED = declared("datagrams.reordered", "share of those that arrived late")
DUPLICATES = declared("datagrams.duplicates", "copies per datagram that arrived")
JITTER = declared("datagrams.jitter", "variation of the transit time at the end of the flow")
VALUES = (LOST, REORDERED, DUPLICATES, JITTER)
MANY = 0.01
"""Delays may have a remark where a larger share of the datagrams is on its way at the end."""


def left_out(flow: FlowRecord) -> tuple[int, int]:
    """Return how many datagrams were sent after the last that arrived, and how many in all."""
    received = flow.endpoints.reports["received"]
    known = sum(e["packets"] + e["lost"] for e in received)
    sent = sum(e["packets"] for e in flow.endpoints.reports["sent"])
    return max(0, sent - known), sent


def left_out_of(measurement: Measurement, flow: FlowRecord, delays_s: Floats) -> tuple[int, int]:
    """Return the same where the delays that are known are too short without these; else none.

    They are too short where the queue still grows at the flow's end: over 1 % are left out, and of
    the last delays, as many as those, half exceed all earlier ones. delays_s: in the order in which
    datagrams came.
    """
    left, sent = left_out(flow)
    if left <= MANY * sent or measurement.until_s < flow.end_s:
        return 0, 0
    earlier, last = delays_s[:-left], delays_s[-left:]
    grows = not len(earlier) or np.median(last) > np.max(earlier)
    return (left, sent) if grows else (0, 0)


def _of_flow(flow: FlowRecord) -> tuple[MetricValue, ...]:
    received = flow.endpoints.reports["received"]
    arrived = sum(e["packets"] for e in received)
    if not arrived:
        over_udp = received or flow.plan.transport == "udp"
        reason = "no datagram arrived" if over_udp else "the flow is not over UDP"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    missing = sum(e["lost"] for e in received)
    return (
        LOST.of(missing / (arrived + missing), flow.name, censored=left_out(flow)),
        _share(REORDERED, flow, [e["reordered"] for e in received], arrived),
        _share(DUPLICATES, flow, [e["duplicates"] for e in received], arrived),
        JITTER.of(fmean(e["jitter_us"] for e in received if e["packets"]) * US, flow.name),
    )


def _share(
    value: Value, flow: FlowRecord, counts: Sequence[int | None], arrived: int
) -> MetricValue:
    """Return counts as a share of the datagrams that arrived; no value if a client does not report
    one.
    """
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return value.of(None, flow.name, f"{flow.plan.workload.kind} does not count them")
    return value.of(sum(known) / arrived, flow.name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return what the clients of the requested flows counted (default: all flows over UDP)."""
    flows = asked(measurement, request, lambda flow: flow.plan.transport == "udp")
    if not flows:
        return tuple(value.of(None, None, "no flow is over UDP") for value in VALUES)
    return tuple(value for flow in flows for value in _of_flow(flow))


METRIC = Metric("datagrams", VALUES, compute)
