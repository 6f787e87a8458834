"""Fairness between sessions at a bottleneck; a flow is one session, whatever its connections.

Competition time: from the moment when every session has had its first data (not before the
warm-up) to the last byte of the first one that ends. It is divided into slots (option `slot`,
100 ms by default, borders at its multiples after the epoch); the S slots that lie wholly inside
count.

    x_k,i = throughput of session k in slot i / max-min fair throughput of session k
    j_i   = (sum_k x_k,i)^2 / (n * sum_k x_k,i^2)       1/n (one has all) .. 1 (all equal)
    d_i   = -1 if the first declared session has the larger x in slot i, +1 if the second has,
            0 for a tie

    fairness.F            = sum_i d_i * (1 - j_i) / S   -0.5 .. +0.5, for exactly two sessions
    fairness.dominance    = sign of F                   -1: the first session, +1: the second
    fairness.jain_session = Jain's index of the x over the whole competition time
    fairness.jain_slots   = sum_i j_i / S
    fairness.floor        = E[1 - J],  J = m^2 / (2 (K^2 + (m - K)^2)),  K ~ Binomial(m, 1/2)

Sessions must compete: each crosses the bottleneck of another one, so that no two groups of them
are apart; in a network of several bottlenecks x is what makes their throughputs comparable.

Throughput: IP bytes at the bottleneck's exit, apportioned by serialisation time. A starved
session counts as zero while its application is active; a slot without any data counts as equal
(j = 1). floor: what 1 - j is on average in a slot whose m packets each belong to either session
by the toss of a coin, m = full frames that the bottleneck sends in a slot; a mean 1 - j near it
says nothing about fairness.

Unit: 1 (competition_time: s). Source: Corbel et al., Assessing the Impact of QUIC on Network
Fairness, 2019 (F); Jain, Chiu and Hawe, DEC-TR-301, 1984 (index); measurement.md, rules 15 to 17.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.results import MetricValue

from .base import Metric, Value

Floats = NDArray[np.float64]
FULL_FRAME_BYTES = 1514

F = Value("fairness.F", "1", "session fairness; the sign names the dominant session")
DOMINANCE = Value("fairness.dominance", "1", "-1: the first session dominates, +1: the second")
JAIN_SESSION = Value("fairness.jain_session", "1", "Jain's index over the competition time")
JAIN_SLOTS = Value("fairness.jain_slots", "1", "mean of Jain's index per slot")
FLOOR = Value("fairness.floor", "1", "1 - Jain's index of a slot that is shared by chance")
COMPETITION = Value("fairness.competition_time", "s", "time in which all sessions competed")
VALUES = (F, DOMINANCE, JAIN_SESSION, JAIN_SLOTS, FLOOR, COMPETITION)


@dataclass(frozen=True, slots=True)
class Competition:
    """The time in which all sessions compete, s after the epoch, and the whole slots in it.

    edges_s: shape (S + 1,), S >= 0.
    """

    begin_s: float
    end_s: float
    edges_s: Floats


def jain(x: Floats) -> Floats:
    """Return Jain's index of each column; x: shape (sessions, slots), >= 0. All zero gives 1."""
    squares = len(x) * np.sum(x * x, axis=0)
    index: Floats = np.divide(
        np.sum(x, axis=0) ** 2, squares, out=np.ones(x.shape[1]), where=squares > 0
    )
    return index


def session_fairness(x: Floats) -> float:
    """Return F; x: normalised throughput, shape (2, S), S >= 1; the first row is session A."""
    dominant = np.sign(x[1] - x[0])
    return float(np.mean(dominant * (1 - jain(x))))


def floor(packets: int) -> float:
    """Return E[1 - Jain] of a slot of `packets` >= 1, each of either session by a fair coin."""
    k = np.arange(packets + 1, dtype=np.float64)
    logs = np.array([math.lgamma(i + 1) for i in range(packets + 1)])
    chance = np.exp(logs[-1] - logs - logs[::-1] - packets * math.log(2))
    return float(np.sum(chance * (1 - jain(np.stack((k, packets - k))))))


def competition(
    measurement: Measurement, sessions: tuple[FlowRecord, ...], slot_s: float
) -> Competition | str:
    """Return when the sessions compete, or in words why they never do."""
    firsts: list[float] = []
    for flow in sessions:
        if flow.endpoints.first_byte_s is None:
            return f"flow {flow.name} never received data, so the sessions never competed"
        firsts.append(flow.endpoints.first_byte_s)
    begin = max(*firsts, measurement.warmup_s)
    end = min(flow.end_s for flow in sessions)
    if end <= begin:
        return "one session ended before the other had its first data"
    first, last = math.ceil(begin / slot_s - 1e-9), math.floor(end / slot_s + 1e-9)
    return Competition(begin, end, np.arange(first, max(first, last) + 1, dtype=float) * slot_s)


def apart(measurement: Measurement, sessions: tuple[FlowRecord, ...]) -> str:
    """Return in words which sessions share no bottleneck with the others; empty if all compete."""
    bottlenecks = {flow.queue.place for flow in sessions}
    crossed = {flow.name: bottlenecks & set(measurement.paths.of(flow.plan)) for flow in sessions}
    together, reached = {sessions[0].name}, set(crossed[sessions[0].name])
    while more := {n for n, places in crossed.items() if places & reached} - together:
        together |= more
        reached |= {place for name in more for place in crossed[name]}
    others = [flow.name for flow in sessions if flow.name not in together]
    if not others:
        return ""
    return (
        f"{', '.join(others)} and {', '.join(sorted(together))} share no bottleneck,"
        " so they do not compete"
    )


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the fairness values of the requested sessions (default: all flows)."""
    sessions = measurement.sessions(request.sessions)
    slot_s = float(request.options.get("slot", SLOT_S))
    if len(sessions) < 2:
        return tuple(value.of(None, None, "fairness needs two sessions") for value in VALUES)
    alone = apart(measurement, sessions)
    if alone:
        return tuple(value.of(None, None, alone) for value in VALUES)
    time = competition(measurement, sessions, slot_s)
    if isinstance(time, str):
        return tuple(value.of(None, None, time) for value in VALUES)
    found = {COMPETITION: time.end_s - time.begin_s}
    whole = _normalised(measurement, sessions, np.array([time.begin_s, time.end_s]))
    found[JAIN_SESSION] = float(jain(whole)[0])
    missing = ""
    if len(time.edges_s) < 2:
        missing = f"the sessions competed for less than one whole slot of {slot_s:g} s"
    else:
        x = _normalised(measurement, sessions, time.edges_s)
        found[JAIN_SLOTS] = float(np.mean(jain(x)))
        if len(sessions) == 2:
            found[F] = session_fairness(x)
            found[DOMINANCE] = float(np.sign(found[F]))
    if len(sessions) == 2:
        found[FLOOR] = floor(_frames_per_slot(sessions, slot_s))
    else:
        missing = missing or f"it is defined for two sessions, here are {len(sessions)}"
    return tuple(value.of(found.get(value), None, missing) for value in VALUES)


def _normalised(
    measurement: Measurement, sessions: tuple[FlowRecord, ...], edges_s: Floats
) -> Floats:
    """Return x, shape (sessions, slots): throughput over the max-min fair throughput."""
    shares = measurement.fair_share_bps
    rates = [8 * flow.ip_bytes(edges_s) / np.diff(edges_s) / shares[flow.name] for flow in sessions]
    return np.stack(rates)


def _frames_per_slot(sessions: tuple[FlowRecord, ...], slot_s: float) -> int:
    rate_bps = min(flow.queue.rate_bps for flow in sessions)
    return max(1, int(rate_bps * slot_s / (8 * FULL_FRAME_BYTES)))


METRIC = Metric("fairness", VALUES, compute)
