"""Checks of iperf3: a test began and ended as planned."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.measurement import FlowRecord, Measurement, packets_of
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.pcap import SYN
from fairc.runtime.measurement.record import Passage
from fairc.runtime.validity.finding import Finding, flagged, see
from fairc.runtime.validity.schedule import (
    OPENING_BYTES,
    RETRY_S,
    behind_answers_s,
    behind_others_s,
    beyond_s,
    first_packet,
    held_s,
    ways,
)

from .cell import START_UP_NS, Iperf3Workload


def check(measurement: Measurement, flow: FlowRecord) -> Iterator[Finding]:
    """Rule 18: report a test that was stopped before its own end."""
    workload, reported = flow.plan.workload, flow.endpoints
    assert isinstance(workload, Iperf3Workload), "as its folder is called"
    if reported.completed or reported.errors:
        return
    asked = flow.plan.stop_ns is not None or measurement.ending.ended_by in (
        "duration",
        "first",
    )
    if (workload.time_s or workload.bytes) and not asked and not flow.endpoints.unended:
        yield flagged(
            f"iperf3 of flow {flow.name} did not finish: it was stopped at the deadline, or hung;"
            f" raise `deadline`, or {see(f'{flow.plan.name}.client.err')}"
        )


def late_s(measurement: Measurement, flow: FlowRecord) -> float:
    """Return how late iperf3 asked for its control connection, s.

    What follows depends on the network's RTT, not on a host.
    """
    paths, workload = measurement.paths, flow.plan.workload
    assert isinstance(workload, Iperf3Workload), "as its folder is called"
    # Over UDP the flow's packets do not include its control connection.
    plan = replace(flow.plan, transport="tcp")

    def opening(one: Passage) -> NDArray[np.bool_]:
        packets = one.queue.entered
        return packets_of(measurement.cell, plan, packets) & ((packets.flags & SYN) > 0)

    first = first_packet(flow, opening)
    if first is None:
        return 0.0
    place, first_s = first
    expected_s, lossy = 0.0, False
    for there, back in ways(measurement, flow, place, workload.reverse, first_s):
        way = (*there, *back)
        others_s = behind_others_s(measurement, flow, way, first_s)
        took_s = sum(paths.longest_s(part, OPENING_BYTES) for part in (there, back))
        took_s += behind_answers_s(measurement, flow, way)
        expected_s = max(expected_s, took_s + held_s(measurement, way) + others_s)
        lossy = lossy or paths.may_lose(way) or others_s > 0
    due_s = (workload.begin_ns(flow.plan) + START_UP_NS) * NS
    return beyond_s(first_s - due_s, expected_s, RETRY_S if lossy else math.inf)
