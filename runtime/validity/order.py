"""Packets leave a queue in its order, and arrive once and in order unless the plan says
otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.compiler.plan import Impairment
from fairc.runtime.measurement import Measurement

from .buffers import ORDER_S
from .captures import of_flows
from .expected_losses import LossCount, unexplained
from .finding import Finding, invalid, or_busy, see

MOST_OVERTAKEN = 1e-3
"""Share of frames that may leave a queue out of order before the cell is invalid. On a virtual
clock none does; on a machine with several processors, frames may be queued long after they were
captured.
"""


def queue_order(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: frames leave a queue in the order in which they came; a fair queue, those of each
    flow.
    """
    for queue in measurement.seen_queues:
        apart_s = ORDER_S + measurement.held_s(queue.place)
        overtaken = int(queue.overtaken(apart_s).sum())
        if overtaken:
            grave = overtaken > MOST_OVERTAKEN * len(queue.left)
            yield Finding(
                "invalid" if grave else "flagged",
                f"{overtaken} of {len(queue.left)} frames left {queue.name} after frames that had"
                f" come more than {apart_s * 1e6:.3g} us later: another queue was in force"
                f" ({see('qdisc-after.json')}){or_busy(measurement)}",
            )


def copies(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: as many packets arrive twice as the plan's probability explains.

    A packet is copied before losses apply, and each of the two can be lost.
    """
    for queue in measurement.queues:
        twice = int((queue.behind.strangers & of_flows(measurement, queue, queue.delivered)).sum())
        place = measurement.paths.delivery(queue.place)
        hops = [] if place is None else [*measurement.histories[place].impairments()]
        both = np.array([_both(planned) for _, planned in hops])
        if place is None or not both.any():
            if twice:
                yield invalid(
                    f"{queue.name}: {twice} packets were delivered but not captured at its exit:"
                    " the link copies packets that the plan does not copy, or the capture began"
                    " late"
                )
            continue
        counted = of_flows(measurement, queue, queue.left) & ~queue.behind.pending
        stages = measurement.histories[place].stage(queue.sent_s[counted])
        # Where the loss changes, its mean over the packets: their number varies less than with it.
        mean = float(both[stages].mean()) if len(stages) else 0.0
        count = LossCount(mean, int(counted.sum()), twice)
        if not count.plausible_among(len(measurement.queues)):
            yield invalid(
                f"{twice} of {counted.sum()} packets arrived twice behind {queue.name};"
                f" {unexplained(mean)}: the hop has another one;"
                f" {see('qdisc-after.json')}"
            )


def _both(planned: Impairment | None) -> float:
    """Return the probability that a packet is copied and both arrive."""
    return 0.0 if planned is None else planned.duplicate * (1 - planned.loss) ** 2


def overtaking(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: netem lets as many packets skip its delay as the plan's probability
    explains.
    """
    interfaces = sorted(measurement.paths.interfaces.items())
    tests = sum(bool(each.impairment and each.impairment.reorder) for _, each in interfaces)
    for place, interface in interfaces:
        after = measurement.qdiscs_after.get(place, ())[:1]
        if interface.impairment is None or not after:
            continue
        before = measurement.qdiscs_before.get(place, ())[:1]
        sent = after[0].sent_packets - sum(c.sent_packets for c in before)
        skipped = after[0].requeues - sum(c.requeues for c in before)
        states = [interface.impairment]
        states += [change.impairment for change in interface.changes if change.impairment]
        shares = {state.skipping for state in states}
        # Where it varies, between none and as many as the largest probability explains.
        most = max(shares)
        varies = len(shares) > 1 and skipped <= most * sent
        counted = interface.impairment.reorder == 1 and len(states) == 1  # nothing is drawn
        expected = sent // interface.impairment.gap
        # A packet that skipped is requeued at once: it may still count as waiting.
        count = LossCount(most, sent, skipped)
        fits = abs(skipped - expected) <= 1 if counted else count.plausible_among(tests)
        if not varies and not fits:
            yield invalid(
                f"{skipped} of {sent} packets skipped the delay at {'/'.join(place)};"
                f" {unexplained(most)}: the hop has another one; {see('qdisc-after.json')}"
            )
