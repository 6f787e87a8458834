"""The bottleneck serves at its rate while packets wait, and on time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.cell.links import LATE_NS
from fairc.compiler.passes.freeze import SHAPER_SLACK_NS
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.changes import NS, due
from fairc.runtime.measurement.queues import QueueRecord

from .finding import Finding

RATE_TOLERANCE = 0.01
LATE_S = 10e-3
LATE_CHANGE_S = 5e-3
# Fewer frames than this, sent back to back, do not determine the service rate to 1 %.
MIN_BACKLOGGED_FRAMES = 200


def service_rate(measurement: Measurement) -> Iterator[Finding]:
    """Rules 3, 20: the bottleneck serves at its rate, within 1 %, while packets wait."""
    for queue in measurement.seen_queues:
        frames, slowest_bps, fastest_bps = backlogged_rate(queue)
        if frames < MIN_BACKLOGGED_FRAMES:
            continue
        nearest_bps = min(max(queue.rate_bps, slowest_bps), fastest_bps)
        if _off(nearest_bps, queue.rate_bps) > RATE_TOLERANCE:
            yield Finding(
                "invalid",
                f"the bottleneck {queue.name} served {nearest_bps:.6g} bit/s while packets waited,"
                f" not {queue.rate_bps:.6g} bit/s",
            )


def backlogged_rate(queue: QueueRecord) -> tuple[int, float, float]:
    """Return how many frames left after one that they had waited behind, and two bounds on their rate, bit/s.

    A frame that arrived before the one ahead of it left keeps the shaper busy from that departure to its
    own. A busy period is known only to within what the bucket holds beyond the first frame: tokens saved
    before it, or a timer that was late for its last frame. So the rate lies between the two bounds,
    which converge in long periods; NaN without such frames. On a link that changes, the time that the
    frames should take is scaled to the plan's rate, and frames that left during a change are left out.
    """
    left, arrival, sizes = queue.left_s, queue.arrival_s, queue.left.frame_bytes
    # A frame whose arrival was not seen is taken to have waited.
    waited = ~(arrival[1:] > left[:-1]) & queue.history.settled(left[:-1])
    frames, bits = int(waited.sum()), queue.rate_bps * float(queue.spacing_s[1:][waited].sum())
    if not frames or queue.interface.shaper is None:
        return 0, float("nan"), float("nan")
    time_s = float(np.diff(left)[waited].sum())
    first = np.flatnonzero(waited & ~np.concatenate(([False], waited[:-1])))
    if queue.interface.changes:  # this shaper saves only its slack, at most that of real time
        play_s = len(first) * (SHAPER_SLACK_NS + LATE_NS) * NS
    else:
        bucket_bytes = max(queue.bucket_bytes, queue.interface.shaper.burst_bytes)
        saved = np.maximum(bucket_bytes - sizes[first], 0)
        play_s = float(8 * saved.sum() / queue.rate_bps)
    fastest_bps = bits / (time_s - play_s) if time_s > play_s else float("inf")
    return frames, bits / (time_s + play_s), fastest_bps


def _off(value: float, target: float) -> float:
    return abs(value - target) / target


def service_schedule(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: the shaper keeps to its schedule within 10 ms."""
    for queue in measurement.seen_queues:
        idle_s = _late_service(queue)
        if idle_s > LATE_S:
            yield Finding(
                "invalid",
                f"the shaper of {queue.name} let packets wait {idle_s * 1e3:.1f} ms too long",
            )


def _late_service(queue: QueueRecord) -> float:
    """Return the longest wait of a frame at the head of the queue beyond its own spacing, s."""
    left, arrival = queue.left_s, queue.arrival_s
    ready = np.fmax(left[:-1], arrival[1:])
    waited_s = left[1:] - ready - queue.spacing_s[1:]
    # How long a frame should take is not known where the link was changing.
    return float(waited_s[queue.history.settled(left[:-1])].max(initial=0.0))


def changes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: links change when the plan says so, within 5 ms."""
    for place, history in sorted(measurement.histories.items()):
        late_s = max((done.late_s for done, _ in history.done), default=0.0)
        if late_s > LATE_CHANGE_S:
            yield Finding(
                "invalid", f"the link at {'/'.join(place)} changed {late_s * 1e3:.1f} ms late"
            )
    for place, at_s in due(measurement.histories, measurement.ended_s - LATE_CHANGE_S):
        yield Finding("invalid", f"the link at {'/'.join(place)} did not change at {at_s:g} s")
