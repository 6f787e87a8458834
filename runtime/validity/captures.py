"""The captures are complete, agree with each other, and hold real packets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fairc.cell.frames import frame_bytes
from fairc.cell.reading import reading
from fairc.runtime.arrays import Bools
from fairc.runtime.measurement import Measurement, middle_of, packets_of
from fairc.runtime.measurement.pcap import Packets
from fairc.runtime.measurement.qdisc import drops_since
from fairc.runtime.measurement.queues import QueueRecord

from .finding import Finding, flagged, invalid, or_busy, see

UNFINISHED_SHARE = 0.01
"""The share of a queue's packets that may wait when the captures end, unflagged."""


def incomplete(measurement: Measurement) -> Iterator[Finding]:
    """Rule 14: every capture has all packets that passed it."""
    read = reading(measurement.cell)
    for name, counts in sorted(measurement.capture_counts.items()):
        if counts is None:
            yield invalid(
                f"capture {name} wrote no counts: it was ended before its time;"
                f" {see(f'{name}.err')}"
            )
        elif counts.dropped:
            yield invalid(
                f"capture {name} missed {counts.dropped} packets, so nothing else was checked that"
                f" captures show: more came than the {read.ring_packets} that it holds between two"
                f" readings, {read.every_ns / 1e6:.3g} ms apart{or_busy(measurement)}"
            )
    for name, cut in sorted(measurement.cut_captures.items()):
        if cut:
            yield invalid(
                f"capture {name} ends with {cut} bytes of a truncated packet: it was ended while it"
                " wrote, or the disk is full"
            )


def captures(measurement: Measurement) -> Iterator[Finding]:
    """Rule 14: the captures agree with each other and with the queue's counters."""
    for queue in measurement.seen_queues:
        strange = queue.through.strangers & of_flows(measurement, queue, queue.left)
        if strange.any():
            yield invalid(
                f"{queue.name}: {strange.sum()} packets left it without having been captured at its"
                " entry: they came by an interface that the plan does not capture, or before the"
                " capture began"
            )
        counted = drops_since(
            measurement.qdiscs_before.get(queue.place, ()),
            measurement.qdiscs_after.get(queue.place, ()),
        )
        missing = int(queue.through.lost.sum())
        if not missing <= counted <= missing + queue.strays:
            yield invalid(
                f"{queue.name} counted {counted} drops, the captures show {missing}: packets were"
                f" dropped between the captures but not by the queue, or a capture is incomplete;"
                f" {see('qdisc-after.json')}"
            )


def unfinished(measurement: Measurement) -> Iterator[Finding]:
    """Rule 14: the captures last until the queues are empty, so that every packet has its delay.

    They end when what a queue holds has had the time to leave it at the rate of the cell's end,
    60 s at most.
    """
    for queue in measurement.seen_queues:
        ours = of_flows(measurement, queue, queue.entered)
        ours &= queue.seconds(queue.entered) < measurement.ended_s
        waiting = int((ours & queue.through.pending).sum())
        if waiting > UNFINISHED_SHARE * ours.sum():
            yield flagged(
                f"{waiting} of {ours.sum()} packets still waited at {queue.name} when the captures"
                " ended: their delays are missing, and they are the longest; give the flows a"
                " `stop` before the end of the cell, so that the queue can drain, or a smaller"
                " queue"
            )


def of_flows(measurement: Measurement, queue: QueueRecord, packets: Packets) -> Bools:
    """Return which packets belong to flows whose data pass this bottleneck, or to any proxy's
    middle connections.
    """
    found = np.zeros(len(packets), np.bool_)
    for flow in measurement.flows:
        passages = (one for some in measurement.crossed(flow) for one in some)
        if flow.at(queue) is not None or (
            queue.interface.bottleneck and any(one.queue is queue for one in passages)
        ):
            found |= packets_of(measurement.cell, flow.plan, packets)
    for device in measurement.cell.devices:
        if device.middle is not None:
            found |= middle_of(device.middle, packets)
    return found


def frame_sizes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 4: neither super-packets nor fragments reach the queue; nothing is too large for its
    path.
    """
    for queue in measurement.queues:
        largest = int(queue.entered.frame_bytes.max(initial=0))
        pieces = int((queue.entered.fragment > 0).sum())
        if pieces:
            yield invalid(
                f"{pieces} IP fragments reached {queue.name}: a host sends datagrams above the"
                " path's MTU; make them smaller"
            )
        if largest > queue.interface.frame_bytes:
            yield invalid(
                f"a frame of {largest} bytes reached {queue.name}: its host has not segmented it;"
                f" {see('system.json')} for the offloads that were turned off"
            )
    if measurement.cell.is_split:  # each part of a split connection has a path of its own
        return
    for flow in measurement.flows:
        if flow.plan.options.discovers_mtu:
            continue  # some of its packets are too large until it knows
        largest = max(
            int(one.queue.entered.ip_bytes[one.entered].max(initial=0)) for one in flow.passages
        )
        allowed = max(one.queue.interface.mtu for one in flow.passages)
        if flow.plan.mtu + flow.plan.header_bytes < largest <= allowed:
            yield invalid(
                f"flow {flow.name} sent frames of {frame_bytes(largest)} bytes: more than its path"
                " allows, as its host does not know the path's MTU; give the host's own link this"
                " `mtu`"
            )
