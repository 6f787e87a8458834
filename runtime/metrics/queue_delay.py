"""Time that a flow's packets spent in the bottleneck queue.

    delay(p) = t_exit(p) - t_entry(p)

over the packets p of the flow's data direction that left the queue after the warm-up, those
included that waited in it at the cell's end and left while it drained. Entry is the arrival at the
bottleneck's router, exit the moment at which the queue hands the packet to the link, so
serialisation and propagation are not included. Where the queue dropped some of several identical
packets, all of them are left out, unless the order of packets or the limit of a `fifo` says which
ones were dropped. Percentiles interpolate linearly; the 95th needs 20 values, the 99th 100. The
curve `distribution` has the whole distribution: x is the delay that a share y of the packets does
not exceed, in steps of 0.5 %; scale is the number of packets.

Unit: s. Source: RFC 7679 (one-way delay) between the two capture points; Hyndman and Fan, Sample
quantiles in statistical packages, 1996, definition 7; measurement.md, rule 14.
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue

from .base import UNSEEN, Metric, declared, per_flow
from .distribution import TOO_FEW, curves_of, percentile_values, percentiles, stored

MEAN = declared("queue_delay.mean", "mean time in the bottleneck queue")
MAX = declared("queue_delay.max", "longest time in the bottleneck queue")
VALUES = (MEAN, *percentile_values("queue_delay", "the time in the bottleneck queue"), MAX)


NONE = "no packet of the flow passed the bottleneck"
ALIKE = "the flow's packets are alike, and the queue dropped some: give each another content"


def _delays(measurement: Measurement, flow: FlowRecord) -> Floats:
    """Return the queueing delay of each packet of a flow that counts, s."""
    each = (
        one.queue.delay_s[one.left & measurement.counts(one.queue.left_s)] for one in flow.passages
    )
    delay: Floats = np.concatenate([*each])
    known: Floats = delay[np.isfinite(delay)]
    return known


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    delay = _delays(measurement, flow)
    if not len(delay):
        passed = any(
            bool((one.left & measurement.counts(one.queue.left_s)).any()) for one in flow.passages
        )
        reason = UNSEEN if flow.queue.blind else ALIKE if passed else NONE
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    numbers = (delay.mean(), *percentiles(delay), delay.max())
    return tuple(
        value.of(float(n), flow.name, TOO_FEW) for value, n in zip(VALUES, numbers, strict=True)
    )


curves = curves_of("queue_delay", lambda measurement, flow, _: _delays(measurement, flow))


METRIC = Metric(
    "queue_delay",
    VALUES,
    per_flow(_of_flow),
    curves=curves,
    distribution=stored(
        "queue_delay",
        "packets that left the bottleneck queue {when}",
        "packets",
        "waited at most this long",
    ),
)
