"""A cell without captures: what its verdict rests on, and what the counters of its queues can show.

Nothing is known about individual packets: neither the rate while packets wait, nor delay, order and
losses behind the queue. What is left: the queues' own counters (bytes here, drops in `loss`), the
pings before the epoch, TCP_INFO, the endpoints' reports and the CPU load.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.cell.queues import queue_bytes
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.queues import QueueRecord

from .finding import Finding, flagged, invalid, see
from .service import RATE_TOLERANCE

DRAINING_S = 1.0
"""How long programs may take to end, s."""


def counters(measurement: Measurement) -> Iterator[Finding]:
    """Rules 14, 20: without captures, say so; no bottleneck carried more than its rate allows."""
    if measurement.captured:
        return
    yield flagged(
        "no packets were captured: the verdict rests on the queues' counters, pings, samples of the"
        " senders and the endpoints; the service rate, delay and order of packets were not checked"
        " (`captures = full` in the spec checks them)"
    )
    for queue in measurement.queues:
        before = {c.handle: c for c in measurement.qdiscs_before.get(queue.place, ())}
        for after in measurement.qdiscs_after.get(queue.place, ())[:1]:
            start = before.get(after.handle)
            sent_bits = 8 * (after.sent_bytes - (start.sent_bytes if start else 0))
            span_s = np.array([0.0, measurement.ended_s + _draining_s(measurement, queue)])
            most_bits = float(queue.history.capacity_bits(span_s)[0])
            if sent_bits > most_bits * (1 + RATE_TOLERANCE):
                yield invalid(
                    f"the bottleneck {queue.name} sent {sent_bits / 8:.0f} bytes, more than the"
                    f" {most_bits / 8:.0f} that its rate allows: its shaper has another rate;"
                    f" {see('qdisc-after.json')}"
                )


def _draining_s(measurement: Measurement, queue: QueueRecord) -> float:
    """Return how long a queue may go on sending after the end, s: what it holds then, and what is
    under way to it.
    """
    slowest_bps, planned = measurement.paths.slowest_bps(queue.place), queue.interface.queue
    assert slowest_bps is not None and planned is not None, "a bottleneck"
    holds_s = 8 * queue_bytes(planned, queue.interface.frame_bytes) / slowest_bps
    rtt_s = max(flow.plan.base_rtt_ns for flow in measurement.flows) * NS
    return DRAINING_S + rtt_s + holds_s
