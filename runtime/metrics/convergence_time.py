"""Convergence time: how long sessions take until each has its fair share, within a tolerance.

    s_k(t) = x_k(t) / sum_j x_j(t)      share of session k in the window (t - over, t]
    fair   : (1 - delta) / n <= s_k(t) <= (1 + delta) / n for every session k

    convergence_time         = t - begin, t the end of the first window that is fair
    convergence_time.reached = 1 if there is such a window, else 0
    convergence_time.held    = share of the windows from then on that are fair

x is that of `fairness`; begin is the moment when the last session receives its first data, or
`from` where that is later; windows end by `to`: `convergence_time(f, from: 20s, to: 40s)` is how
long sessions take after 20 s. delta (option `tolerance`) is 10 % and the window (option `over`) 1 s
by default; windows advance by one slot (option `slot`) and lie wholly inside the competition.
Without `from` the warm-up is included, because convergence happens in it.

For two sessions this is the delta-fair convergence time: until their shares are between (1 -
delta)/2 and (1 + delta)/2. In the paper one flow starts with nearly all of the bandwidth; here the
spec decides how flows start, so let one run alone before the other starts. A cell that does not
converge has no value; over repetitions it counts as larger than any value in medians and
percentiles. A mean leaves it out, with a remark.

Unit: s (reached, held: 1). Source: Bansal, Balakrishnan, Floyd and Shenker, Dynamic behavior of
slowly-responsive congestion control algorithms, SIGCOMM 2001, section 3.2 (delta = 0.1); RFC 5166,
section 2.3.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Floats
from fairc.runtime.measurement import SLOT_S, Measurement
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared
from .sharing import share

TIME = declared("convergence_time", "until every session has its fair share")
REACHED = declared("convergence_time.reached", "1 if the sessions converged, else 0")
HELD = declared("convergence_time.held", "share of the time from then on with fair shares")
VALUES = (TIME, REACHED, HELD)
TOLERANCE = 0.1
OVER_S = 1.0


def fair_windows(x: Floats, length: int, tolerance: float) -> np.ndarray:
    """Return which moving windows are fair, shape (S - length + 1,).

    x: shape (n, S), S >= length >= 1.
    """
    sums = np.cumsum(np.pad(x, ((0, 0), (1, 0))), axis=1)
    window = sums[:, length:] - sums[:, :-length]
    total = window.sum(axis=0)
    shares = np.divide(window, total, out=np.zeros_like(window), where=total > 0)
    n = len(x)
    # A window exactly at the limit is fair, however the sums are rounded.
    fair = np.abs(shares - 1 / n) <= tolerance / n + 1e-9
    return np.asarray(fair.all(axis=0) & (total > 0))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the convergence time of the requested sessions (default: all flows)."""
    option = request.options.get
    slot_s, over_s = float(option("slot", SLOT_S)), float(option("over", OVER_S))
    sessions = measurement.sessions(request.sessions)
    shared = share(measurement, sessions, slot_s, "convergence_time", warm=False)
    if isinstance(shared, str):
        return tuple(value.of(None, None, shared) for value in VALUES)
    length = max(1, round(over_s / slot_s))
    if shared.slots < length:
        reason = f"the sessions competed for less than one window of {length * slot_s:g} s"
        return tuple(value.of(None, None, reason) for value in VALUES)
    fair = fair_windows(shared.x, length, float(option("tolerance", TOLERANCE)))
    time = shared.time
    if not fair.any():
        reason = f"no window was fair in {time.end_s - time.begin_s:.3g} s of competition"
        never = TIME.of(None, None, reason, censored=(1, 1))
        return never, REACHED.of(0.0), HELD.of(None, None, reason)
    first = int(np.argmax(fair))
    end_s = float(time.edges_s[first + length])
    return (
        TIME.of(end_s - time.begin_s, censored=(0, 1)),
        REACHED.of(1.0),
        HELD.of(float(fair[first:].mean())),
    )


METRIC = Metric("convergence_time", VALUES, compute)
