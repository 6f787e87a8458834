"""Stationarity: does the throughput of a flow keep its level after the warm-up?

The series is the flow's IP bytes at the bottleneck's exit in each whole slot (option `slot`, 100 ms
by default) from the later of its first data and the end of the warm-up to its end.

    stationarity.statistic       = eta of the KPSS test: sum_t S_t^2 / (T^2 s^2(l)),
                                   S_t: sum of the first t deviations from the mean,
                                   s^2(l): long-run variance over l lags, chosen from the data
    stationarity.p               = its p-value, between 0.01 and 0.10, where the published table
                                 ends
    stationarity.autocorrelation = correlation of the series with itself one slot later

A small p (below 5 %) means that the level moves, as it does while flows converge: the warm-up is
too short, or the flow has no steady state, and a mean over the series depends on when it was taken.
0.10 means "0.10 or more": nothing was found, which proves nothing. Slots that differ by less than
a byte are all equal, and have no test. Every cell has the test of its bulk flows, without being
asked (table `flows`): values that depend on when they were taken are marked "still moving". A
transfer that moved all of its bytes has no such test, and where the network or the flows change as
the experiment declares, the mark says so. The autocorrelation tells how far slots are from being
independent; an interval must come from repetitions, not from slots.

Unit: 1. Source: Kwiatkowski, Phillips, Schmidt and Shin, Testing the null hypothesis of
stationarity against the alternative of a unit root, Journal of Econometrics 54, 1992; lags after
Hobijn, Franses and Ooms, 1998.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.statistics.series import Stationarity, kpss

from .base import Metric, declared

STATISTIC = declared("stationarity.statistic", "KPSS statistic of the throughput per slot")
P = declared("stationarity.p", "its p-value; below 0.05 the throughput is not stationary")
LAG_ONE = declared("stationarity.autocorrelation", "autocorrelation of neighbouring slots")
VALUES = (STATISTIC, P, LAG_ONE)
_LEAST_BYTES = 1.0
"""Slots that differ by less differ by rounding: frames are apportioned to slots by times in ns."""


def _edges(measurement: Measurement, flow: FlowRecord, slot_s: float) -> Floats | None:
    """Return the edges of a flow's whole slots, s; None if it never received data."""
    first_s = flow.endpoints.first_byte_s
    if first_s is None:
        return None
    begin = math.ceil(max(first_s, measurement.begin_s) / slot_s - 1e-9)
    end = max(begin, math.floor(min(flow.end_s, measurement.until_s) / slot_s + 1e-9))
    return np.arange(begin, end + 1, dtype=np.float64) * slot_s


def _test(series: Floats) -> Stationarity | str:
    """Return the test of bytes in slots, or why there is none."""
    found = kpss(series)
    if isinstance(found, Stationarity) and float(np.ptp(series)) < _LEAST_BYTES:
        return "all values are equal"
    return found


def bulk_p(measurement: Measurement, flow: FlowRecord) -> float | None:
    """Return p of a flow that takes all it gets, for the check that every cell has (`flows`); None
    where there is none.

    There is none of a flow that offers less, whose level is its application's; of one that moved
    all of its bytes, whose mean is that of the whole transfer whenever it was taken; nor without
    packets at the bottleneck.
    """
    if flow.demand_bps != math.inf or measurement.unseen(flow):
        return None
    has_end = flow.plan.workload.total_bytes(flow.plan.connections) is not None
    if has_end and flow.endpoints.completed:
        return None
    edges_s = _edges(measurement, flow, SLOT_S)
    found = None if edges_s is None else _test(flow.ip_bytes(edges_s))
    return found.p if isinstance(found, Stationarity) else None


def declared_change(measurement: Measurement, flow: FlowRecord) -> str | None:
    """Return what changes as declared in the time of a flow's test (`bulk_p`); None: nothing.

    A link, a route, or the set of flows, of which one starts or is stopped. A start within one base
    RTT (at least 10 ms) is that of a flow whose start is not declared (`start_range_ns`).
    """
    edges_s = _edges(measurement, flow, SLOT_S)
    if edges_s is None:
        return None
    begin_s, end_s = float(edges_s[0]), float(edges_s[-1])
    histories, reroutings = measurement.histories.values(), measurement.reroutings.values()
    changes: dict[str, Iterable[float]] = {
        "a link": (done.at_s for history in histories for done, _ in history.done),
        "a route": (done.at_s for of_node in reroutings for done in of_node),
        "the set of flows": (at_ns * NS for of in measurement.flows for at_ns in _declared(of)),
    }
    for what, times_s in changes.items():
        if any(begin_s < at_s < end_s for at_s in times_s):
            return what
    return None


def _declared(flow: FlowRecord) -> list[int]:
    """Return when a flow starts and is stopped, as far as it is declared, ns."""
    plan = flow.plan
    starts = [at_ns for at_ns in plan.starts_ns if at_ns > max(plan.base_rtt_ns, 10_000_000)]
    return starts if plan.stop_ns is None else [*starts, plan.stop_ns]


def _of_flow(measurement: Measurement, flow: FlowRecord, slot_s: float) -> tuple[MetricValue, ...]:
    edges_s = _edges(measurement, flow, slot_s)
    if edges_s is None:
        reason = "the flow never received data"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    series = flow.ip_bytes(edges_s)
    found = _test(series)
    if isinstance(found, str):
        reason = f"the throughput per slot: {found}"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    off = series - series.mean()
    numbers = (found.statistic, found.p, float(off[1:] @ off[:-1]) / float(off @ off))
    return tuple(value.of(n, flow.name) for value, n in zip(VALUES, numbers, strict=True))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return whether the throughput of each requested flow is stationary."""
    slot_s = float(request.options.get("slot", SLOT_S))
    flows = measurement.sessions(request.sessions)
    return tuple(value for flow in flows for value in _of_flow(measurement, flow, slot_s))


METRIC = Metric("stationarity", VALUES, compute)
