"""Fairness among the connections of a flow (`count = n`): Jain's index of what each of them gets.

    J = (sum_c B_c)^2 / (n * sum_c B_c^2)       1/n (one has all) .. 1 (all equal)

    connection_fairness.jain_session = J over the whole competition time
    connection_fairness.jain_slots   = mean of J over its slots (option `slot`)

n: the connections of the flow, whether or not they got anything. B_c: IP bytes of connection c at
the bottleneck's exit, apportioned by serialisation time. Competition time: from when every
connection has had a packet there (but not before the end of the warm-up) until the first one has
everything that it was opened for, or the flow ends. A connection of which no packet ever left
counts as zero, from the warm-up or the flow's start on. A slot in which none has any counts as
equal.

All connections have one path and one bottleneck, so their fair shares are equal. `fairness` is
about flows, each of them one session however many connections it has. Not defined for a flow with
one connection, over Multipath TCP, for `requests`, whose connections are of one transfer each, and
for page loads and videos, whose connections want what they ask for.

Unit: 1. Source: Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984;
measurement.md, rules 15 to 17.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared
from .sharing import Competition, competition_between, jain, no_slot

SESSION = declared(
    "connection_fairness.jain_session", "Jain's index of a flow's connections, whole time"
)
SLOTS = declared("connection_fairness.jain_slots", "mean of Jain's index per slot")
VALUES = (SESSION, SLOTS)


def _undefined(flow: FlowRecord) -> str:
    """Return why a flow has no connections that compete; empty if it has."""
    if flow.plan.connections < 2:
        return "the flow has one connection"
    if flow.plan.subflows:
        return "each of the flow's connections has several subflows"
    if not flow.is_greedy:
        return "the flow's connections do not take all they get, so they do not compete"
    if flow.queue.blind:
        return "the bottleneck is on the server itself, whose packets are not seen before its queue"
    return ""


def _ports(flow: FlowRecord) -> NDArray[np.int64]:
    """Return the client's port of each packet that left the bottleneck, shape (packets,)."""
    ports: NDArray[np.int64] = flow.queue.left.destination_port[flow.left].astype(np.int64)
    return ports


def _bytes(flow: FlowRecord, edges_s: Floats) -> Floats:
    """Return the IP bytes of each connection between edges, shape (connections, slots)."""
    queue, ports = flow.queue, _ports(flow)
    which = np.flatnonzero(flow.left)
    found = np.zeros((flow.plan.connections, len(edges_s) - 1))
    for place, port in enumerate(np.unique(ports)[: flow.plan.connections]):
        ours = which[ports == port]
        found[place] = queue.carried_bytes(queue.left.ip_bytes, edges_s, ours)
    return found


def _competition(measurement: Measurement, flow: FlowRecord, slot_s: float) -> Competition | str:
    ports, left_s = _ports(flow), flow.queue.left_s[flow.left]
    known = np.unique(ports)
    firsts = [float(left_s[ports == port].min()) for port in known]
    if len(known) < flow.plan.connections:
        firsts = []  # one of them is starved from the beginning
    starts = [ns * NS for ns in flow.plan.starts_ns]
    begin_s = max(measurement.begin_s, *(firsts or starts))
    end_s = min(measurement.until_s, flow.end_s, *flow.endpoints.done_s.values())
    if end_s <= begin_s:
        return f"the flow's connections did not compete {measurement.when}"
    return competition_between(begin_s, end_s, slot_s)


def _of_flow(measurement: Measurement, flow: FlowRecord, slot_s: float) -> tuple[MetricValue, ...]:
    why = _undefined(flow)
    time = why or _competition(measurement, flow, slot_s)
    if isinstance(time, str):
        return tuple(value.of(None, flow.name, time) for value in VALUES)
    whole = float(jain(_bytes(flow, np.array([time.begin_s, time.end_s])))[0])
    slots = jain(_bytes(flow, time.edges_s))
    mean = float(slots.mean()) if len(slots) else None
    return SESSION.of(whole, flow.name), SLOTS.of(mean, flow.name, no_slot(slot_s))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the fairness within each requested flow; of all flows, those with several
    connections.
    """
    slot_s = float(request.options.get("slot", SLOT_S))
    flows = measurement.sessions(request.sessions)
    if not request.sessions:
        flows = tuple(f for f in flows if f.plan.connections > 1) or flows
    return tuple(value for flow in flows for value in _of_flow(measurement, flow, slot_s))


METRIC = Metric("connection_fairness", VALUES, compute)
