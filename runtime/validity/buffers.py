"""A queue holds its limit: no more, and a fifo no less."""

from __future__ import annotations

from collections.abc import Iterator

from fairc.runtime.measurement import Measurement

from .finding import Finding


def buffer(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the queue holds its limit and no more; a fifo drops only what does not fit.

    A packet is captured before it is queued and after it has been sent, so one full frame more or
    less can be seen to wait. An AQM may drop whenever it likes.
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
        if most > limit + slack:
            yield Finding(
                "invalid", f"{most} {unit} waited at {queue.name}, more than its limit of {limit}"
            )
        early = int((after <= limit - slack).sum())
        if early and planned.kind == "fifo" and not queue.blind:
            yield Finding("invalid", f"{queue.name} dropped {early} packets that would have fitted")
