"""State of a flow's congestion control: what part of the time it is in each, and what it estimates.

    state.S      = samples in state S / samples
    state.max_bw = median over the samples of the estimated bandwidth
    state.alpha  = mean over the samples of the estimated share of marks

over the samples after the warm-up, and until the flow is stopped or the cell ends, in which the CCA
says its state, of all connections of the flow: every 100 ms, or as often as `every` says.
`state.probe_bw` is ProbeBW, for `bbr3` the sum of its four phases. States that a CCA does not have,
or was not seen in, are 0. The bandwidth counts UDP payload. A flow whose CCA says no state has no
value; nor has an estimate that its CCA does not make. Over TCP, `bbr` reports it on your own
kernel with version 3 (TCP_CC_INFO); its bandwidth counts payload of TCP.

Over time: the estimated bandwidth, and the states themselves, are in the table `models`.

Unit: 1 (state.max_bw: bit/s). Source: draft-ietf-ccwg-bbr-06 (BBR.state, BBR.max_bw); RFC 9406
(slow start and CSS); draft-briscoe-iccrg-prague-congestion-control-04 (alpha); Arun and
Balakrishnan, NSDI 2018 (default and competitive mode).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.measurement.samples import STATES

from .base import Course, Metric, Value, declared, per_flow

PROBE_BW = "probe_bw"
MAX_BW = declared("state.max_bw", "median of the bandwidth that the CCA estimates")
ALPHA = declared("state.alpha", "mean of the share of marks that the CCA estimates")
SHARES = {state: declared(f"state.{state}", f"part of the time in {state}") for state in STATES}
VALUES = (MAX_BW, ALPHA, *SHARES.values())


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    samples = flow.endpoints.samples
    counted = np.isfinite(samples.model_state) & measurement.counts(samples.t_s) & flow.before_stop
    if not counted.any():
        reason = f"its CCA said no state {measurement.when}"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    states = [STATES[int(number)] for number in samples.model_state[counted]]
    names = np.array(states, np.str_)
    shares = {state: float(np.mean(names == state)) for state in STATES}
    shares[PROBE_BW] = float(np.mean(np.char.startswith(names, PROBE_BW)))
    return (
        _estimate(MAX_BW, np.median, samples.max_bw_bps[counted], flow),
        _estimate(ALPHA, np.mean, samples.alpha[counted], flow),
        *(SHARES[state].of(share, flow.name) for state, share in shares.items()),
    )


def _estimate(
    value: Value, statistic: Callable[[Floats], np.floating[Any]], found: Floats, flow: FlowRecord
) -> MetricValue:
    known = found[np.isfinite(found)]
    number = float(statistic(known)) if len(known) else None
    return value.of(number, flow.name, "" if len(known) else "its CCA estimates none")


METRIC = Metric(
    "state",
    VALUES,
    per_flow(_of_flow),
    course=Course(
        table="models",
        where="max_bw_bps IS NOT NULL",
        value="avg(max_bw_bps)",
        meaning="mean of the bandwidth that a flow's CCA estimates",
    ),
    courses={
        ALPHA.name: Course(
            table="models",
            where="alpha IS NOT NULL",
            value="avg(alpha)",
            meaning="mean of the share of marks that a flow's CCA estimates",
        )
    },
)
