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
it is the one from the server to its proxy. On an idle path it is the propagation both
ways, and the times that the links take to send the packet and its ACK. Where the sender's own link
is the bottleneck, its queue is in the host, and no capture sees a packet before it: only pings have
an RTT there, from the moment at which their program sends them, which their echoes bring back.
pings: small packets between the flow's hosts on the idle network before the epoch, which measure
the base RTT without queueing. `srtt` is what the sender makes of it. Percentiles interpolate
linearly.

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

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.measurement.series import Curve, Floats, Trace

from .base import Course, Distribution, Metric, Value, per_flow
from .distribution import distribution, percentile_values, percentiles

MEAN = Value("rtt.mean", "s", "mean RTT of the packets")
MIN = Value("rtt.min", "s", "smallest RTT of a packet")
BASE = Value("rtt.base", "s", "median round trip of pings on the idle network")
SUBFLOW = Value("rtt.subflow", "s", "mean RTT of the packets on one path of a flow over MPTCP")
PERCENTILES = percentile_values("rtt", "s", "the packets' RTTs")


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    pings = flow.pings.rtts_s if flow.pings else np.empty(0)
    base = BASE.of(float(np.median(pings)) if len(pings) else None, flow.name, "no ping came back")
    trips = measurement.round_trips(flow)
    rtts = trips.rtt_s[measurement.counts(trips.sent_s)]
    if not len(rtts):
        none = f"no packet was acknowledged {measurement.when}"
        values = (MEAN, MIN, *PERCENTILES)
        mean, least, *rest = (v.of(None, flow.name, trips.unknown or none) for v in values)
        return (mean, least, base, *rest, *_of_subflows(measurement, flow))
    numbers = percentiles(rtts)
    return (
        MEAN.of(float(rtts.mean()), flow.name),
        MIN.of(float(rtts.min()), flow.name),
        base,
        *(value.of(n, flow.name) for value, n in zip(PERCENTILES, numbers, strict=True)),
        *_of_subflows(measurement, flow),
    )


def _of_subflows(measurement: Measurement, flow: FlowRecord) -> Iterator[MetricValue]:
    for path in flow.plan.subflows:
        trips = measurement.round_trips(flow, path)
        rtts = trips.rtt_s[measurement.counts(trips.sent_s)]
        none = trips.unknown or f"no packet was acknowledged {measurement.when}"
        mean = float(rtts.mean()) if len(rtts) else None
        yield SUBFLOW.of(mean, f"{flow.name}-{path.name}", none)


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


def curves(measurement: Measurement, request: MetricRequest) -> tuple[Curve, ...]:
    """Return the distribution of each requested flow; none for a flow without packets."""
    trips = ((f.name, measurement.round_trips(f)) for f in measurement.sessions(request.sessions))
    return tuple(
        distribution("rtt", name, found.rtt_s[measurement.counts(found.sent_s)])
        for name, found in trips
        if measurement.counts(found.sent_s).any()
    )


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
    distribution=Distribution(
        table="curves",
        column="x",
        where="curve = 'distribution' AND metric = 'rtt{mark}'",
        there="rtt.mean",
        things="packets that were transmitted {when} and acknowledged",
        word="packets",
        took="have an RTT of at most this",
        counted="scale",
    ),
)
