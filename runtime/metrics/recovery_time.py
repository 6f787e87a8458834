"""Recovery time: how long a flow takes after a change until it uses its link again.

    recovery_time = t - after, t the end of the first slot with 8 * W(slot) >= to * C(slot)
    recovery_time.reached = 1 if there is such a slot, else 0

W: frame bytes of the flow at its bottleneck's exit, apportioned by serialisation time. C: bits that
the link can send in the slot, at the rate that it then has. after: the time of the change, s after
the epoch. Slots follow each other from there on (option `slot`, 1 s by default) and lie wholly
inside the flow's time; the smallest value is one slot. `to` is 80 % by default. A share of the link
is meant: where other flows compete, choose `to` below what the flow can get.

A flow that does not recover before it ends has no value; over repetitions it counts as larger than
any value in medians and percentiles. A mean leaves it out, with a remark. A flow that starts after
the change, or ends within a slot of it, has neither value, for it shows nothing.

Unit: s (reached: 1). Source: RFC 5166, section 2.2 (responding to sudden changes: the time until
the new bandwidth is used); Bansal, Balakrishnan, Floyd and Shenker, Dynamic behavior of
slowly-responsive congestion control algorithms, SIGCOMM 2001, section 4.1, for rates that change at
once.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Value

TIME = Value("recovery_time", "s", "from the change until the flow uses its link again")
REACHED = Value("recovery_time.reached", "1", "1 if the flow recovered, else 0")
SLOT_S, TO = 1.0, 0.8


def _of_flow(
    measurement: Measurement, flow: FlowRecord, after_s: float, to: float, slot_s: float
) -> tuple[MetricValue, ...]:
    slots = int(np.floor((flow.end_s - after_s) / slot_s + 1e-9))
    if flow.start_s > after_s or slots < 1:
        reason = f"the flow was not there at the change at {after_s:g} s, and a slot after it"
        return TIME.of(None, flow.name, reason), REACHED.of(None, flow.name, reason)
    edges_s = after_s + slot_s * np.arange(slots + 1, dtype=np.float64)
    capacity = measurement.histories[flow.queue.place].capacity_bits(edges_s)
    used = 8 * flow.frame_bytes(edges_s)
    # A slot exactly at the limit reaches it, however the sums are rounded.
    reached = np.flatnonzero((capacity > 0) & (used >= to * capacity * (1 - 1e-9)))
    if not len(reached):
        reason = f"no slot of {slots * slot_s:g} s after the change reached {to:.0%} of the rate"
        never = TIME.of(None, flow.name, reason, censored=(1, 1))
        return never, REACHED.of(0.0, flow.name)
    time_s = float(edges_s[reached[0] + 1]) - after_s
    return TIME.of(time_s, flow.name, censored=(0, 1)), REACHED.of(1.0, flow.name)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the recovery time of each requested flow (default: all flows)."""
    option = request.options.get
    after_s, to = float(option("after", 0.0)), float(option("to", TO))
    slot_s = float(option("slot", SLOT_S))
    return tuple(
        value
        for flow in measurement.sessions(request.sessions)
        for value in _of_flow(measurement, flow, after_s, to, slot_s)
    )


METRIC = Metric("recovery_time", (TIME, REACHED), compute)
