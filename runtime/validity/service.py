"""The bottleneck serves at its rate while packets wait, and on time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc import mechanisms
from fairc.cell.links import EMULATED_SLACK_NS, VIRTUAL_SLACK_NS, bucket_bytes
from fairc.compiler.plan import OUTDATED
from fairc.runtime.engines import entering
from fairc.runtime.measurement import FlowRecord, Measurement, Passage
from fairc.runtime.measurement.changes import NS, due
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.measurement.slots import apportion

from .finding import Finding, busy, flagged, invalid, or_busy, see
from .schedule import LATE_S

RATE_TOLERANCE = 0.01
LATE_CHANGE_S = 5e-3
# Where timers are exact: what the clock's own reading takes, a nanosecond each time.
EXACT_S = 1e-6
SHARE_TOLERANCE = 1e-3
# Fewer frames than this, sent back to back, do not determine the service rate to 1 %.
MIN_BACKLOGGED_FRAMES = 200


def outdated(measurement: Measurement) -> Iterator[Finding]:
    """Rule 3: the cell is not of a version whose links sent a frame in no time."""
    interfaces = measurement.paths.interfaces.values()
    if any(each.shaper and each.shaper.burst_bytes for each in interfaces):
        yield flagged(OUTDATED)


def service_rate(measurement: Measurement) -> Iterator[Finding]:
    """Rules 3, 20: the bottleneck serves at its rate, within 1 %, while packets wait."""
    slack_s = measurement.processing.slack_ns * NS
    for queue in _shaped(measurement):
        frames, slowest_bps, fastest_bps = backlogged_rate(queue, slack_s)
        if frames < MIN_BACKLOGGED_FRAMES:
            continue
        nearest_bps = min(max(queue.rate_bps, slowest_bps), fastest_bps)
        if _off(nearest_bps, queue.rate_bps) > RATE_TOLERANCE:
            yield invalid(
                f"the bottleneck {queue.name} served {nearest_bps:.6g} bit/s while packets waited,"
                f" not {queue.rate_bps:.6g} bit/s: its shaper has another rate"
                f" ({see('qdisc-after.json')}){or_busy(measurement)}"
            )


def _shaped(measurement: Measurement) -> Iterator[QueueRecord]:
    """Yield the queues in front of shapers; media have checks of their own."""
    return (queue for queue in measurement.seen_queues if queue.aggregates is None)


def links(measurement: Measurement) -> Iterator[Finding]:
    """Yield what the `check.py` of each mechanism of links finds."""
    for found in mechanisms.load("links", "check"):
        yield from found.check(measurement)


def backlogged_rate(queue: QueueRecord, slack_s: float) -> tuple[int, float, float]:
    """Return how many frames left after one that they had waited behind, and two bounds on their
    rate, bit/s.

    A frame that arrived before the one ahead of it left keeps the link busy from that departure to
    its own. A busy period is known only to within what the shaper may save: the slack for timers
    that are late, and in a token bucket what it holds beyond the first frame. So the rate lies
    between the two bounds, which converge in long periods; NaN without such frames. The kernel's
    rounding may save up to 1 ns for each frame, too, which is much where frames last 50 ns. On a
    link that changes, the time that the frames should take is scaled to the plan's rate, and frames
    that left during a change are left out.
    """
    left, arrival = queue.left_s, queue.arrival_s
    # A frame whose arrival was not seen is taken to have waited.
    waited = ~(arrival[1:] > left[:-1]) & queue.history.settled(left[:-1])
    frames, bits = int(waited.sum()), queue.rate_bps * float(queue.spacing_s[1:][waited].sum())
    if not frames or queue.interface.shaper is None:
        return 0, float("nan"), float("nan")
    time_s = float(np.diff(left)[waited].sum())
    first = np.flatnonzero(waited & ~np.concatenate(([False], waited[:-1])))
    saved_s = np.full(len(first), slack_s)
    if queue.is_bucket:
        saved_s = np.maximum(_burst_s(queue, slack_s) - queue.serialisation_s[first], 0)
    rounding_s = float((queue.serialisation_s - queue.paced_ns * NS)[:-1][waited].sum())
    play_s = float(saved_s.sum()) + rounding_s
    if queue.shaped_s.any():  # one of two shapers may catch up what the other one took
        own, link = (each[:-1][waited].sum() for each in (queue.shaped_s, queue.serialisation_s))
        play_s += float(queue.spacing_s[1:][waited].sum()) - float(max(own, link))
    fastest_bps = bits / (time_s - play_s) if time_s > play_s else float("inf")
    return frames, bits / (time_s + play_s), fastest_bps


def _burst_s(queue: QueueRecord, slack_s: float) -> float:
    """Return for how long a token bucket can send what it has saved, s, counting the frame that it
    lets begin.
    """
    shaper, frame_bytes = queue.interface.shaper, queue.interface.frame_bytes
    assert shaper is not None
    if queue.interface.changes:  # it saves only its slack
        return 8 * frame_bytes / shaper.rate_bps + max(slack_s, EMULATED_SLACK_NS * NS)
    if shaper.depth_bytes is not None:
        return 8 * (shaper.depth_bytes + 1) / shaper.rate_bps  # tc counts in ticks of 64 ns
    planned = bucket_bytes(shaper.rate_bps, frame_bytes, round(slack_s / NS))
    return 8 * max(queue.bucket_bytes, planned) / shaper.rate_bps


def overrun(measurement: Measurement) -> Iterator[Finding]:
    """Rules 3, 20a: no link is faster than its rate, in any interval; a token bucket by no more
    than it holds.
    """
    slack_s = measurement.processing.slack_ns * NS
    for queue in measurement.seen_queues:
        allowed_s = slack_s + (LATE_S if slack_s > VIRTUAL_SLACK_NS * NS else EXACT_S)
        if queue.is_bucket:
            allowed_s += _burst_s(queue, slack_s)
        ahead_s = _ahead(queue) if queue.aggregates is None else 0.0
        if ahead_s > allowed_s and not queue.interface.changes:
            yield invalid(
                f"the link behind {queue.name} was faster than its rate: it sent"
                f" {ahead_s * 1e3:.3g} ms of frames too early, as its shaper or transmitter has"
                f" another rate; {see('qdisc-after.json')}"
            )
        for flow in measurement.flows:
            passage = flow.at(queue)
            shaper = queue.interface.shaper
            deep = shaper is not None and shaper.depth_bytes is not None
            share = 0.0 if passage is None or deep else _share(passage, flow)
            if share > 1 + SHARE_TOLERANCE:
                yield invalid(
                    f"the flow {flow.name} got {share:.3g} times the rate of {queue.name}: a"
                    f" token bucket passes a burst"
                    " in no time; leave out `transmit = bucket`, or let the flow last longer"
                )


def bucket_depths(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: a token bucket whose depth is planned has it, as the kernel says, within its ticks
    of 64 ns and what iproute2 rounds.
    """
    for queue in measurement.seen_queues:
        shaper = queue.interface.shaper
        if shaper is None or shaper.depth_bytes is None:
            continue
        tick_bytes = shaper.rate_bps * 64e-9 / 8
        if abs(queue.bucket_bytes - shaper.depth_bytes) > 2 + 2 * tick_bytes:
            yield invalid(
                f"the bucket of {queue.name} holds {queue.bucket_bytes} bytes, not"
                f" {shaper.depth_bytes}; {see('qdisc-after.json')}"
            )


def _ahead(queue: QueueRecord) -> float:
    """Return by how much, at worst, frames began before those ahead of them had been sent, s.

    In whole nanoseconds, as the kernel counts: no rounding adds up, however many frames there are.
    """
    if not len(queue.left):
        return 0.0
    lasts_ns = queue.paced_ns
    behind_ns = queue.left.time_ns - (np.cumsum(lasts_ns) - lasts_ns)
    return float((np.maximum.accumulate(behind_ns) - behind_ns).max()) * NS


def _share(passage: Passage, flow: FlowRecord) -> float:
    """Return the share of a token bucket's rate that a flow's frames took while it ran, by the
    times that the kernel lets them last; 0 of a link that transmits, which `_ahead` judges.
    """
    edges_s = np.array([flow.start_s, flow.end_s])
    if flow.end_s <= flow.start_s or not passage.left.any():
        return 0.0
    queue = passage.queue
    if not queue.is_bucket:  # a link that transmits sends one frame after another
        return 0.0
    lasts_s, kernel_ns = queue.serialisation_s[passage.left], queue.paced_ns[passage.left]
    sizes = queue.left.frame_bytes[passage.left].astype(np.float64)
    carried = apportion(queue.left_s[passage.left], lasts_s, sizes, edges_s)[0]
    kernels = float(kernel_ns.sum()) * NS / float(lasts_s.sum())
    return 8 * float(carried) * kernels / float(queue.capacity_bits(edges_s)[0])


def _off(value: float, target: float) -> float:
    return abs(value - target) / target


def service_schedule(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: the shaper keeps to its schedule within 10 ms."""
    for queue in _shaped(measurement):
        idle_s = _late_service(queue)
        if idle_s > LATE_S:
            yield invalid(
                f"the shaper of {queue.name} let packets wait {idle_s * 1e3:.1f} ms too long:"
                f" {busy(measurement)}"
            )


def _late_service(queue: QueueRecord) -> float:
    """Return the longest wait of a frame at the head of the queue beyond its own spacing, s."""
    left, arrival = queue.left_s, queue.arrival_s
    ready = np.fmax(left[:-1], arrival[1:])
    waited_s = left[1:] - ready - queue.spacing_s[1:]
    # How long a frame should take is not known where the link was changing.
    return float(waited_s[queue.history.settled(left[:-1])].max(initial=0.0))


def changes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: links and routes change when the plan says so, within 5 ms."""
    yield from _waited(measurement)
    for place, history in sorted(measurement.histories.items()):
        late_s = max((done.late_s for done, _ in history.done), default=0.0)
        if late_s > LATE_CHANGE_S:
            yield invalid(
                f"the link at {'/'.join(place)} changed {late_s * 1e3:.1f} ms late:"
                f" {busy(measurement)}"
            )
    for node, done in sorted(measurement.reroutings.items()):
        late_s = max((each.late_s for each in done), default=0.0)
        if late_s > LATE_CHANGE_S:
            yield invalid(
                f"the routes of {node} changed {late_s * 1e3:.1f} ms late: {busy(measurement)}"
            )
        until_ns = due_s(measurement) / NS
        planned = {at_ns for at_ns in measurement.paths.reroutings_of(node) if at_ns < until_ns}
        if len(done) < len(planned):
            yield invalid(
                f"the routes of {node} changed {len(done)} times, not {len(planned)}:"
                f" the program that changes them had ended; {see('cell.json')}"
            )
    for place, at_s in due(measurement.histories, due_s(measurement)):
        yield invalid(
            f"the link at {'/'.join(place)} did not change at {at_s:g} s: the program that changes"
            f" links had ended; {see('cell.json')}"
        )


def _waited(measurement: Measurement) -> Iterator[Finding]:
    """Report changes that waited for a state: for ever, or that came at another instant than that
    of this run's own log.
    """
    never_ns = entering.never_ns(measurement.cell)
    for place, history in sorted(measurement.histories.items()):
        for change in history.interface.changes:
            if change.entering is None:
                continue
            flow, state = change.entering.flow, change.entering.state
            if change.at_ns == never_ns:
                yield flagged(
                    f"the link at {'/'.join(place)} did not change: its flow {flow} never was in"
                    f" {state}"
                )
            wrong = [done.at_s for done, _ in history.done if done.at_s != change.at_ns * NS]
            if wrong:
                yield invalid(
                    f"the link at {'/'.join(place)} changed at {wrong[0]:g} s, and not when its"
                    f" flow {flow} entered {state}: the first run of the cell was another one"
                )


def due_s(measurement: Measurement) -> float:
    """Return before when changes have to be carried out, s: the cell's end, at the latest its
    planned one, after which it may be noticed late.
    """
    cell = measurement.cell
    limits_ns = (cell.deadline_ns, cell.duration_ns)
    planned_s = min(limit_ns for limit_ns in limits_ns if limit_ns is not None) * NS
    return min(measurement.ended_s - LATE_CHANGE_S, planned_s)
