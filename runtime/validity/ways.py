"""The packets of each flow take the way of the plan, and no other."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address

import numpy as np

from fairc.runtime.arrays import Bools
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.checksums import BROKEN
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.measurement.selection import acks_of, packets_of

from .finding import Finding, invalid

_WRONG = "a node has other routes or addresses than the plan"
_RELIABLE = ("tcp", "quic")


def ways(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: at each captured queue there are data and acknowledgements of the flows whose ways
    lead there, and of no other; and all data that a client got passed the queues of its flow's way.

    The port of its server, which all its connections have, tells the packets of a flow, on both
    sides of a NAT and in page loads; what a program of the user's own says to other hosts than its
    flow's is on no way. Where routes change, the ways of all times count, and what is on its way
    then may go on by any of them.
    """
    cell = measurement.cell
    if not measurement.captured or (cell.tunnels and measurement.paths.reroutings_ns):
        return
    planned = [(flow, *measurement.paths.ever(flow.plan)) for flow in measurement.flows]
    others = 1 + max(flow.plan.port for flow in measurement.flows)  # clients have higher ports
    for queue in measurement.queues:
        left = queue.left
        sources = np.minimum(left.source_port, others)
        came_from = np.bincount(sources, minlength=others + 1)
        went_to = np.bincount(np.minimum(left.destination_port, others), minlength=others + 1)
        payload = np.bincount(sources, left.payload_bytes, others + 1)
        for flow, data, acks in planned:
            plan, port = flow.plan, flow.plan.port
            reverse = plan.workload.opened_by_sender
            there, back = (went_to, came_from) if reverse else (came_from, went_to)
            if there[port] and queue.place not in data:
                ours = packets_of(cell, plan, left)
                if plan.workload.own_code is not None:
                    ours &= left.destination == _client(measurement, flow)
                yield from _elsewhere(queue, flow, "data", ours)
            if back[port] and queue.place not in acks:
                ours = acks_of(plan, left)
                if plan.workload.own_code is not None:
                    ours &= left.source == _client(measurement, flow)
                yield from _elsewhere(queue, flow, "acknowledgements", ours)
            if queue.place in data and not reverse and _counts_once(measurement, flow):
                missing = flow.endpoints.progress.total - int(payload[port])
                if missing > 0:
                    yield invalid(
                        f"{missing} of {flow.endpoints.progress.total} bytes that the client of"
                        f" flow {flow.name} got did not pass {queue.name}, which is on its way:"
                        f" {_WRONG}"
                    )


def _elsewhere(queue: QueueRecord, flow: FlowRecord, what: str, ours: Bools) -> Iterator[Finding]:
    # Bits that were flipped may have made the port another flow's.
    number = int((ours & (queue.left.damage < BROKEN)).sum())
    if number:
        yield invalid(
            f"{number} packets with {what} of flow {flow.name} left by {queue.name}, which is not"
            f" on their way: {_WRONG}"
        )


def _client(measurement: Measurement, flow: FlowRecord) -> int:
    return int(IPv4Address(measurement.paths.client_address(flow.plan)))


def _counts_once(measurement: Measurement, flow: FlowRecord) -> bool:
    """Whether every byte that a flow's client counts was in a packet between its ends, on its only
    way.
    """
    plan = flow.plan
    return (
        plan.transport in _RELIABLE
        and plan.image is None
        and plan.workload.own_code is None
        and not plan.workload.measures_itself
        and not plan.subflows
        and not measurement.split(flow)
        and not measurement.paths.reroutings_ns
    )
