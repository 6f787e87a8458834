"""Jain's index at every moment, among the flows that run at it: while flows come and go.

    j_i = (sum_k x_k,i)^2 / (n_i * sum_k x_k,i^2)       1/n_i (one has all) .. 1 (all equal)

    jain.mean          = mean of j_i over the slots, in each of which at least two flows run
    jain.p5 ... jain.p99, jain.min   of the same

Slots (option `slot`, 100 ms by default) have their boundaries at multiples of their length after
the epoch. n_i: the flows that run in the whole of slot i: from their first data, and not before the
end of the warm-up, until their end. x_k,i: the IP bytes of flow k at its bottleneck's exit in the
slot, apportioned by serialisation time, over what its max-min fair share among the flows that run
then would carry. A flow that gets nothing while it runs counts as zero; a slot in which none gets
anything counts as equal.

`fairness.jain_slots` is about the time in which all flows compete, and leaves the rest out. A slot
with few packets is unfair by chance alone: make it longer.

Unit: 1. Source: Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984; over
flows that join and leave as in Arun and Balakrishnan, Copa, NSDI 2018, section 5.1.
"""

from __future__ import annotations

import math

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.curves import Curve, Trace
from fairc.runtime.measurement.results import MetricValue

from .base import Course, Distribution, Metric, Presentation, declared, window
from .distribution import TOO_FEW, distribution, percentile_values, percentiles
from .sharing import apart, jain, normalised

MEAN = declared(
    "jain.mean",
    "mean of Jain's index among the flows that run",
    shown=Presentation(title="Jain's index, mean of the moments"),
)
MIN = declared("jain.min", "smallest of Jain's index among the flows that run")
VALUES = (MEAN, *percentile_values("jain", "Jain's index among the flows that run"), MIN)


def index(
    measurement: Measurement, sessions: tuple[FlowRecord, ...], slot_s: float
) -> tuple[Floats, Floats] | str:
    """Return where slots in which at least two flows run begin, s after the epoch, and Jain's index
    in each, both of shape (slots,); or why there is none.
    """
    if len(sessions) < 2:
        return "it is among flows, and there is one"
    if alone := apart(measurement, sessions):
        return alone
    running = []
    for flow in sessions:
        begin_s, end_s = window(measurement, flow)
        first_s = flow.endpoints.first_byte_s
        running.append((max(begin_s, math.inf if first_s is None else first_s), end_s))
    begins, ends = np.array(running).T
    first = math.ceil(float(begins.min()) / slot_s - 1e-9) if np.isfinite(begins).any() else 0
    last = math.floor(float(ends.max()) / slot_s + 1e-9)
    edges_s = np.arange(first, max(first, last) + 1, dtype=float) * slot_s
    runs = (begins[:, None] <= edges_s[:-1] + 1e-9) & (ends[:, None] >= edges_s[1:] - 1e-9)
    several = runs.sum(axis=0) > 1
    if not several.any():
        return f"no two flows ran in one whole slot of {slot_s:g} s"
    x = normalised(measurement, sessions, edges_s)
    found = np.array([float(jain(x[runs[:, i], i : i + 1])[0]) for i in np.flatnonzero(several)])
    return edges_s[:-1][several], found


def _asked(measurement: Measurement, request: MetricRequest) -> tuple[Floats, Floats] | str:
    slot_s = float(request.options.get("slot", SLOT_S))
    sessions = measurement.sessions(request.sessions)
    seen = measurement.begin_s, measurement.until_s
    key = ("jain", *(flow.name for flow in sessions), slot_s, *seen)
    return measurement.once(key, lambda: index(measurement, sessions, slot_s))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the values of the requested flows (default: all)."""
    found = _asked(measurement, request)
    if isinstance(found, str):
        return tuple(value.of(None, None, found) for value in VALUES)
    _, slots = found
    numbers = (slots.mean(), *percentiles(slots), slots.min())
    return tuple(
        value.of(float(n), None, TOO_FEW) for value, n in zip(VALUES, numbers, strict=True)
    )


def traces(measurement: Measurement, request: MetricRequest) -> tuple[Trace, ...]:
    """Return the index over time: of each slot, at its beginning."""
    found = _asked(measurement, request)
    return () if isinstance(found, str) else (Trace(MEAN.name, None, *found),)


def curves(measurement: Measurement, request: MetricRequest) -> tuple[Curve, ...]:
    """Return the distribution over the slots."""
    found = _asked(measurement, request)
    return () if isinstance(found, str) else (distribution("jain", None, found[1]),)


METRIC = Metric(
    "jain",
    VALUES,
    compute,
    traces=traces,
    curves=curves,
    course=Course(
        table="traces",
        where=f"metric = '{MEAN.name}{{mark}}'",
        value="avg(value)",
        meaning="mean of Jain's index among the flows that run",
    ),
    distribution=Distribution(
        table="curves",
        column="x",
        where="curve = 'distribution' AND metric = 'jain{mark}'",
        there=MEAN.name,
        things="slots {when} in which at least two flows run",
        word="slots",
        took="have an index of at most this",
        counted="scale",
    ),
)
