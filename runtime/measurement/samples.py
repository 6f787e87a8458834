"""The state of a flow's connections over time, from the samples of its server, over any
transport.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.runtime.arrays import Floats

from .artefacts import NS, US, ArtefactError, field


@dataclass(frozen=True, slots=True)
class Samples:
    """The sender's view of its connections, each column of shape (samples,), in order of
    time.

    connection: number of the connection. t_s: after the epoch. in_flight_packets: sent, neither
    acknowledged nor declared lost. rtt_s: smoothed, 0 before the first measurement. packet_bytes:
    payload of a full TCP segment or UDP datagram. retransmits: segments retransmitted over TCP,
    packets declared lost over QUIC. rwnd_limited_s, sndbuf_limited_s: time limited by the receiver
    (window, flow control) and by the send buffer. app_limited_s: time in which congestion control
    allowed more than there was to send, because of the application, the send buffer or flow
    control.
    busy_s: time with data unsent or unacknowledged. These four count from the connection's start.
    sent_bytes: UDP payload sent, without packets declared lost, over QUIC.
    congestion_state: the kernel's, 0 Open to 4 Loss. congestion_events: reductions of the window
    over QUIC. threshold_packets: slow-start threshold; over TCP `NO_THRESHOLD` where there is none.
    model_state: of a CCA that says so, an index into `STATES`; then what it estimates:
    probe_cycle: cycles of probing so far; max_bw_bps: bandwidth; model_min_rtt_s: RTT without a
    queue; longterm_bytes, shortterm_bytes: bounds of the bytes in flight; alpha: share of packets
    that are marked.
    NaN where the transport has no such value, or none yet.
    """

    connection: NDArray[np.int64]
    t_s: Floats
    cwnd_packets: Floats
    in_flight_packets: Floats
    rtt_s: Floats
    min_rtt_s: Floats
    pacing_bps: Floats
    packet_bytes: Floats
    retransmits: Floats
    rwnd_limited_s: Floats
    sndbuf_limited_s: Floats
    app_limited_s: Floats
    busy_s: Floats
    sent_bytes: Floats
    congestion_state: Floats
    congestion_events: Floats
    threshold_packets: Floats
    model_state: Floats
    probe_cycle: Floats
    max_bw_bps: Floats
    model_min_rtt_s: Floats
    longterm_bytes: Floats
    shortterm_bytes: Floats
    alpha: Floats


NO_THRESHOLD = 2**31 - 1
"""The kernel's slow-start threshold before the first reduction (TCP_INFINITE_SSTHRESH)."""

STATES = (
    *("slow_start", "css", "congestion_avoidance"),
    *("startup", "drain", "probe_bw"),
    *("probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up"),
    *("probe_rtt", "recovery"),
    *("default", "competitive"),
    *("reconnaissance", "unvalidated", "validating", "safe_retreat"),
)
"""States of the CCAs that say theirs: of windows that grow, of BBR (version 1 has one
`probe_bw`, version 3 four), of Copa, of Careful Resume."""


@dataclass(frozen=True, slots=True)
class _Source:
    """How a column is made from fields of the `sample` event; without fields it is unknown."""

    fields: tuple[str, ...] = ()
    make: Callable[..., Floats] = lambda *columns: columns[0]


def _in(unit: float) -> Callable[[Floats], Floats]:
    def scaled(column: Floats) -> Floats:
        seconds: Floats = column * unit
        return seconds

    return scaled


def _packets(size: Floats, packet: Floats) -> Floats:
    """Return sizes in packets; NaN where a packet has no size."""
    unknown = np.full(len(size), np.nan)
    packets: Floats = np.divide(size, packet, out=unknown, where=packet > 0)
    return packets


def _tcp_in_flight(unacked: Floats, sacked: Floats, lost: Floats, retrans_out: Floats) -> Floats:
    """Return what the kernel's `tcp_packets_in_flight` (include/net/tcp.h) returns."""
    return unacked - sacked - lost + retrans_out


_UNKNOWN = _Source()
# Of CCAs that say what they do: those over QUIC, and version 3 of BBR over TCP.
_MODEL = {
    "model_state": _Source(("state",)),
    "max_bw_bps": _Source(("max_bw_bps",)),
    "model_min_rtt_s": _Source(("path_min_rtt_us",), _in(US)),
    "longterm_bytes": _Source(("inflight_longterm_bytes",)),
    "shortterm_bytes": _Source(("inflight_shortterm_bytes",)),
}
_TRANSPORTS: Mapping[str, Mapping[str, _Source]] = {
    "tcp": {
        "cwnd_packets": _Source(("cwnd",)),
        "in_flight_packets": _Source(("unacked", "sacked", "lost", "retrans_out"), _tcp_in_flight),
        "rtt_s": _Source(("rtt_us",), _in(US)),
        "min_rtt_s": _Source(("min_rtt_us",), _in(US)),
        "pacing_bps": _Source(("pacing_bps",)),
        "packet_bytes": _Source(("mss",)),
        "retransmits": _Source(("retransmits",)),
        "rwnd_limited_s": _Source(("rwnd_limited_us",), _in(US)),
        "sndbuf_limited_s": _Source(("sndbuf_limited_us",), _in(US)),
        "busy_s": _Source(("busy_us",), _in(US)),
        "congestion_state": _Source(("ca_state",)),
        "threshold_packets": _Source(("ssthresh",)),
        **_MODEL,
    },
    "quic": {
        "cwnd_packets": _Source(("cwnd_bytes", "mtu"), _packets),
        "in_flight_packets": _Source(("in_flight_bytes", "mtu"), _packets),
        "rtt_s": _Source(("rtt_us",), _in(US)),
        "min_rtt_s": _Source(("min_rtt_us",), _in(US)),
        "pacing_bps": _Source(("pacing_bps",)),
        "packet_bytes": _Source(("mtu",)),
        "retransmits": _Source(("packets_lost",)),
        "rwnd_limited_s": _Source(("flow_limited_us",), _in(US)),
        "app_limited_s": _Source(("app_limited_us",), _in(US)),
        "sent_bytes": _Source(("bytes_sent", "bytes_lost"), np.subtract),
        "congestion_events": _Source(("congestion_events",)),
        "threshold_packets": _Source(("ssthresh_bytes", "mtu"), _packets),
        **_MODEL,
        "probe_cycle": _Source(("cycle",)),
        "alpha": _Source(("alpha_ppm",), _in(1e-6)),
    },
    # A sender of datagrams has no state that could be sampled.
    "udp": {},
}
_MAY_BE_NULL = frozenset(
    {"min_rtt_us", "pacing_bps", "flow_limited_us", "app_limited_us", "in_flight_bytes"}
    | {"ssthresh_bytes"}
)
_NAMED = frozenset({"state"})
# Not written by endpoints older than these fields, whose raw data can still be read.
_MAY_BE_ABSENT = frozenset({"sacked", "retrans_out", "app_limited_us", "busy_us", "ca_state"}) | {
    # Of some CCAs only.
    *("ssthresh_bytes", "state", "cycle", "max_bw_bps", "path_min_rtt_us"),
    *("inflight_longterm_bytes", "inflight_shortterm_bytes", "alpha_ppm"),
}


def read(events: list[dict[str, Any]], transport: str, file: str) -> Samples:
    """Return the `sample` events of one flow as columns. Raises ArtefactError."""
    events = sorted(events, key=lambda e: (e["t_ns"], field(e, "connection", file)))
    absent = _MAY_BE_ABSENT.difference(*events)

    def number(event: Mapping[str, Any], key: str) -> float:
        value = event.get(key, 0)
        if (key in _MAY_BE_NULL and value is None) or (key in _MAY_BE_ABSENT and key not in event):
            return math.nan
        if key in _NAMED:
            return _state(event[key], file)
        return field(event, key, file)

    def column(source: _Source) -> Floats:
        if absent.issuperset(source.fields):
            return np.full(len(events), np.nan)
        return source.make(*(np.array(numbers(key), np.float64) for key in source.fields))

    def numbers(key: str) -> Sequence[float]:
        values: list[Any] = [event.get(key) for event in events]
        # All integers, the usual case; otherwise values are checked one by one.
        return values if set(map(type, values)) == {int} else [number(e, key) for e in events]

    sources = _TRANSPORTS[transport]
    names = (name for name in Samples.__slots__ if name not in ("connection", "t_s"))
    return Samples(
        connection=np.array([field(e, "connection", file) for e in events], np.int64),
        t_s=np.array([e["t_ns"] for e in events], np.float64) * NS,
        **{name: column(sources.get(name, _UNKNOWN)) for name in names},
    )


def _state(name: Any, file: str) -> float:
    """Return the number of a state. Raises ArtefactError for an unknown one."""
    if name not in STATES:
        raise ArtefactError(f"{file}: a sample has the unknown state {name!r}")
    return float(STATES.index(name))


def joined(parts: Sequence[Samples]) -> Samples:
    """Return the samples of several transports as one, in order of time."""
    columns = {n: np.concatenate([getattr(p, n) for p in parts]) for n in Samples.__slots__}
    order = np.lexsort((columns["connection"], columns["t_s"]))
    return Samples(**{name: column[order] for name, column in columns.items()})
