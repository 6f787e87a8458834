"""Start-up of a flow: of its videos, and of its congestion window.

    startup = mean over the flow's videos of (first `playing` - connection opened)

A player starts once a given playing time is buffered (the workload's `play`). Not defined where a
video had not started when its flow was stopped or the cell ended: over repetitions that counts as
larger than any value. The table `videos` has the value of each video.

    startup.time = mean over connections of (t_end - connection accepted)
    startup.cwnd = mean over connections of the largest window sampled until t_end

Over Multipath TCP each subflow counts as a connection, one that joins later from its first sample
on. t_end: the first sample of a connection in which its first slow start is over. Over QUIC the CCA
says so: a state other than `slow_start`, `css`, `startup` (of BBR), and those of Careful Resume.
Over TCP it is over where the kernel's slow-start threshold has fallen, or where the window has
reached one that was there from the beginning. A loss and a mark lower it, HyStart sets it to the
window, and BBR as it leaves its start-up. Why it ended, as shares of the connections:

    startup.by_loss    a packet had been lost or retransmitted
    startup.by_mark    none, but the window was reduced (ECN's CWR; over QUIC a congestion event)
    startup.by_itself  neither: the CCA left by itself, as HyStart and BBR do, or at its threshold

The three shares are 1 together, less the connections that were in slow start to their end; these
are in `censored` of startup.time, whose mean is over the others. All follow from samples, every
100 ms by default: `startup.cwnd(every: 10ms)` says it to 10 ms. With samples that are further apart
than a round trip, the window may have been larger than the last one sampled, and a mark may count
as `by_itself`. The table `samples` has the slow-start threshold.

Unit: s (startup.cwnd: packets; startup.by_loss, startup.by_mark, startup.by_itself: 1).
Source: ITU-T P.1203, section 3.2.3 (initial loading delay); RFC 5681, section 3.1; RFC 9406
(HyStart++); Linux, include/net/tcp.h, `tcp_in_initial_slowstart` and `tcp_in_slow_start`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.measurement.samples import NO_THRESHOLD, STATES, Samples

from .base import Metric, asked, declared
from .videos import video_metric

VIDEO = video_metric(
    "startup",
    {declared("startup", "time until a video first plays"): lambda video: video.startup_s},
    is_wait=True,
)
LEFT_OUT = "connections were in slow start to their end and are left out, so the mean is too small"
TIME = declared("startup.time", "time until slow start ends", LEFT_OUT, bounds="mean")
CWND = declared("startup.cwnd", "largest window in slow start, as far as it was sampled")
REASONS = {
    "loss": declared("startup.by_loss", "share of the connections whose slow start a loss ended"),
    "mark": declared("startup.by_mark", "share of those whose slow start a mark ended"),
    "itself": declared("startup.by_itself", "share of those whose CCA ended it by itself"),
}
VALUES = (TIME, CWND, *REASONS.values())

_STARTING = np.array(
    [
        STATES.index(name)
        for name in (
            *("slow_start", "css", "startup"),
            *("reconnaissance", "unvalidated", "validating"),
        )
    ],
    np.float64,
)
_CWR, _RECOVERY = 2, 3


@dataclass(frozen=True, slots=True)
class _End:
    """Of the slow start of a connection: when, s after the epoch; the window; why."""

    at_s: float
    cwnd_packets: float
    reason: Literal["loss", "mark", "itself"]


def _over(samples: Samples, mine: NDArray[np.int64]) -> NDArray[np.bool_] | None:
    """Return for each sample of a connection whether slow start is over; None if nothing says."""
    state, threshold = samples.model_state[mine], samples.threshold_packets[mine]
    if not np.isnan(state).all():
        over: NDArray[np.bool_] = ~np.isnan(state) & ~np.isin(state, _STARTING)
        return over
    if np.isnan(threshold).all():
        return None
    reached = (threshold < NO_THRESHOLD) & (samples.cwnd_packets[mine] >= threshold)
    left: NDArray[np.bool_] = (threshold < threshold[0]) | reached
    return left


def _end(samples: Samples, mine: NDArray[np.int64]) -> _End | None:
    """Return the end of the slow start of a connection with these samples; None: it did not end."""
    over = _over(samples, mine)
    if over is None or not over.any():
        return None
    at = mine[int(over.argmax())]
    until = mine[: int(over.argmax()) + 1]
    kernel, events = samples.congestion_state[at], samples.congestion_events[at]
    lost = samples.retransmits[at] > 0 or kernel >= _RECOVERY
    marked = kernel == _CWR or events > 0
    return _End(
        float(samples.t_s[at]),
        float(np.nanmax(samples.cwnd_packets[until])),
        "loss" if lost else "mark" if marked else "itself",
    )


def _of_flow(flow: FlowRecord) -> tuple[MetricValue, ...]:
    samples, accepted_s = flow.endpoints.samples, flow.endpoints.accepted_s
    each = [np.flatnonzero(samples.connection == one) for one in np.unique(samples.connection)]
    known = [mine for mine in each if _over(samples, mine) is not None]
    if not known:
        reason = "the sender does not say when slow start ends"
        if not each:
            reason = "no connection of the flow is sampled"
        if flow.plan.transport == "udp":
            reason = "a flow over UDP has no window"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    ends = [(int(samples.connection[mine[0]]), _end(samples, mine)) for mine in known]
    found = [(connection, end) for connection, end in ends if end is not None]
    censored = len(ends) - len(found), len(ends)
    # A subflow that has joined a connection was not accepted as one.
    begins_s = {int(samples.connection[mine[0]]): float(samples.t_s[mine[0]]) for mine in known}
    begins_s |= accepted_s
    times = [end.at_s - begins_s[connection] for connection, end in found]
    reason = f"slow start ended in none of {len(ends)} connections"
    shares = {key: sum(end.reason == key for _, end in found) / len(ends) for key in REASONS}
    return (
        TIME.of(fmean(times) if times else None, flow.name, reason, censored=censored),
        CWND.of(fmean(end.cwnd_packets for _, end in found) if found else None, flow.name, reason),
        *(value.of(shares[key], flow.name) for key, value in REASONS.items()),
    )


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the start-up of videos, and that of the connections of each flow that has a window."""
    flows = asked(measurement, request, lambda flow: flow.plan.transport != "udp")
    windows = [value for flow in flows for value in _of_flow(flow)]
    if not flows:
        windows = [value.of(None, None, "no flow has a window") for value in VALUES]
    return (*VIDEO.compute(measurement, request), *windows)


METRIC = Metric("startup", (*VIDEO.values, *VALUES), compute)
