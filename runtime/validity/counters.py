"""A cell without captures: what its verdict rests on, and what the counters of its queues can show.

Nothing is known about individual packets: neither the rate while packets wait, nor delay, order and
losses behind the queue. What is left: the queues' own counters (bytes here, drops in `loss`), the
pings before the epoch, TCP_INFO, the endpoints' reports and the CPU load.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.runtime.measurement import Measurement

from .finding import Finding, see
from .service import RATE_TOLERANCE

DRAINING_S = 1.0


def counters(measurement: Measurement) -> Iterator[Finding]:
    """Rules 14, 20: without captures, say so; no bottleneck carried more than its rate allows."""
    if measurement.captured:
        return
    yield Finding(
        "flagged",
        "no packets were captured: the verdict rests on the queues' counters, pings, samples of the"
        " senders and the endpoints; the service rate, delay and order of packets were not checked"
        " (`captures = full` in the spec checks them)",
    )
    for queue in measurement.queues:
        before = {c.handle: c for c in measurement.qdiscs_before.get(queue.place, ())}
        for after in measurement.qdiscs_after.get(queue.place, ())[:1]:
            start = before.get(after.handle)
            sent_bits = 8 * (after.sent_bytes - (start.sent_bytes if start else 0))
            span_s = np.array([0.0, measurement.ended_s + DRAINING_S])
            most_bits = float(queue.history.capacity_bits(span_s)[0])
            if sent_bits > most_bits * (1 + RATE_TOLERANCE):
                yield Finding(
                    "invalid",
                    f"the bottleneck {queue.name} sent {sent_bits / 8:.0f} bytes, more than the"
                    f" {most_bits / 8:.0f} that its rate allows: its shaper has another rate;"
                    f" {see('qdisc-after.json')}",
                )
