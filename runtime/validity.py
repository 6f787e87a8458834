"""The verdict on a cell: does the set-up that ran match the plan? It never judges the outcome.

Each check is a function in CHECKS that yields findings in words; the gravest one decides. The rules
are those of measurement.md, named in each check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .losses import LossCount, pooled
from .measurement import SLOT_S, FlowRecord, Measurement, packets_of
from .measurement.endpoints import NS
from .measurement.qdisc import drops_since
from .measurement.queues import QueueRecord
from .pcap import ACK, SYN, Packets

Bools = NDArray[np.bool_]

Verdict = Literal["valid", "flagged", "invalid"]

RATE_TOLERANCE = 0.01
BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE = 0.5e-3, 0.01
LATE_S = 10e-3
LIMITED_SHARE = 0.01
BUSY_SHARE = 0.7
MAX_FRAME_BYTES = 1514
# Fewer frames than this, sent back to back, do not tell the service rate to 1 %.
MIN_BACKLOGGED_FRAMES = 200
# Linux sends a lost SYN again after 1 s at the earliest (RFC 6298, section 2).
SYN_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: how grave it is, and in words what is not as planned."""

    verdict: Literal["flagged", "invalid"]
    words: str


def loss_counts(measurement: Measurement) -> tuple[LossCount, ...]:
    """Count the flows' packets behind each bottleneck queue, by the loss that the plan has there."""
    return pooled(_loss_count(measurement, flow) for flow in measurement.flows)


def _loss_count(measurement: Measurement, flow: FlowRecord) -> LossCount:
    behind = flow.queue.behind
    counted = flow.left & ~behind.pending
    planned = measurement.paths.impairment_behind(flow.queue.place)
    return LossCount(
        planned.loss if planned else 0.0,
        int(counted.sum()),
        int((counted & behind.lost).sum()),
        planned.bursts if planned else None,
    )


def service_rate(measurement: Measurement) -> Iterator[Finding]:
    """Rules 3, 20: the bottleneck serves at its rate, within 1 %, while packets wait."""
    for queue in _seen(measurement):
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
    """Return how many frames followed another one that they had waited behind, and their rate, bit/s.

    A frame that came in before the one ahead of it left keeps the shaper busy from that moment to its
    own. A busy period is known to within what the bucket holds beyond its first frame: tokens saved
    before it, or a timer that was late for its last frame. So the rate lies between the two returned
    numbers, which meet in long periods. NaN without such frames.
    """
    left, arrival, sizes = queue.left_s, queue.arrival_s, queue.left.frame_bytes
    # A frame whose arrival was not seen is taken to have waited.
    waited = ~(arrival[1:] > left[:-1])
    frames, bits = int(waited.sum()), float(8 * sizes[1:][waited].sum())
    if not frames or queue.interface.shaper is None:
        return 0, float("nan"), float("nan")
    time_s = float(np.diff(left)[waited].sum())
    first = np.flatnonzero(waited & ~np.concatenate(([False], waited[:-1])))
    saved = np.maximum(queue.interface.shaper.burst_bytes - sizes[first], 0)
    play_s = float(8 * saved.sum() / queue.rate_bps)
    fastest_bps = bits / (time_s - play_s) if time_s > play_s else float("inf")
    return frames, bits / (time_s + play_s), fastest_bps


def _off(value: float, target: float) -> float:
    return abs(value - target) / target


def base_rtt(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the idle path has the plan's base RTT, within 0.5 ms or 1 %."""
    for flow in measurement.flows:
        pings, planned_s = flow.pings, flow.plan.base_rtt_ns * 1e-9
        if pings is None or not len(pings.rtts_s):
            yield Finding("invalid", f"flow {flow.name}: no ping came back on the idle network")
            continue
        measured_s = float(np.median(pings.rtts_s))
        if abs(measured_s - planned_s) > max(BASE_RTT_TOLERANCE_S, BASE_RTT_TOLERANCE * planned_s):
            yield Finding(
                "invalid",
                f"flow {flow.name}: the base RTT is {measured_s * 1e3:.2f} ms,"
                f" not {planned_s * 1e3:.2f} ms",
            )


def random_loss(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: as many packets are lost at random as the plan's probability explains."""
    for count in loss_counts(measurement):
        if not count.plausible:
            yield Finding(
                "invalid",
                f"{count.lost} of {count.sent} packets were lost at random behind the bottleneck;"
                f" a probability of {count.expected:g} does not explain that",
            )


def buffer(measurement: Measurement) -> Iterator[Finding]:
    """Rules 1, 20: the queue holds its limit and no more; a fifo drops only what does not fit.

    A packet is captured before it is queued and after it has been sent, so one full frame more or
    less can be seen to wait. An AQM may drop whenever it likes.
    """
    for queue in _seen(measurement):
        planned = queue.interface.queue
        if planned is None or planned.kind == "cake":  # its limit is memory, not packets
            continue
        most_packets, most_bytes = queue.largest_backlog
        before = np.nextafter(queue.drops_s, -np.inf)
        if planned.limit_bytes is not None:
            most, limit, slack, unit = most_bytes, planned.limit_bytes, MAX_FRAME_BYTES, "bytes"
            after = queue.backlog_bytes(before) + queue.entered.frame_bytes[queue.through.lost]
        else:
            most, limit, slack, unit = most_packets, planned.limit_packets or 0, 1, "packets"
            after = queue.backlog_packets(before) + 1
        if most > limit + slack:
            yield Finding(
                "invalid", f"{most} {unit} waited at {queue.name}, more than its limit of {limit}"
            )
        early = int((after <= limit - slack).sum())
        if early and planned.kind == "fifo":
            yield Finding("invalid", f"{queue.name} dropped {early} packets that would have fitted")


def other_drops(measurement: Measurement) -> Iterator[Finding]:
    """Rule 2: nothing is dropped anywhere but at a bottleneck, and by the planned random loss."""
    bottlenecks = {queue.place for queue in measurement.queues}
    for place, after in sorted(measurement.qdiscs_after.items()):
        if place in bottlenecks:
            continue
        dropped = drops_since(measurement.qdiscs_before.get(place, ()), after)
        interface = measurement.paths.interfaces.get(place)
        impairment = interface.impairment if interface else None
        if dropped and not (impairment and impairment.loss):
            yield Finding("invalid", f"the queue at {'/'.join(place)} dropped {dropped} packets")
        elif dropped and impairment:
            # netem counts a random loss and a full queue alike.
            before = measurement.qdiscs_before.get(place, ())
            sent = after[0].sent_packets - sum(c.sent_packets for c in before[:1])
            count = LossCount(impairment.loss, sent + dropped, dropped, impairment.bursts)
            if not count.plausible:
                yield Finding(
                    "invalid",
                    f"netem at {'/'.join(place)} dropped {dropped} of {sent + dropped} packets;"
                    f" a probability of {impairment.loss:g} does not explain that",
                )
    for place, node_interface in sorted(measurement.paths.interfaces.items()):
        shaped = node_interface.shaper or node_interface.impairment
        if shaped and not (
            place in measurement.qdiscs_before and place in measurement.qdiscs_after
        ):
            yield Finding("invalid", f"there are no counters of the queue at {'/'.join(place)}")


def captures(measurement: Measurement) -> Iterator[Finding]:
    """Rule 14: the captures are complete and agree with each other and with the queue's counters."""
    for name, counts in sorted(measurement.capture_counts.items()):
        if counts is None:
            yield Finding("invalid", f"capture {name} wrote no counts")
        elif counts.dropped:
            yield Finding("invalid", f"capture {name} missed {counts.dropped} packets")
    for name, cut in sorted(measurement.cut_captures.items()):
        if cut:
            yield Finding("invalid", f"capture {name} ends in {cut} bytes of an unfinished packet")
    for queue in measurement.queues:
        strange = queue.behind.strangers & _of_flows(measurement, queue, queue.delivered)
        if strange.any():
            words = f"{strange.sum()} packets were delivered that were not seen to leave it"
            yield Finding("invalid", f"{queue.name}: {words}")
    for queue in _seen(measurement):
        strange = queue.through.strangers & _of_flows(measurement, queue, queue.left)
        if strange.any():
            words = f"{strange.sum()} packets left it that were not seen to enter"
            yield Finding("invalid", f"{queue.name}: {words}")
        counted = drops_since(
            measurement.qdiscs_before.get(queue.place, ()),
            measurement.qdiscs_after.get(queue.place, ()),
        )
        missing = int(queue.through.lost.sum())
        if counted != missing:
            yield Finding(
                "invalid",
                f"{queue.name} counted {counted} drops, the captures show {missing}",
            )


def _seen(measurement: Measurement) -> Iterator[QueueRecord]:
    """Yield the queues whose packets are captured before and after them."""
    return (queue for queue in measurement.queues if not queue.blind)


def _of_flows(measurement: Measurement, queue: QueueRecord, packets: Packets) -> Bools:
    """Return which packets are data of the flows that have this queue as their bottleneck."""
    found = np.zeros(len(packets), np.bool_)
    for flow in measurement.flows:
        if flow.queue is queue:
            found |= packets_of(flow.plan, packets)
    return found


def frame_sizes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 4: no super-packet meets the queue."""
    for queue in measurement.queues:
        largest = int(queue.entered.frame_bytes.max(initial=0))
        if largest > MAX_FRAME_BYTES:
            yield Finding(
                "invalid", f"a frame of {largest} bytes came to {queue.name}: offloads are not off"
            )


def congestion_control(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every socket really used the CCA of the plan."""
    for flow in measurement.flows:
        used = flow.endpoints.ccas
        if used != {flow.plan.cca}:
            yield Finding(
                "invalid",
                f"flow {flow.name} used {', '.join(sorted(used)) or 'no CCA'}, not {flow.plan.cca}",
            )


def processes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every process ended well."""
    for name, status in sorted(measurement.ending.processes.items()):
        if status != 0:
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            yield Finding("invalid", f"{name} {how}")
    for flow in measurement.flows:
        for side in ("server", "client"):
            if f"{flow.name}.{side}" not in measurement.ending.processes:
                yield Finding("invalid", f"{flow.name}.{side} is not among the processes that ran")
        if flow.endpoints.unended:
            yield Finding(
                "invalid",
                f"the client of flow {flow.name} did not say how {flow.endpoints.unended} of"
                f" {flow.plan.connections} connections ended",
            )
        for error in flow.endpoints.errors:
            yield Finding("invalid", error)


def host_limits(measurement: Measurement) -> Iterator[Finding]:
    """Rule 7: the hosts' buffers limit no connection for over 1 % of its time."""
    for flow in measurement.flows:
        samples = flow.endpoints.samples
        for connection, accepted_s in sorted(flow.endpoints.accepted_s.items()):
            ours = np.flatnonzero(samples.connection == connection)
            if not len(ours) or samples.t_s[ours[-1]] <= accepted_s:
                continue
            lifetime_s = samples.t_s[ours[-1]] - accepted_s
            for column, words in (
                (samples.rwnd_limited_s, "the receiver's window"),
                (samples.sndbuf_limited_s, "the send buffer"),
            ):
                share = column[ours[-1]] / lifetime_s
                if share > LIMITED_SHARE:
                    yield Finding(
                        "flagged",
                        f"flow {flow.name}, connection {connection}: limited by {words}"
                        f" for {share:.1%} of its time",
                    )


def machine_load(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: the machine's CPU has time to spare in every slot of the cell."""
    busy = measurement.busy
    share = busy.share[(busy.t_s > 0) & (busy.t_s <= measurement.ended_s + SLOT_S)]
    over = int((share > BUSY_SHARE).sum())
    if not len(share):
        yield Finding("flagged", "the load of the machine was not recorded")
    elif over:
        yield Finding(
            "flagged",
            f"the machine's CPU was over {BUSY_SHARE:.0%} busy in {over} of {len(share)} slots"
            f" (at most {share.max():.0%})",
        )


def schedule(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: clients, samples and the shaper keep their schedule to 10 ms."""
    for flow in measurement.flows:
        late_s = _late_start(measurement, flow)
        if late_s > LATE_S:
            yield Finding(
                "invalid", f"flow {flow.name} started {late_s * 1e3:.1f} ms behind its schedule"
            )
        for connection, opened_s in sorted(flow.endpoints.opened_s.items()):
            late_s = opened_s - flow.plan.starts_ns[connection] * NS
            if late_s > LATE_S:
                yield Finding(
                    "invalid",
                    f"flow {flow.name}, connection {connection}: opened {late_s * 1e3:.1f} ms"
                    " behind its schedule",
                )
        late_s = _late_ticks(flow)
        if late_s > LATE_S:
            yield Finding(
                "invalid",
                f"the server of flow {flow.name} took a sample {late_s * 1e3:.1f} ms too late",
            )
    for queue in _seen(measurement):
        idle_s = _late_service(queue)
        if idle_s > LATE_S:
            yield Finding(
                "invalid",
                f"the shaper of {queue.name} let packets wait {idle_s * 1e3:.1f} ms too long",
            )


def _late_start(measurement: Measurement, flow: FlowRecord) -> float:
    """Return by how much the flow's first handshake came late, s.

    The server's first answer (SYN and ACK) meets the entry of the bottleneck one delay there and a
    part of the delay back after the start. Where the client's SYN can be lost at random, an answer
    that comes as late as a retry's or a later connection's says nothing.
    """
    queue, paths = flow.queue, measurement.paths
    answers = flow.entered & (queue.entered.flags & (SYN | ACK) == SYN | ACK)
    if not answers.any():
        return 0.0
    there, back = paths.back(flow.plan), paths.before(queue.place, flow.plan)
    expected_s = flow.start_s + paths.delay_s(there) + paths.delay_s(back)
    late_s = float(queue.seconds(queue.entered)[answers].min()) - expected_s
    later_s = (ns * NS - flow.start_s for ns in flow.plan.starts_ns if ns > flow.plan.start_ns)
    next_s = min((SYN_RETRY_S, *later_s))
    if paths.loss(there) + paths.loss(back) > 0 and late_s > next_s - LATE_S:
        return 0.0
    return late_s


def _late_ticks(flow: FlowRecord) -> float:
    """Return by how much a sample came after its tick at worst, s; a tick left out counts, too."""
    samples, worst = flow.endpoints.samples, 0.0
    for connection in np.unique(samples.connection):
        t_s = samples.t_s[samples.connection == connection][:-1]  # the last one is off the ticks
        tick = np.floor(t_s / SLOT_S + 1e-6)
        late_s = t_s - tick * SLOT_S
        left_out = np.diff(tick, prepend=tick[:1] - 1) - 1
        worst = max(worst, float((late_s + left_out * SLOT_S).max(initial=0.0)))
    return worst


def _late_service(queue: QueueRecord) -> float:
    """Return the longest time that a frame waited at the head of the queue beyond its own, s."""
    left, arrival = queue.left_s, queue.arrival_s
    ready = np.fmax(left[:-1], arrival[1:])
    return float((left[1:] - ready - queue.serialisation_s[1:]).max(initial=0.0))


def notes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 12 and others: what the cell's script itself found worth saying (an unseeded loss)."""
    for note in measurement.ending.notes:
        yield Finding("flagged", note)


CHECKS: tuple[Callable[[Measurement], Iterator[Finding]], ...] = (
    service_rate,
    base_rtt,
    random_loss,
    buffer,
    other_drops,
    captures,
    frame_sizes,
    congestion_control,
    processes,
    host_limits,
    machine_load,
    schedule,
    notes,
)


def judge(measurement: Measurement) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict on a cell, and every reason against it, the gravest first."""
    findings = [finding for check in CHECKS for finding in check(measurement)]
    findings.sort(key=lambda finding: finding.verdict != "invalid")
    verdict: Verdict = findings[0].verdict if findings else "valid"
    return verdict, tuple(finding.words for finding in findings)
