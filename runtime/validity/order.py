"""Packets arrive once and in order, except those that the plan copies or lets overtake others."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.runtime.measurement import Measurement

from .captures import of_flows
from .finding import Finding
from .losses import LossCount


def copies(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: as many packets arrive twice as the plan's probability explains.

    A packet is copied before losses apply, and each of the two can be lost.
    """
    for queue in measurement.queues:
        twice = int((queue.behind.strangers & of_flows(measurement, queue, queue.delivered)).sum())
        planned = measurement.paths.impairment_behind(queue.place)
        if planned is None or not planned.duplicate:
            if twice:
                reason = f"{twice} packets were delivered but not captured at its exit"
                yield Finding("invalid", f"{queue.name}: {reason}")
            continue
        counted = of_flows(measurement, queue, queue.left) & ~queue.behind.pending
        both = planned.duplicate * (1 - planned.loss) ** 2
        if not LossCount(both, int(counted.sum()), twice).plausible:
            yield Finding(
                "invalid",
                f"{twice} of {counted.sum()} packets arrived twice behind {queue.name};"
                f" a probability of {both:g} does not explain that",
            )


def overtaking(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: netem lets as many packets skip its delay as the plan's probability explains."""
    for place, interface in sorted(measurement.paths.interfaces.items()):
        after = measurement.qdiscs_after.get(place, ())[:1]
        if interface.impairment is None or not after:
            continue
        before = measurement.qdiscs_before.get(place, ())[:1]
        sent = after[0].sent_packets - sum(c.sent_packets for c in before)
        skipped = after[0].requeues - sum(c.requeues for c in before)
        if not LossCount(interface.impairment.reorder, sent, skipped).plausible:
            yield Finding(
                "invalid",
                f"{skipped} of {sent} packets skipped the delay at {'/'.join(place)};"
                f" a probability of {interface.impairment.reorder:g} does not explain that",
            )
