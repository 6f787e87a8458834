"""Round-trip time of a flow's packets.

    rtt(p) = t_ack(p) - t_sent(p)
    rtt.mean, rtt.min, rtt.p5 ... rtt.p99 = over the packets p transmitted after the warm-up
    rtt.base = median of the pings

t_sent: when its transmission on its sender's link begins, so neither pacing nor a queue inside the
host counts. t_ack: when the first ACK that covers it arrives there, cumulative or selective; the
receiver's delay of an ACK is part of it. Over TCP both are captured. A segment of which any byte
was transmitted twice is left out (Karn): which transmission an ACK answers is unknown. Over QUIC,
whose ACKs are encrypted, the server logs when each packet is acknowledged, and the capture says
when it was transmitted; its packets are never transmitted twice. A lost packet has no RTT. Only TCP
segments with payload and QUIC packets that ask for an ACK count. Where proxies split a connection,
it is the one from the server to its proxy. On an idle path it is the propagation both ways, and the
times that the links take to send the packet and its ACK. Where the sender's own link is the
bottleneck, its queue is in the host, and no capture sees a packet before it: only pings have an RTT
there, from the moment at which their program sends them, which their echoes bring back. pings:
small packets between the flow's hosts on the idle network before the epoch, which measure the base
RTT without queueing. The packets of a flow `ping` that are on their way when it ends have no RTT:
as of `one_way_delay`, a remark counts them where a queue still grows. `srtt` is what the sender
makes of it. Percentiles interpolate linearly; the 95th needs 20 values, the 99th 100.

A flow over Multipath TCP has rtt.subflow for each of its paths, named after the flow and the path,
`one-wifi`: the mean over the packets that its subflows transmitted there.

Over time: the mean of the packets transmitted in each slot of 100 ms. The curve `distribution` has
the whole distribution: x is the RTT that a share y of the packets does not exceed, in steps of 0.5
%; scale is the number of packets.

Unit: s. Source: RFC 2681 (round-trip delay) with the ACK as the answer; Karn and Partridge,
Improving round-trip time estimates in reliable transport protocols, 1987; RFC 2018 (SACK); RFC
9002, section 5.1; measurement.md, rules 1 and 14.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.compiler.plan import MetricRequest, Subflow
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.results import MetricValue

from .base import Course, Metric, declared, per_flow
from .datagrams import LEFT_OUT, left_out_of
from .distribution import TOO_FEW, curves_of, percentile_values, percentiles, stored

MEAN = declared("rtt.mean", "mean RTT of the packets", LEFT_OUT)
MIN = declared("rtt.min", "smallest RTT of a packet")
BASE = declared("rtt.base", "median round trip of pings on the idle network")
SUBFLOW = declared("rtt.subflow", "mean RTT of the packets on one path of a flow over MPTCP")
PERCENTILES = percentile_values("rtt", "the packets' RTTs", censoring=LEFT_OUT)


def _rtts(measurement: Measurement, flow: FlowRecord, path: Subflow | None = None) -> Floats | str:
    """Return the RTTs of the packets that count, s, or why there are none."""
    trips = measurement.round_trips(flow, path)
    rtts: Floats = trips.rtt_s[measurement.counts(trips.sent_s)]
    return rtts if len(rtts) else trips.unknown or f"no packet was acknowledged {measurement.when}"


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    pings = flow.pings.rtts_s if flow.pings else np.empty(0)
    base = BASE.of(float(np.median(pings)) if len(pings) else None, flow.name, "no ping came back")
    rtts = _rtts(measurement, flow)
    values = (MEAN, MIN, *PERCENTILES)
    if isinstance(rtts, str):
        mean, least, *rest = (value.of(None, flow.name, rtts) for value in values)
    else:
        numbers = (float(rtts.mean()), float(rtts.min()), *percentiles(rtts))
        left = left_out_of(measurement, flow, rtts)
        mean, least, *rest = (
            value.of(n, flow.name, TOO_FEW, censored=left if value.censoring else (0, 0))
            for value, n in zip(values, numbers, strict=True)
        )
    return (mean, least, base, *rest, *_of_subflows(measurement, flow))


def _of_subflows(measurement: Measurement, flow: FlowRecord) -> Iterator[MetricValue]:
    for path in flow.plan.subflows:
        rtts = _rtts(measurement, flow, path)
        mean, reason = (None, rtts) if isinstance(rtts, str) else (float(rtts.mean()), "")
        yield SUBFLOW.of(mean, f"{flow.name}-{path.name}", reason)


def traces(measurement: Measurement, request: MetricRequest) -> tuple[Trace, ...]:
    """Return the mean RTT of each requested flow in each slot; none where nothing was
    transmitted.
    """
    found = []
    for flow in measurement.sessions(request.sessions):
        trips = measurement.round_trips(flow)
        if len(trips.sent_s):
            # A transmission on the edge of two slots is in the later one, whatever its last digit.
            slot = np.floor(trips.sent_s / SLOT_S + 1e-9).astype(np.int64)
            slots, which = np.unique(slot, return_inverse=True)
            means: Floats = np.bincount(which, trips.rtt_s) / np.bincount(which)
            found.append(Trace(MEAN.name, flow.name, slots.astype(np.float64) * SLOT_S, means))
    return tuple(found)


curves = curves_of("rtt", lambda measurement, flow, _: _rtts(measurement, flow))


METRIC = Metric(
    "rtt",
    (MEAN, MIN, BASE, *PERCENTILES, SUBFLOW),
    per_flow(_of_flow),
    traces,
    curves,
    course=Course(
        table="traces",
        where="metric = 'rtt.mean{mark}'",
        value="avg(value)",
        meaning="mean of a flow's RTTs in each slot of 100 ms",
    ),
    distribution=stored(
        "rtt",
        "packets that were transmitted {when} and acknowledged",
        "packets",
        "have an RTT of at most this",
    ),
)
