"""Recovery time: how long a flow takes after a change until it uses its link again.

    recovery_time = t - after, t the end of the first slot with 8 * W(slot) >= to * C(slot)
    recovery_time.reached = 1 if there is such a slot, else 0

W: frame bytes of the flow at its bottleneck's exit, apportioned by serialisation time; those that
leave while a link of the path is down are lost, and do not count. C: bits that the link can send in
the slot, at the rate that it then has. Where a flow takes several paths, W adds up over their
bottlenecks, and C over those that a path leads to at that time which is not down. after: the time
of the change, s after the epoch. Slots follow each other from there on (option `slot`, 1 s by
default) and lie wholly inside the flow's time; the smallest value is one slot. `to` is 80 % by
default. A share of the link is meant: where other flows compete, choose `to` below what the flow
can get.

Option `every`: the changes come at after, after + every, ... A recovery is looked for until the
next change; a change that the flow does not last through until the next one does not count. The
value is then the median over the changes, in which one without a recovery is larger than any, and
`reached` the share of the changes with one.

A flow that does not recover before it ends (or after the median change) has no value; over
repetitions it counts as larger than any
value in medians and percentiles. A mean leaves it out, with a remark. A flow that starts after
the change, or ends within a slot of it, has neither value, for it shows nothing.

Unit: s (reached: 1). Source: RFC 5166, section 2.2 (responding to sudden changes: the time until
the new bandwidth is used); Bansal, Balakrishnan, Floyd and Shenker, Dynamic behavior of
slowly-responsive congestion control algorithms, SIGCOMM 2001, section 4.1, for rates that change at
once.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared

TIME = declared("recovery_time", "from the change until the flow uses its link again")
REACHED = declared("recovery_time.reached", "share of the changes after which it recovered")
SLOT_S, TO = 1.0, 0.8


def _changes(flow: FlowRecord, after_s: float, every_s: float | None, slot_s: float) -> Floats:
    """Return the changes whose recovery a flow shows, and when the last one's ends, s."""
    if every_s is None:
        slots = np.floor((flow.end_s - after_s) / slot_s + 1e-9)
        return np.array([after_s, after_s + slots * slot_s]) if slots >= 1 else np.empty(0)
    count = int(np.floor((flow.end_s - after_s) / every_s + 1e-9))
    return after_s + every_s * np.arange(count + 1, dtype=np.float64)


def _recovery_s(measurement: Measurement, flow: FlowRecord, edges_s: Floats, to: float) -> float:
    """Return the time from the first edge to the end of the first slot that is used, s; infinite:
    there is none.
    """
    capacity = measurement.capacity_bits(flow, edges_s)
    used = 8 * measurement.carried_on(flow, edges_s)
    # A slot exactly at the limit reaches it, however the sums are rounded.
    reached = np.flatnonzero((capacity > 0) & (used >= to * capacity * (1 - 1e-9)))
    return float(edges_s[reached[0] + 1] - edges_s[0]) if len(reached) else np.inf


def _not_shown(flow: FlowRecord, after_s: float, every_s: float | None) -> str:
    """Return why a flow shows no recovery."""
    if every_s is None:
        return f"the flow was not there at the change at {after_s:g} s, and a slot after it"
    if flow.start_s > after_s:
        return (
            f"the flow began at {flow.start_s:g} s, after the first change, at {after_s:g} s: give"
            " `after` a time at which it is there"
        )
    return (
        f"the flow ended at {flow.end_s:g} s, before the change at {after_s + every_s:g} s, and a"
        " change counts only where the flow lasts until the next one"
    )


def _of_flow(
    measurement: Measurement,
    flow: FlowRecord,
    after_s: float,
    every_s: float | None,
    to: float,
    slot_s: float,
) -> tuple[MetricValue, ...]:
    changes_s = _changes(flow, after_s, every_s, slot_s)
    if flow.start_s > after_s or len(changes_s) < 2:
        reason = _not_shown(flow, after_s, every_s)
        return TIME.of(None, flow.name, reason), REACHED.of(None, flow.name, reason)
    times_s = []
    for begin_s, end_s in pairwise(changes_s.tolist()):
        slots = int(np.floor((end_s - begin_s) / slot_s + 1e-9))
        edges_s = begin_s + slot_s * np.arange(slots + 1, dtype=np.float64)
        times_s.append(_recovery_s(measurement, flow, edges_s, to))
    share = REACHED.of(float(np.isfinite(times_s).mean()), flow.name)
    middle_s = float(np.median(times_s))
    if not np.isfinite(middle_s):
        rest = (
            "" if every_s is None else f" after {np.isinf(times_s).sum()} of {len(times_s)} changes"
        )
        lasts_s = float(changes_s[1] - changes_s[0])
        reason = (
            f"no slot of {slot_s:g} s in the {lasts_s:g} s after the change reached {to:.0%} of the"
            f" rate{rest}"
        )
        return TIME.of(None, flow.name, reason, censored=(1, 1)), share
    return TIME.of(middle_s, flow.name, censored=(0, 1)), share


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the recovery time of each requested flow (default: all flows)."""
    option = request.options.get
    after_s, to = float(option("after", 0.0)), float(option("to", TO))
    slot_s, every = float(option("slot", SLOT_S)), option("every")
    every_s = None if every is None else float(every)
    return tuple(
        value
        for flow in measurement.sessions(request.sessions)
        for value in _of_flow(measurement, flow, after_s, every_s, to, slot_s)
    )


METRIC = Metric("recovery_time", (TIME, REACHED), compute)
