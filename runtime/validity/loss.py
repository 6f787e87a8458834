"""Packets are lost where the plan says so, and as often as it says; nowhere else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.compiler.plan import Impairment
from fairc.runtime.arrays import Bools
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.pcap import SYN
from fairc.runtime.measurement.qdisc import drops_since
from fairc.runtime.measurement.queues import QueueRecord

from .captures import of_flows
from .expected_losses import LossCount, damaging, pooled, steps, unexplained
from .finding import Finding, invalid, see
from .marking import ECN

TCP, ICMP = 6, 1


def loss_counts(measurement: Measurement) -> tuple[LossCount, ...]:
    """Count the flows' packets behind each bottleneck queue, by the loss that is planned there."""
    return pooled(count for queue in measurement.queues for count in _counts(measurement, queue))


def _counts(measurement: Measurement, queue: QueueRecord) -> Iterator[LossCount]:
    """Yield a count for each stage of the link; packets that may have met a change are left
    out.
    """
    counted = of_flows(measurement, queue, queue.left) & ~queue.behind.pending
    counted &= ~chosen(measurement, queue) & (queue.left.damage == 0)
    gone = queue.behind.lost.copy()  # and what is damaged where nobody looks
    arrived = np.flatnonzero(queue.behind.found >= 0)
    gone[arrived] = queue.delivered.damage[queue.behind.found[arrived]] > queue.left.damage[arrived]
    place = measurement.paths.delivery(queue.place)
    if place is None:
        yield LossCount(0.0, int(counted.sum()), int((counted & gone).sum()))
        return
    history = measurement.histories[place]
    stage = history.stage(queue.sent_s)
    counted &= queue.known_at(history)
    stages = len(history.done) + 1
    sent = np.bincount(stage[counted], minlength=stages)
    lost = np.bincount(stage[counted & gone], minlength=stages)
    for number, planned in history.impairments():
        if number and not sent[number]:
            continue
        # A copied packet would be lost only with its copy, and netem then keeps one of the two.
        probability = planned.lost * (1 - planned.duplicate) if planned else 0.0
        bursts = planned.bursts if planned else None
        if bursts is not None and planned is not None:
            bursts = damaging(bursts, planned.damaged)
        yield LossCount(probability, int(sent[number]), int(lost[number]), bursts)


def chosen(measurement: Measurement, queue: QueueRecord) -> Bools:
    """Return which packets that left a queue are of a kind that its link loses."""
    left, arrival = queue.left, measurement.paths.arrival(queue.place)
    found = np.zeros(len(left), np.bool_)
    for kind in arrival.arriving_losses if arrival is not None else ():
        if kind.numbers:
            counted = np.flatnonzero((left.ip_bytes > 0) & (left.protocol != ICMP))
            numbers = np.array(kind.numbers) - 1
            found[counted[numbers[numbers < len(counted)]]] = True
            continue
        opening = (left.protocol == TCP) & ((left.flags & SYN) > 0)
        which = {
            "any": left.ip_bytes > 0,
            "ce": (left.tos & ECN) == ECN,
            "ect": (left.tos & ECN) > 0,
            "syn": opening,
            "handshake": opening | (left.long_header > 0),
        }[kind.of]
        found |= which & (left.ip_bytes > (kind.above_bytes or 0))
    return found


def chosen_losses(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: of the packets that a link loses by their kind none arrives."""
    for queue in measurement.seen_queues:
        which = chosen(measurement, queue)
        arrived = int((which & (queue.behind.found >= 0)).sum())
        if arrived:
            yield invalid(
                f"{arrived} of {int(which.sum())} packets behind {queue.name} arrived, although"
                f" its link loses all of their kind: its filter was not in force;"
                f" {see('cell.json')}"
            )


def random_loss(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: as many packets are lost at random as the plan's probability explains."""
    counts = loss_counts(measurement)
    tests = sum(count.is_random for count in counts)
    for count in counts:
        if not count.plausible_among(tests):
            yield invalid(
                f"{count.lost} of {count.sent} packets were lost at random behind the bottleneck;"
                f" {unexplained(count.expected)}: a queue behind the"
                " bottleneck dropped packets, too, or the hop has another probability;"
                f" {see('qdisc-after.json')}"
            )


def loss_bursts(measurement: Measurement) -> Iterator[Finding]:
    """Rules 12, 20: losses come in bursts as long, and as often, as the plan's chain explains.

    Their number shows little of that. Only where every packet that came to the chain is known, and
    its state: where it loses all in the bad one and none in the good one, and no frames pass that
    are not captured, as in the networks of real time.
    """
    if not measurement.processing.computing_is_free:
        return
    found = []
    for queue in measurement.queues:
        place = measurement.paths.delivery(queue.place)
        planned = measurement.paths.interfaces[place].impairment if place else None
        if place is None or planned is None or planned.bursts is None or planned.effects:
            continue
        chain, history = planned.bursts, measurement.histories[place]
        known = not history.done and not chain.h and chain.k == 1
        if known and queue.behind.certain.all() and not chosen(measurement, queue).any():
            lost = queue.behind.lost[~queue.behind.pending]
            found.append((queue, steps(chain, lost)))
    for queue, counts in found:
        for count, where in zip(counts, ("begin after", "end after"), strict=True):
            if not count.plausible_among(2 * len(found)):
                yield invalid(
                    f"behind {queue.name} bursts of losses {where} {count.lost} of {count.sent}"
                    f" packets; {unexplained(count.expected)}: the hop has another chain;"
                    f" {see('qdisc-before.json')}"
                )


def other_drops(measurement: Measurement) -> Iterator[Finding]:
    """Rule 2: no data are dropped except at a bottleneck or by planned random loss.

    A queue that no data pass, only what answers them, drops what its size says: no loss is counted
    there.
    """
    interfaces = measurement.paths.interfaces.items()
    bottlenecks = {queue.place for queue in measurement.queues}
    if not measurement.captured:  # then nothing but its drops is known of any other one
        bottlenecks |= {place for place, each in interfaces if each.bottleneck}
    dropping = {place for place, each in interfaces if each.arriving_losses}
    dropping |= {place for each in measurement.cell.devices for place in each.arriving}
    flows = measurement.cell.flows
    times_ns = (None, *measurement.paths.reroutings_ns)
    ways = (way for flow in flows for at in times_ns for way in measurement.paths.ways(flow, at))
    passed = {place for way in ways for place in way}
    tests = sum(bool(each.impairment and each.impairment.loss) for _, each in interfaces)
    for place, after in sorted(measurement.qdiscs_after.items()):
        if place in bottlenecks or place in dropping:
            continue  # their devices' checks and `chosen_losses` judge what these drop
        dropped = drops_since(measurement.qdiscs_before.get(place, ()), after)
        interface = measurement.paths.interfaces.get(place)
        impairment = interface.impairment if interface else None
        if interface and interface.shaper and place not in passed:
            continue
        if interface and any(c.impairment and c.impairment.loss for c in interface.changes):
            continue  # only the captures show what it drops
        if dropped and not (impairment and impairment.loss):
            yield invalid(
                f"the queue at {'/'.join(place)} dropped {dropped} packets, and it is no bottleneck"
                " of any flow: more came at once than it holds; give its link a `queue`, which is"
                " then observed, or a higher rate"
            )
        elif dropped and impairment:
            # netem counts a random loss and a full queue alike.
            before = measurement.qdiscs_before.get(place, ())
            sent = after[0].sent_packets - sum(c.sent_packets for c in before[:1])
            count = LossCount(_dropped(impairment), sent + dropped, dropped, impairment.bursts)
            if not count.plausible_among(tests):
                yield invalid(
                    f"netem at {'/'.join(place)} dropped {dropped} of {sent + dropped} packets;"
                    f" {unexplained(count.expected)}: more packets were"
                    " in flight than it holds, or it has another probability;"
                    f" {see('qdisc-after.json')}"
                )
    for place, node_interface in sorted(measurement.paths.interfaces.items()):
        shaped = node_interface.shaper or node_interface.impairment
        if shaped and not (
            place in measurement.qdiscs_before and place in measurement.qdiscs_after
        ):
            yield invalid(
                f"there are no counters of the queue at {'/'.join(place)}: it was never"
                f" set up, or tc failed; {see('cell.json')}"
            )


def _dropped(impairment: Impairment) -> float:
    """Return the share of drops among all that netem drops and sends, copies included.

    A packet is copied with probability d. If a copied packet has a loss event, netem drops nothing
    but keeps one of the two; otherwise the copy has a loss event of its own. So per packet netem
    drops (1 - d) l + d (1 - l) l, and drops or sends 1 + d (1 - l), where l is the loss.
    """
    loss, copied = impairment.dropped, impairment.duplicate
    return loss * (1 - copied * loss) / (1 + copied * (1 - loss))
