"""Policers treated every packet as the captures imply."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.qdisc import drops_since
from fairc.runtime.validity.finding import Finding, busy, invalid, or_virtual, see, unread
from fairc.runtime.validity.schedule import LATE_S

from .record import PolicerRecord, buckets_of, policers_of

MOST_DIFFERENT = 1e-3
"""Share of packets that may be decided differently before the cell is invalid. On a virtual clock
none is; on a machine with several processors, packets that pass in the same microsecond can be seen
in a different order from their timestamps."""

MOST_APART_S = 1e-3
"""Each program that sees a packet takes its own timestamp, a few us apart. A level moves by the
fill rate times this: by less than a fifth of a token at the study's highest rate."""


def check_packets(measurement: Measurement) -> Iterator[Finding]:
    """Yield what packets show of policers, then of token buckets."""
    yield from _policing(measurement)
    yield from _token_buckets(measurement)


def _policing(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every packet was policed as the definition says (docs/learn/links.md),
    recomputed.
    """
    for policer in policers_of(measurement):
        name = f"{policer.plan.name}.policer"
        if name not in measurement.ending.processes:
            yield invalid(
                f"{name} is not among the processes that ran: the cell ended before it could"
                f" start; {see('cell.json')}"
            )
        for error in policer.errors:
            yield invalid(error)
        if policer.total is None:
            yield invalid(
                f"{name} did not report what it had done: it was ended before its time;"
                f" {see(f'{name}.err')}"
            )
            continue
        if policer.total.missed:
            missed = policer.total.missed
            yield invalid(f"{name} missed {missed} packets: {unread(measurement)}")
        captured = len(policer.decisions)
        if captured > policer.total.packets:
            yield invalid(
                f"{name} saw {policer.total.packets} of {captured} packets that reached it:"
                f" it was ended before its time, or started late; {see(f'{name}.err')}"
            )
            continue
        if policer.total.late_s > LATE_S:
            yield invalid(
                f"a packet waited {policer.total.late_s * 1e3:.3g} ms in {name}:"
                f" {busy(measurement)}"
            )
        if policer.apart_s > MOST_APART_S:
            yield invalid(
                f"{name} saw a packet {policer.apart_s * 1e3:.3g} ms apart from when it was"
                f" captured: {busy(measurement)}"
            )
        different = differences(policer)
        if different:
            grave = different > MOST_DIFFERENT * captured
            why = or_virtual(
                measurement,
                "packets that come at nearly the same time were policed in another order",
                "run the cell on `uml`",
            )
            yield Finding(
                "invalid" if grave else "flagged",
                f"for {different} of {captured} packets, {name} decided otherwise than the"
                f" captures imply: {why}",
            )


def _token_buckets(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: token buckets dropped the packets that the reference model drops, and no other.

    The kernel counts its drops, and what the model drops must not be seen behind the bucket; a
    packet that the kernel dropped and the model did not is missing there, like one that had room in
    the queue (`buffers`).
    """
    queues = {queue.place: queue for queue in measurement.queues}
    for bucket in buckets_of(measurement):
        name, place = "/".join(bucket.place), bucket.place
        before = measurement.qdiscs_before.get(place, ())
        counted = drops_since(before, measurement.qdiscs_after.get(place, ()), filtered=True)
        dropped = int(bucket.dropped.sum())
        different = abs(counted - dropped)
        for node_interface, queue in queues.items():
            if node_interface[0] == place[0]:
                different = max(different, int(queue.through.strangers.sum()))
        if different:
            grave = different > MOST_DIFFERENT * len(bucket.packets)
            yield Finding(
                "invalid" if grave else "flagged",
                f"the token bucket at {name} dropped {counted} of {len(bucket.packets)} packets,"
                f" and by its rate and depth {dropped}; {different} packets were treated otherwise:"
                " another filter was in force, or it saw them at other times than the capture;"
                f" {see('qdisc-after.json')}",
            )


def differences(policer: PolicerRecord) -> int:
    """Count the packets whose treatment by a policer, its level included, differs from the computed
    one.
    """
    decisions = policer.decisions
    logged = np.zeros(len(decisions), np.bool_)
    wrong = 0
    for number, entry in policer.log.items():
        if number >= len(decisions):
            continue  # the captures had ended
        logged[number] = True
        computed = (
            int(decisions.time_ns[number]) - policer.epoch_ns,
            int(decisions.bucket[number]),
            int(decisions.echo[number]),
            bool(decisions.dropped[number]),
            float(decisions.level[number]),
        )
        wrong += computed != (entry.t_ns, entry.bucket, entry.echo, entry.dropped, entry.level)
    unlogged = ((decisions.echo > 0) | decisions.dropped) & ~logged
    return wrong + int(unlogged.sum())
