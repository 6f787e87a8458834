"""A queue holds its limit: no more, and a fifo no less."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.queues import QueueRecord

from .finding import Finding


def _in_policer(measurement: Measurement, queue: QueueRecord) -> int:
    """Return the most packets that may have been in the policer in front of a queue.

    They are captured before the policer, so they seem to wait in the queue.
    """
    late_s = max(
        (p.total.late_s for p in measurement.policers if p.place == queue.place and p.total),
        default=0.0,
    )
    came_s = queue.seconds(queue.entered)
    if not late_s or not len(came_s):
        return 0
    within = np.searchsorted(came_s, came_s + late_s, side="right") - np.arange(len(came_s))
    return int(within.max())


ORDER_S = 20e-6
"""Packets captured this close together may be queued in a different order, where computing takes time.

Seen on `vm`: of three packets within 5 us the first was dropped, after the two captured behind it.
"""


def _may_be_before(queue: QueueRecord) -> NDArray[np.int64]:
    """Return for each drop how many packets captured right after it may have been queued before it."""
    came_s = queue.seconds(queue.entered)
    lost = queue.through.lost
    kept_s = np.sort(came_s[~lost])
    dropped_s = came_s[lost]
    return np.searchsorted(kept_s, dropped_s + ORDER_S, side="right") - np.searchsorted(
        kept_s, dropped_s, side="right"
    )


def buffer(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the queue holds its limit and no more; a fifo drops only what does not fit.

    A packet is captured before it is queued and after it has been sent, so one full frame more or
    less can appear to wait. An AQM may drop at any time.
    """
    for queue in measurement.seen_queues:
        planned = queue.interface.queue
        if planned is None or planned.kind == "cake":  # its limit is memory, not packets
            continue
        most_packets, most_bytes = queue.largest_backlog
        met_packets, met_bytes = queue.met
        if planned.limit_bytes is not None:
            most, limit, unit = most_bytes, planned.limit_bytes, "bytes"
            slack = queue.interface.frame_bytes
            after = met_bytes + queue.entered.frame_bytes[queue.through.lost]
        else:
            most, limit, slack, unit = most_packets, planned.limit_packets or 0, 1, "packets"
            after = met_packets + 1
        before_it = _in_policer(measurement, queue) * (slack if unit == "bytes" else 1)
        if most > limit + slack + before_it:
            yield Finding(
                "invalid", f"{most} {unit} waited at {queue.name}, more than its limit of {limit}"
            )
        after = after + _may_be_before(queue) * (slack if unit == "bytes" else 1)
        early = int((after <= limit - slack).sum())
        if early and planned.kind == "fifo" and not queue.blind:
            yield Finding("invalid", f"{queue.name} dropped {early} packets that had room")
