"""Fairness between sessions at a bottleneck; each flow is one session, however many connections it
has.

Competition time: from the moment when every session has received its first data (but not before the
end of the warm-up) to the last byte of the session that ends first. It is divided into slots
(option `slot`, 100 ms by default, with boundaries at its multiples after the epoch), of which the S
that lie wholly inside count.

    x_k,i = throughput of session k in slot i / max-min fair throughput of session k
    j_i   = (sum_k x_k,i)^2 / (n * sum_k x_k,i^2)       1/n (one has all) .. 1 (all equal)
    d_i   = -1 if the first declared session has the larger x in slot i, +1 if the second has,
            0 for a tie

    fairness.F            = sum_i d_i * (1 - j_i) / S   -0.5 .. +0.5, for exactly two sessions
    fairness.dominance    = sign of F                   -1: the first session, +1: the second
    fairness.jain_session = Jain's index of the x over the whole competition time
    fairness.jain_slots   = sum_i j_i / S
    fairness.product          = prod_k x_k              1: everyone has the fair share; 0: one
                              starves
    fairness.epsilon_fairness = min_k x_k / max_k x_k   epsilon-fair for every epsilon >= 1 - this,
                                                        both over the whole competition time
    fairness.floor        = E[1 - J],  J = m^2 / (2 (K^2 + (m - K)^2)),  K ~ Binomial(m, 1/2)

Sessions must compete: shared bottlenecks must connect them all, directly or through other sessions.
In a network with several bottlenecks, x makes their throughputs comparable. A flow counts for the
fair throughput of the others only while it runs. A session that offers less than an equal share
(`rate`, `onoff`, `requests`: the mean load) has what it offers as its fair throughput, and the
others share the rest. What a video or a page would take is not known: there x is relative to an
equal share, and `product` is not defined. Nor is it where a flow can take several paths (Multipath
TCP; routers move it around a link that is down), and then sessions are compared only where they
have the same ones. x counts IP bytes but the fair throughput counts frames, so full frames at the
fair share give x = MTU / (MTU + 14), as `product` shows.

Throughput: IP bytes at the bottleneck's exit, apportioned by serialisation time. A starved
session counts as zero while its application is active; a slot without any data counts as equal
(j = 1). floor: the mean of 1 - j in a slot in which a coin toss assigns each of the m packets to
a session, m = full frames that the bottleneck sends in a slot; a mean 1 - j near it says nothing
about fairness.

Unit: 1 (competition_time: s). Source: Corbel et al., Assessing the Impact of QUIC on Network
Fairness, 2019 (F); Jain, Chiu and Hawe, DEC-TR-301, 1984 (index); RFC 5166, section 2.3 (product
measure, epsilon-fairness); measurement.md, rules 15 to 17.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Presentation, Value, declared
from .sharing import dominant, epsilon_fairness, jain, no_slot, product, share

_AFTER_F = Presentation(rank=4)
F = declared(
    "fairness.F",
    "session fairness; the sign names the dominant session",
    shown=Presentation(
        title="Session fairness F",
        rank=1,
        always=True,
        has_sides=True,
        beside="goodput",
        stand_in="fairness.jain_session",
        typical=0,
    ),
)
DOMINANCE = declared(
    "fairness.dominance", "-1: the first session dominates, +1: the second", shown=_AFTER_F
)
JAIN_SESSION = declared(
    "fairness.jain_session",
    "Jain's index over the competition time",
    shown=replace(_AFTER_F, title="Jain's index, session", always=True),
)
JAIN_SLOTS = declared(
    "fairness.jain_slots",
    "mean of Jain's index per slot",
    shown=replace(
        _AFTER_F, title="Jain's index, mean of slots", always=True, chance="fairness.floor"
    ),
)
FLOOR = declared(
    "fairness.floor", "1 - Jain's index of a slot that is shared by chance", shown=_AFTER_F
)
COMPETITION = declared(
    "fairness.competition_time", "time in which all sessions competed", shown=_AFTER_F
)
PRODUCT = declared(
    "fairness.product", "product of the rates, each over its fair share", shown=_AFTER_F
)
EPSILON = declared("fairness.epsilon_fairness", "smallest over largest rate", shown=_AFTER_F)
VALUES = (F, DOMINANCE, JAIN_SESSION, JAIN_SLOTS, FLOOR, COMPETITION, PRODUCT, EPSILON)


def session_fairness(x: Floats) -> float:
    """Return F. x: normalised throughput, shape (2, S), S >= 1; the first row is the first
    session.
    """
    return float(np.mean(dominant(x) * (1 - jain(x))))


def floor(packets: int) -> float:
    """Return E[1 - Jain's index] of a slot of `packets` >= 1, each given to a session by a fair
    coin.
    """
    k = np.arange(packets + 1, dtype=np.float64)
    logs = np.array([math.lgamma(i + 1) for i in range(packets + 1)])
    chance = np.exp(logs[-1] - logs - logs[::-1] - packets * math.log(2))
    return float(np.sum(chance * (1 - jain(np.stack((k, packets - k))))))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the fairness values of the requested sessions (default: all flows)."""
    sessions = measurement.sessions(request.sessions)
    slot_s = float(request.options.get("slot", SLOT_S))
    shared = share(measurement, sessions, slot_s, "fairness")
    if isinstance(shared, str):
        return tuple(value.of(None, None, shared) for value in VALUES)
    found: dict[Value, float | None] = {
        COMPETITION: shared.time.end_s - shared.time.begin_s,
        JAIN_SESSION: float(jain(shared.whole[:, None])[0]),
        EPSILON: epsilon_fairness(shared.whole),
    }
    missing = "" if shared.slots else no_slot(slot_s)
    if shared.slots:
        found[JAIN_SLOTS] = float(np.mean(jain(shared.x)))
    if len(sessions) == 2:
        found[FLOOR] = floor(_frames_per_slot(sessions, slot_s))
        if shared.slots:
            found[F] = f = session_fairness(shared.x)
            found[DOMINANCE] = float(np.sign(f))
    missing = missing or f"it is defined for two sessions, not {len(sessions)}"
    found[PRODUCT], unknown = product(measurement, shared.whole)
    reasons = {EPSILON: "no session had any throughput", PRODUCT: unknown}
    return tuple(value.of(found.get(value), None, reasons.get(value, missing)) for value in VALUES)


def _frames_per_slot(sessions: tuple[FlowRecord, ...], slot_s: float) -> int:
    rate_bps = min(flow.queue.rate_bps for flow in sessions)
    frame_bytes = max(
        flow.queue.interface.framing.bytes(flow.plan.mtu + flow.plan.header_bytes)
        for flow in sessions
    )
    return max(1, int(rate_bps * slot_s / (8 * frame_bytes)))


METRIC = Metric("fairness", VALUES, compute, figure="rates")
