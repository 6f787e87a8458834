"""A queue holds its limit: no more, and a fifo no less."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.matching import ORDER_NS
from fairc.runtime.measurement.queues import QueueRecord, disciplines_of

from .finding import Finding, invalid, see

ORDER_S = ORDER_NS * 1e-9


def _held(measurement: Measurement, queue: QueueRecord) -> int:
    """Return the most packets that may have been in a device in front of a queue.

    They are captured before the device, so they seem to wait in the queue.
    """
    late_s = measurement.held_s(queue.place)
    came_s = queue.seconds(queue.entered)
    if not late_s or not len(came_s):
        return 0
    within = np.searchsorted(came_s, came_s + late_s, side="right") - np.arange(len(came_s))
    return int(within.max())


_CLASSES = 3


def _has_classes(measurement: Measurement) -> bool:
    """Return whether packets may differ in their class of service."""
    interfaces = measurement.paths.interfaces.values()
    marked = any(each.arriving_dscp is not None for each in interfaces)
    return marked or any(flow.plan.dscp for flow in measurement.flows)


def buffer(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the queue holds its limit and no more; a fifo drops only what does not fit.

    A packet is captured before it is queued and after it has been sent, so one full frame more or
    less can appear to wait. Some disciplines hold more than their limit. An AQM may drop at any
    time. What happens after the end of the flows
    counts nowhere and is not judged.
    """
    for queue in measurement.seen_queues:
        planned, disciplines = queue.interface.queue, disciplines_of(queue.interface)
        if planned is None or any(each.limit_is_memory for each in disciplines):
            continue
        most_packets, most_bytes = queue.largest_backlog(measurement.ended_s)
        met_packets, met_bytes = queue.met(ORDER_S)
        if planned.limit_bytes is not None:
            most, limit, unit = most_bytes, planned.limit_bytes, "bytes"
            slack = queue.interface.frame_bytes
            after = met_bytes + queue.entered.frame_bytes[queue.through.lost]
        else:
            most, limit, slack, unit = most_packets, planned.limit_packets or 0, 1, "packets"
            after = met_packets + 1
        before_it = _held(measurement, queue) * slack
        of_class = any(each.limit_is_of_class for each in disciplines)
        classes = _CLASSES if of_class and _has_classes(measurement) else 1
        beyond = sum(each.beyond_packets for each in disciplines) * slack
        if most > limit * classes + slack + before_it + beyond:
            yield invalid(
                f"{most} {unit} waited at {queue.name}, more than its limit of {limit}: another"
                " limit was in force, or something else holds packets between the captures in front"
                f" of and behind the queue; {see('qdisc-after.json')}"
            )
        early = (after <= limit - slack) & (queue.drops_s <= measurement.ended_s)
        if early.any() and planned.is_drop_tail:
            at = int(np.flatnonzero(early)[np.argmin(after[early])])
            size = after[at] - (met_bytes if unit == "bytes" else met_packets)[at]
            yield invalid(
                f"{queue.name} dropped {early.sum()} packets that had room, one of them at"
                f" {queue.drops_s[at]:.6f} s with at most {after[at] - size} of {limit} {unit}"
                " waiting: another limit was in force, or they were dropped before they were"
                f" queued; {see('qdisc-after.json')}"
            )
