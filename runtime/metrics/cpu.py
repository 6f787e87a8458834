"""Busy share of the machine's CPU during page loads.

    cpu = busy CPU time / CPU time,  from the beginning of the load to its end

One value for each load of a cell; none for a load that failed. Each 100 ms slot of the monitor is
weighted by its overlap with the load. The CPU is that of the machine on which all hosts of the cell
run: on the `vm` engine the guest's one virtual processor, which client, server and network share;
on engines that use this machine's kernel (`mininet`, containers) all of its processors, whatever
else they are doing. Browsers keep a CPU busy, so their cells are not flagged for it.
Where neither computing nor system calls take time (a `plain` client on `uml`) there is no value.

Unit: 1. Source: measurement.md, rule 21; proc(5), /proc/stat.
"""

from __future__ import annotations

import numpy as np

from fairc.cell.workloads import BROWSER
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.measurement.record import CpuLoad

from .base import declared
from .page_loads import load_metric


def busy_share(busy: CpuLoad, begin_s: float, end_s: float) -> float | None:
    """Return the busy share from begin_s to end_s, s after the epoch; None where it was not
    recorded.
    """
    begins = np.concatenate((busy.t_s[:1] - 0.1, busy.t_s[:-1]))
    length = busy.t_s - begins
    inside = np.clip(np.minimum(busy.t_s, end_s) - np.maximum(begins, begin_s), 0, None)
    weight = np.divide(inside, length, out=np.zeros(len(length)), where=length > 0)
    total_s = float(weight @ busy.total_s)
    return float(weight @ busy.busy_s) / total_s if total_s > 0 else None


def _of_load(measurement: Measurement, flow: FlowRecord, load: PageLoad) -> float | None:
    timed = measurement.cell.syscall_cost_ns or BROWSER in flow.plan.workload.programs
    if measurement.processing.computing_is_free and not timed:
        return None
    return busy_share(measurement.busy, load.begin_s, load.end_s)


METRIC = load_metric(
    declared("cpu", "busy share of the machine's CPU during a load"),
    _of_load,
    lacking="the load of the machine was not recorded, or computing takes no time",
)
