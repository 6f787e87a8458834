"""Fairness Measurement Procedure: K, the fairness of whole sessions, with early slots weighing
most.

The sessions, their competition time, its slots, and x are those of `fairness`. For two sessions:

    J_i   = 1 - Jain's index of slot i                  0 (fair) .. 1/2 (one has all)
    d_i   = -1 if the first declared session has more in slot i, +1 if the second has, 0 for a tie
    alpha = weights of the S slots (option `weights`), strictly decreasing, their sum 1

    fmp.K            = sum_i d_i * alpha_i * J_i        -1/2 .. +1/2
    fmp.K_rel        = 2 * K                            -1 .. +1, the same on the other scale in use
    fmp.fairness     = 1 - |K|                          1/2 (unfair) .. 1 (fair)
    fmp.fairness_rel = 1 - |K_rel|                      0 (unfair) .. 1 (fair)

    weights = linear (default)  alpha_i = 2 (S + 1 - i) / (S (S + 1))
              quadratic         alpha_i = (S + 1 - i)^2 / sum_j (S + 1 - j)^2
              harmonic          alpha_i = (1 / i) / sum_j (1 / j)

The paper does not print its weights; linear ones fit its table. With three or more sessions, K is
computed for every pair over its own competition time, and the pair with the largest |K| is kept;
`fmp.K_pair` has every pair, named after both sessions. The other values cover all sessions:

    fmp.jain             = mean over slots of Jain's index
    fmp.product          = prod_k x_k, over the whole competition time
    fmp.epsilon_fairness = min_k x_k / max_k x_k, over the whole competition time

Over many configurations, the 10th percentile of fmp.fairness is the fairness that nine in ten
reach: 1 - (90th percentile of |K|).

Time series, of the kept pair: fmp.K, the sum of its terms up to the end of each slot, so that its
last value is K; fmp.jain, the mean of Jain's index up to then.

Unit: 1. Source: Corbel et al., Fairness Measurement Procedure for congestion control algorithms,
2018; RFC 5166, section 2.3 (product measure, epsilon-fairness).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, Measurement
from fairc.runtime.measurement.curves import Trace
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.measurement.slots import edges

from .base import Metric, declared
from .sharing import (
    apart,
    competition,
    dominant,
    epsilon_fairness,
    jain,
    no_slot,
    normalised,
    product,
    share,
)

FAIRNESS = declared("fmp.fairness", "1 - |K|: 1/2 is unfair, 1 fair")
FAIRNESS_REL = declared("fmp.fairness_rel", "1 - |K_rel|: 0 is unfair, 1 fair")
K = declared("fmp.K", "weighted unfairness; the sign names the dominant session of the pair")
K_REL = declared("fmp.K_rel", "2 K, from -1 to 1")
K_PAIR = declared("fmp.K_pair", "K of one pair of sessions, under the names of both")
JAIN = declared("fmp.jain", "mean of Jain's index per slot")
PRODUCT = declared("fmp.product", "product of the rates, each over its fair share")
EPSILON = declared("fmp.epsilon_fairness", "smallest over largest rate")
OF_WORST_PAIR = (FAIRNESS, FAIRNESS_REL, K, K_REL)
OF_ALL = (JAIN, PRODUCT, EPSILON)
VALUES = (*OF_WORST_PAIR, K_PAIR, *OF_ALL)

# Weights by the number of slots left, S to 1: positive and increasing, so the first slot weighs
# most.
_SHAPES: Mapping[str, Callable[[Floats], Floats]] = {
    "linear": lambda left: left,
    "quadratic": lambda left: left**2,
    "harmonic": lambda left: 1 / (left.max(initial=0) + 1 - left),
}


def weights(kind: str, slots: int) -> Floats:
    """Return alpha, shape (slots,), slots >= 1: strictly decreasing, sum 1. Raises KeyError."""
    shape = _SHAPES[kind](np.arange(slots, 0, -1, dtype=np.float64))
    alpha: Floats = shape / shape.sum()
    return alpha


def terms(x: Floats, kind: str) -> Floats:
    """Return d_i * alpha_i * J_i of two sessions, shape (S,); K is their sum. x: shape (2, S)."""
    weighed: Floats = dominant(x) * weights(kind, x.shape[1]) * (1 - jain(x))
    return weighed


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two sessions: names, x in each slot of their competition, the ends of these slots, terms of
    K.
    """

    name: str
    x: Floats
    ends_s: Floats
    terms: Floats

    @property
    def k(self) -> float:
        return float(self.terms.sum())


def _pairs(measurement: Measurement, request: MetricRequest) -> list[_Pair] | str:
    """Return every pair of the sessions, or the reason why one has no K."""
    sessions = measurement.sessions(request.sessions)
    if len(sessions) < 2:
        return "fmp needs two sessions"
    slot_s = float(request.options.get("slot", SLOT_S))
    kind = str(request.options.get("weights", "linear"))
    # Once for all pairs: every competition consists of slots of this grid.
    grid = edges(slot_s, max(flow.end_s for flow in sessions))
    names = (flow.name for flow in sessions)
    x = dict(zip(names, normalised(measurement, sessions, grid), strict=True))
    found: list[_Pair] = []
    for pair in combinations(sessions, 2):
        if alone := apart(measurement, pair):
            return alone
        time = competition(pair, slot_s, measurement.warmup_s)
        if isinstance(time, str) or len(time.edges_s) < 2:
            why = time if isinstance(time, str) else no_slot(slot_s)
            return f"{pair[0].name} and {pair[1].name}: {why}" if len(sessions) > 2 else why
        first = round(time.edges_s[0] / slot_s)
        slots = slice(first, first + len(time.edges_s) - 1)
        both = np.stack([x[flow.name][slots] for flow in pair])
        name = f"{pair[0].name}, {pair[1].name}"
        found.append(_Pair(name, both, time.edges_s[1:], terms(both, kind)))
    return found


def _worst(pairs: list[_Pair]) -> _Pair:
    """Return the pair with the largest |K|, the first of equals."""
    return max(pairs, key=lambda pair: abs(pair.k))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return K and the values that go with it for the requested sessions (default: all flows)."""
    pairs = _pairs(measurement, request)
    if isinstance(pairs, str):
        found = [value.of(None, None, pairs) for value in (*OF_WORST_PAIR, K_PAIR)]
    else:
        k = _worst(pairs).k
        numbers = (1 - abs(k), 1 - 2 * abs(k), k, 2 * k)
        found = [value.of(n) for value, n in zip(OF_WORST_PAIR, numbers, strict=True)]
        found += [K_PAIR.of(pair.k, pair.name) for pair in pairs]
    return (*found, *_of_all(measurement, request))


def _of_all(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    slot_s = float(request.options.get("slot", SLOT_S))
    shared = share(measurement, measurement.sessions(request.sessions), slot_s, "fmp")
    if isinstance(shared, str):
        return tuple(value.of(None, None, shared) for value in OF_ALL)
    whole, unknown = product(measurement, shared.whole)
    return (
        JAIN.of(float(np.mean(jain(shared.x))) if shared.slots else None, None, no_slot(slot_s)),
        PRODUCT.of(whole, None, unknown),
        EPSILON.of(epsilon_fairness(shared.whole), None, "no session had any throughput"),
    )


def traces(measurement: Measurement, request: MetricRequest) -> tuple[Trace, ...]:
    """Return the running K and the running mean of Jain's index, at the end of each slot."""
    pairs = _pairs(measurement, request)
    if isinstance(pairs, str):
        return ()
    worst = _worst(pairs)
    running = np.cumsum(jain(worst.x)) / np.arange(1, len(worst.terms) + 1)
    return (
        Trace(K.name, None, worst.ends_s, np.cumsum(worst.terms)),
        Trace(JAIN.name, None, worst.ends_s, running),
    )


METRIC = Metric("fmp", VALUES, compute, traces, figure="rates")
