"""The machine had CPU time to spare, and its script noted nothing."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.measurement import SLOT_S, Measurement

from .finding import Finding, flagged, see

BUSY_SHARE = 0.7


def machine_load(measurement: Measurement) -> Iterator[Finding]:
    """Rule 21: the machine's CPU has time to spare in every slot of the cell.

    A browser keeps it busy by nature, and so may programs of the user's own, where a system call
    takes time: their cells are judged by the schedules of shaper and endpoints. So does one that
    measures itself, and busy-waits for the results of its other end: where it runs, slots in which
    no flow runs are left out. Where neither computing nor system calls take time, nothing is
    judged: the kernel takes its samples at ticks, at which packets may arrive each time.
    """
    polls = any(flow.plan.workload.measures_itself for flow in measurement.flows)
    timed = measurement.cell.syscall_cost_ns or polls  # where polling has a cost by default
    if measurement.processing.computing_is_free and not timed:
        return
    cpu = measurement.busy
    counted = (cpu.t_s > 0) & (cpu.t_s <= measurement.ended_s + SLOT_S)
    if polls:
        counted &= _flowing(measurement, cpu.t_s)
    share = cpu.share[counted]
    over = int((share > BUSY_SHARE).sum())
    if not len(share):
        yield flagged(f"the load of the machine was not recorded: {see('monitor.err')}")
    elif over and not may_be_busy(measurement):
        yield flagged(
            f"the machine's CPU was over {BUSY_SHARE:.0%} busy in {over} of {len(share)} slots"
            f" (at most {share.max():.0%}), so its timing may depend on {_advice(measurement)}"
        )


def _advice(measurement: Measurement) -> str:
    """Say on what timing depends where a CPU has no time to spare, and what to do."""
    if not measurement.processing.computing_is_free:
        return "the machine: lower the rates, or use `uml`, where computing takes no time"
    return "the time of system calls: lower the rates, or `syscall_cost` of `hosts`"


def _flowing(measurement: Measurement, t_s: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return in which slots, given by their ends, any flow is between its start and its end."""
    found = np.zeros(len(t_s), np.bool_)
    for flow in measurement.flows:
        found |= (t_s > flow.start_s) & (t_s - SLOT_S < flow.end_s)
    return found


def may_be_busy(measurement: Measurement) -> bool:
    """Whether a browser or programs of the user's own run, which compute as much as they like."""
    flows = [flow.plan for flow in measurement.flows]
    return any(flow.browser or flow.workload.own_code is not None for flow in flows)


def notes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 12 and others: what the cell's script itself noted (such as an unseeded loss)."""
    for note in measurement.ending.notes:
        yield flagged(note)
