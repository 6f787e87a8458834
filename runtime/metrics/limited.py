"""Share of its time in which a flow is limited by its ends, not by the network or its CCA.

    limited.window_cap  = sum over connections of the time with cwnd >= cap / T
    limited.receiver    = sum over connections of (R(end) - R(begin)) / T
    limited.send_buffer = sum over connections of (S(end) - S(begin)) / T
    limited.application = over TCP  1 - sum over connections of (B(end) - B(begin)) / T
                          over QUIC sum over connections of (A(end') - A(begin)) / T'
    limited             = the largest of those that are known

T: the sum over connections of end - begin. begin: the connection's first sample after the warm-up;
end: its last one, no later than the flow's stop or the end of the cell. T': the same up to end',
the last sample at least two of the connection's largest RTTs before its end, and of a file the last
before all of it had been sent, because a sender has nothing to send while its last packets are in
flight or repaired. cap: the largest window that the CCA was given, packets; a window counts until
the next sample, and a flow without a cap has 0. R, S: time for which the receive window and the
send buffer held data back; B: time with data unsent or unacknowledged (TCP_INFO: tcpi_rwnd_limited,
tcpi_sndbuf_limited, tcpi_busy_time). A: time in which congestion control would have allowed more
than there was to send; over QUIC this includes flow control, because the stack does not distinguish
it from the application.

Unit: 1. Source: Linux, net/ipv4/tcp.c, tcp_get_info_chrono_stats; RFC 4898, section 4.5
(tcpEStatsPerfSndLimTime); measurement.md, rule 7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.measurement.samples import Samples

from .base import Metric, Value, declared, per_flow

MOST = declared("limited", "largest of the shares that are known")
CAP = declared("limited.window_cap", "share of time at the cap of the congestion window")
RECEIVER = declared("limited.receiver", "share of time held back by the receive window")
SEND_BUFFER = declared("limited.send_buffer", "share of time held back by the send buffer")
APPLICATION = declared("limited.application", "share of time without anything to send")
PARTS = (CAP, RECEIVER, SEND_BUFFER, APPLICATION)

Rows = NDArray[np.int64]
# A window is reported in whole packets, or in bytes that are converted to packets.
NEARLY = 0.5


def _cap(flow: FlowRecord, transport: str) -> float | None:
    """Return the largest window that a flow's CCA was given over a transport, packets; None without
    one.
    """
    cap = flow.plan.parameters_over(transport).get("max_window_packets")
    return None if cap is None else float(cap)


def _at_cap_s(samples: Samples, ours: Rows, cap: float | None) -> float:
    if cap is None:
        return 0.0
    at = samples.cwnd_packets[ours][:-1] >= cap - NEARLY
    return float(np.diff(samples.t_s[ours])[at].sum())


def _grown(column: NDArray[np.float64], ours: Rows) -> float:
    return float(column[ours[-1]] - column[ours[0]])


def shares(measurement: Measurement, flow: FlowRecord) -> Iterator[tuple[Value, float]]:
    """Yield the known shares of a flow; none without samples."""
    samples = flow.endpoints.samples
    over = flow.endpoints.transports
    counted = measurement.counts(samples.t_s) & flow.before_stop
    spans: list[tuple[str, Rows]] = []
    for connection in np.unique(samples.connection):
        mine = (samples.connection == connection) & counted
        ours = np.flatnonzero(mine)
        if len(ours) > 1 and samples.t_s[ours[-1]] > samples.t_s[ours[0]]:
            spans.append((over.get(int(connection), flow.plan.transport), ours))

    def share(of: Callable[[str, Rows], float], rows: list[tuple[str, Rows]]) -> float | None:
        total_s = sum(_grown(samples.t_s, ours) for _, ours in rows)
        limited_s = sum(of(transport, ours) for transport, ours in rows)
        known = total_s > 0 and np.isfinite(limited_s)
        return min(1.0, max(0.0, limited_s / total_s)) if known else None

    def idle_s(transport: str, ours: Rows) -> float:
        if transport == "quic":
            return _grown(samples.app_limited_s, ours)
        return _grown(samples.t_s, ours) - _grown(samples.busy_s, ours)

    sent = [(t, flow.while_sending(ours) if t == "quic" else ours) for t, ours in spans]
    parts = (
        (CAP, share(lambda t, ours: _at_cap_s(samples, ours, _cap(flow, t)), spans)),
        (RECEIVER, share(lambda _, ours: _grown(samples.rwnd_limited_s, ours), spans)),
        (SEND_BUFFER, share(lambda _, ours: _grown(samples.sndbuf_limited_s, ours), spans)),
        (APPLICATION, share(idle_s, sent)),
    )
    yield from ((value, number) for value, number in parts if number is not None)


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    found = dict(shares(measurement, flow))
    why = "the sender does not report it" if found else "the sender has fewer than two samples"
    if found and flow.plan.transport in ("quic", "web"):
        why = "the QUIC stack does not report it"
    most = max(found.values(), default=None)
    return (
        MOST.of(most, flow.name, why),
        *(value.of(found.get(value), flow.name, why) for value in PARTS),
    )


METRIC = Metric("limited", (MOST, *PARTS), per_flow(_of_flow))
