"""The metric `policing`: tokens taken, packets dropped, the bucket's level, and small windows.

    policing.tokens       = T / t
    policing.loss         = D / A
    policing.drops        = D
    policing.level        = mean of L(t)
    policing.empty        = share of time with L(t) <= 0
    policing.small_window = S / N
    policing.unexposed    = M + U

T: tokens taken by the flow's packets during t, the time from the end of the warm-up to the end of
the cell; A: the flow's packets that arrived at the policer in that time; D: those that it dropped;
L: level of the user's bucket at the end of each slot of 100 ms. Flows of one user share a bucket
and so have the same level.

S: samples (every 100 ms, of each connection) of a congestion window of at most two packets; N: all
samples; both after the warm-up. With so small a window only a timeout detects a loss, and the
sender cannot slow down further. A flow that nothing polices has only policing.small_window.

M: marks that were never re-exposed by the end of the cell; U: lost data packets that were never
retransmitted: what a connection still owes when it ends (RFC 7786, section 6). Both cover the whole
cell.

The policer has a bucket of depth d for each user, which begins full and fills at r tokens/s. A
packet with a re-echo takes one token. A packet that arrives at level L is dropped with probability
clamp(-L / d, 0, 1) by a soft policer, clamp(-10 L / d, 0, 1) by a mild one, and by a strict one 1
at L <= 0, else 0.

A `token_bucket` polices bytes: of it a flow has policing.loss, which stands for `policing` there,
and policing.drops. Of several on its way, the drops are added up, and the loss is the share that
does not get through all of them.

Time series: policing.level, one per flow.

Unit: tokens/s, 1, packets, tokens, 1, 1 and packets. Source: Sanhaji et al., ConEx Performance
Evaluation, 2015; RFC 7713, RFC 7786.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics.base import Metric, Presentation, declared, per_flow

from .record import PolicerRecord, buckets_of, policers_of, unexposed_losses

TOKENS = declared(
    "policing.tokens",
    "tokens that its packets take per second",
    shown=Presentation(stand_in="policing.loss"),
)
LOSS = declared(
    "policing.loss",
    "share of its packets that the policer dropped",
    shown=Presentation(is_percent=True),
)
DROPS = declared("policing.drops", "packets that the policer dropped")
LEVEL = declared("policing.level", "mean level of its user's bucket")
EMPTY = declared("policing.empty", "share of time with an empty bucket")
SMALL = declared("policing.small_window", "share of samples with a window of at most two packets")
UNEXPOSED = declared("policing.unexposed", "losses and marks never exposed")
VALUES = (TOKENS, LOSS, DROPS, LEVEL, EMPTY, SMALL, UNEXPOSED)
SMALL_PACKETS = 2


def policer_of(measurement: Measurement, flow: FlowRecord) -> PolicerRecord | None:
    """Return the first policer that reads a flow; None if it is not policed."""
    for policer in policers_of(measurement):
        if policer.of_flow(flow.plan.name) is not None:
            return policer
    return None


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    small = SMALL.of(_small(measurement, flow), flow.name, "the sender has no sample of its window")
    policer = policer_of(measurement, flow)
    through, bucket_drops = _at_buckets(measurement, flow)
    if policer is None:
        policed = measurement.devices.get("policer")
        reason = "it is not policed" if policed else "no flow is policed"
        if through is not None:
            reason = "a token bucket polices bytes, and counts no congestion"
        known = {LOSS: None if through is None else 1 - through, DROPS: bucket_drops}
        others = (
            value.of(known.get(value), flow.name, reason) for value in VALUES if value is not SMALL
        )
        return (small, *others)
    ours = policer.of_flow(flow.plan.name)
    assert ours is not None
    counted = ours & measurement.counts(policer.arrival_s)
    length_s = min(measurement.ended_s, measurement.until_s) - measurement.begin_s
    _, levels = _levels(measurement, flow, policer)
    queue = next((q for q in measurement.seen_queues if q.place == policer.place), None)
    losses = unexposed_losses(policer, queue, ours)
    owed = None if losses is None else float(losses + policer.unexposed_marks(flow.plan.name))
    short = "the cell ends with its warm-up"
    return (
        TOKENS.of(
            float((counted & policer.charged).sum()) / length_s if length_s > 0 else None,
            flow.name,
            short,
        ),
        LOSS.of(
            policer.dropped_share(counted)
            if through is None
            else measurement.dropped_by_devices(flow),
            flow.name,
        ),
        DROPS.of(
            float((counted & policer.decisions.dropped).sum()) + (bucket_drops or 0), flow.name
        ),
        LEVEL.of(float(levels.mean()) if len(levels) else None, flow.name, short),
        EMPTY.of(float((levels <= 0).mean()) if len(levels) else None, flow.name, short),
        small,
        UNEXPOSED.of(
            owed, flow.name, "the policer is not at a bottleneck, so losses cannot be observed"
        ),
    )


def _at_buckets(measurement: Measurement, flow: FlowRecord) -> tuple[float | None, float | None]:
    """Return the share of a flow's packets that get through token buckets after the warm-up, and
    how many these drop; None where none comes to one.
    """
    passed, drops, met = 1.0, 0, False
    for bucket in buckets_of(measurement):
        came = bucket.counted(measurement, flow)
        if not came.any():
            continue
        dropped = int((came & bucket.dropped).sum())
        passed *= 1 - float(dropped / came.sum())
        drops += dropped
        met = True
    return (passed, float(drops)) if met else (None, None)


def _small(measurement: Measurement, flow: FlowRecord) -> float | None:
    samples = flow.endpoints.samples
    windows = samples.cwnd_packets[measurement.counts(samples.t_s) & flow.before_stop]
    windows = windows[np.isfinite(windows)]
    return float((windows <= SMALL_PACKETS).mean()) if len(windows) else None


def _levels(
    measurement: Measurement, flow: FlowRecord, policer: PolicerRecord
) -> tuple[Floats, Floats]:
    """Return times, s, and levels of a flow's bucket at the ends of the slots after the warm-up."""
    edges = measurement.edges(SLOT_S)[1:]
    last_s = min(measurement.ended_s, measurement.until_s)
    edges = edges[(edges > measurement.begin_s) & (edges <= last_s + 1e-9)]
    return edges, policer.levels(edges)[policer.bucket_of(flow.plan.name)]


def traces(measurement: Measurement, request: MetricRequest) -> tuple[Trace, ...]:
    """Return the level of the bucket of each requested flow over time."""
    found = []
    for flow in measurement.sessions(request.sessions):
        policer = policer_of(measurement, flow)
        if policer is not None:
            found.append(Trace(LEVEL.name, flow.name, *_levels(measurement, flow, policer)))
    return tuple(found)


METRIC = Metric("policing", VALUES, per_flow(_of_flow), traces)
