"""Differences between transports apart from their congestion control (measurement.md, rule 6).

Each condition is given for every flow: as the endpoints report it if they do, else as planned or as
the implementation is known to behave; for page loads, for each transport that they ran over. A
condition in which two transports differ is a confounder: the report lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairc.compiler.plan import Cell
from fairc.runtime.formatting import quantity
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.pcap import TCP, UDP
from fairc.runtime.measurement.results import FlowCondition
from fairc.runtime.measurement.slow_start import is_split
from fairc.words.ccas import CCAS_OVER

# Windows within this share of the planned one count as equal to it.
ROUNDED = 0.01

UNKNOWN = "the image's own"
"""The value for a third-party image, which reports nothing; its packets show only SEEN."""
NO_LIMIT = "no limit"
UNLIMITED_BYTES = 2**27
"""A window that is as large as Linux allows is larger, however much memory a packet takes."""
SEEN = frozenset({"packet size"})


@dataclass(frozen=True, slots=True)
class Side:
    """A flow over one transport, `tcp` or `quic`; its connections over the other are left out."""

    cell: Cell
    flow: FlowRecord
    transport: str

    @property
    def is_web(self) -> bool:
        """Whether it loads pages."""
        return self.flow.loads_pages

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Parameters of its CCA."""
        return self.flow.plan.parameters_over(self.transport)

    def reported(self, event: str, key: str) -> list[Any]:
        """Return the distinct values of a field of an event; empty where it is not reported."""
        over = self.flow.endpoints.transports
        values = {
            e[key]
            for e in self.flow.endpoints.reports[event]
            if isinstance(e.get(key), int)
            and over.get(e.get("connection", -1), self.transport) == self.transport
        }
        return sorted(values)


Describe = Callable[[Side], str]
"""Describes a condition for a flow; empty where the flow has none of the kind."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: its name, its meaning in one line, and a function that describes it for a
    flow.
    """

    name: str
    meaning: str
    describe: Describe


def conditions(measurement: Measurement) -> tuple[FlowCondition, ...]:
    """Return every condition of every flow with congestion control: UDP is not compared."""
    return tuple(
        FlowCondition(
            flow=side.flow.name, transport=side.transport, condition=condition.name, value=value
        )
        for flow in measurement.flows
        if flow.plan.cca is not None or flow.plan.image is not None
        for side in _sides(measurement.cell, flow)
        for condition in CONDITIONS
        if (
            value := UNKNOWN
            if flow.plan.image is not None and condition.name not in SEEN
            else condition.describe(side)
        )
    )


def _sides(cell: Cell, flow: FlowRecord) -> tuple[Side, ...]:
    used = set(flow.endpoints.transports.values()) if flow.loads_pages else {flow.plan.transport}
    return tuple(Side(cell, flow, transport) for transport in ("tcp", "quic") if transport in used)


def _span(values: list[Any], of: Callable[[Any], str]) -> str:
    """Return one value, or the least and the greatest of several sorted ones."""
    return " to ".join(dict.fromkeys((of(values[0]), of(values[-1]))))


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _packets(value: float) -> str:
    return f"{value:g} packets"


def _bytes(value: float) -> str:
    """Return a size as it is set; from 1 MB on, to three digits.

    >>> _bytes(1500), _bytes(64_000), _bytes(2_147_483_647)
    ('1500 B', '64 kB', '2.15 GB')
    """
    if value < 1e6:
        return f"{value:g} B" if value < 10_000 else f"{value / 1000:g} kB"
    return quantity(value, "B")


def _ecn(side: Side) -> str:
    agreed = side.reported("accepted", "ecn") or side.reported("listening", "ecn")
    if any(side.reported("accepted", "accurate_ecn")):
        return "on, accurate"
    return _span(agreed or [side.flow.plan.options.ecn], _switch)


def _pacing(side: Side) -> str:
    reported = side.reported("listening", "pacing")
    if side.is_web:  # one server for both: over QUIC its stack always paces
        reported = [side.transport == "quic" or side.flow.plan.options.pacing]
    return _span(reported or [side.flow.plan.options.pacing], _switch)


def _initial_window(side: Side) -> str:
    return _span([side.flow.plan.options.initial_window_packets], _packets)


def _packet(side: Side) -> str:
    """Return the largest IP packet that left the bottleneck, after the initial size where it
    grew.
    """
    flow = side.flow
    protocol = {"tcp": TCP, "quic": UDP}[side.transport]
    each = (
        one.queue.left.ip_bytes[one.left & (one.queue.left.protocol == protocol)]
        for one in flow.passages
    )
    sizes, samples = np.concatenate([*each]), flow.endpoints.samples
    over = flow.endpoints.transports
    mine = [over.get(int(c), side.transport) == side.transport for c in samples.connection]
    payload = samples.packet_bytes[np.array(mine, np.bool_)]
    if not len(sizes):
        return "none seen"
    largest = int(sizes.max())
    growth = int(payload.max(initial=0) - payload.min(initial=largest)) if len(payload) else 0
    return _bytes(largest) if growth <= 0 else f"{_bytes(largest - growth)} to {_bytes(largest)}"


def _hystart(side: Side) -> str:
    if side.parameters.get("slow_start") == "hystartpp":
        return "HyStart++ (RFC 9406)"
    known, cca = CCAS_OVER[side.transport], side.flow.plan.cca or ""
    parameter = known[cca].fields.get("hystart") if cca in known else None
    if parameter is None:
        return "none"
    return _switch(bool(side.parameters.get("hystart", parameter.initial)))


def _window_cap(side: Side) -> str:
    cap = side.parameters.get("max_window_packets")
    return "none" if cap is None else _packets(cap)


def _send_buffer(side: Side) -> str:
    planned, unsent = side.flow.plan.sender_bytes, side.flow.plan.options.notsent_lowat_bytes
    size = NO_LIMIT if planned is None else _bytes(planned)
    if unsent is None or side.transport != "tcp":
        return size
    return f"{size}; refilled below {_bytes(unsent)} beyond the window"


def _receive_window(side: Side) -> str:
    if side.flow.plan.browser:
        return _CHROMIUM_WINDOWS[side.transport]
    flow = side.flow.plan
    planned = flow.options.receive_window_bytes or flow.receive_buffer_bytes
    reported = side.reported("connected", "receive_window_bytes")
    if planned is None:  # the system may have limited what was to have no limit
        limited = [b for b in reported if b < UNLIMITED_BYTES]
        return _span(limited, _bytes) if limited else NO_LIMIT
    # Linux rounds to whole segments: that is no difference.
    return _span([b for b in reported if abs(b - planned) > ROUNDED * planned] or [planned], _bytes)


# The browser's own windows: grown by its host's kernel, and by its QUIC stack.
_CHROMIUM_WINDOWS: Mapping[str, str] = {
    "tcp": "as the kernel grows it (tcp_rmem)",
    "quic": "as Chromium grows it, up to 15 MB",
}


def _acknowledgements(side: Side) -> str:
    if side.flow.plan.browser and side.transport == "quic":
        # QUICHE, quic_received_packet_manager.cc: ack decimation after 100 packets.
        return "every second packet, after 100 packets every tenth; at the latest after RTT / 4"
    return _ACKNOWLEDGEMENTS[side.transport]


def _idle_restart(side: Side) -> str:
    given, cca = side.flow.plan.options.idle_restart, side.flow.plan.cca or ""
    known = CCAS_OVER[side.transport]
    if cca in known and not known[cca].restarts:
        return f"none: {cca} follows a model of the path"
    if given is None:
        given = side.transport == "tcp"
    # RFC 2861; Linux: tcp_cwnd_restart; endpoints: congestion/adapter.rs.
    return "halved for each RTO, at least the initial window" if given else "none"


def _probes(side: Side) -> str:
    least_ms = side.flow.plan.options.min_rto_ms
    if side.transport != "tcp" or least_ms is None:
        return _PROBES[side.transport]
    return _PROBES["tcp"].replace("200 ms", f"{least_ms} ms")


def _idle_timeout(side: Side) -> str:
    if side.flow.plan.browser and side.transport == "quic":
        return "Chromium's"
    timeout_ns = side.flow.plan.idle_timeout_ns
    return "none" if timeout_ns is None else quantity(timeout_ns * NS, "s")


def _keep_alive(side: Side) -> str:
    return "Chromium's" if side.flow.plan.browser and side.transport == "quic" else "none"


def _http_windows(side: Side) -> str:
    """Return what HTTP's own flow control offers: for each response, and for all of them."""
    if not side.is_web:
        return ""
    if side.flow.plan.browser:
        return "Chromium's"
    if side.transport == "quic":
        return "those of QUIC"
    if "h2" not in side.flow.plan.workload.http_versions:
        return "none (HTTP/1.1)"
    limit = side.flow.plan.options.receive_window_bytes or side.flow.plan.receive_buffer_bytes
    return f"{_bytes(limit or MOST_HTTP2_WINDOW)} each, and together"


def _split(side: Side) -> str:
    protocol = "h3" if side.transport == "quic" else "h2"
    if not is_split(side.cell, side.flow.plan, protocol):
        return "none: end to end"
    port = side.flow.plan.port
    return next(each.splitting for each in side.cell.devices if port in each.split_ports)


def _handshake(side: Side) -> str:
    handshakes = _WEB_HANDSHAKES if side.is_web else _HANDSHAKES
    return handshakes[side.transport]


MOST_HTTP2_WINDOW = 2**31 - 1
"""RFC 9113, section 6.9.1, bytes: what the client offers where no window is given."""

_HANDSHAKE_RETRIES: Mapping[str, str] = {
    # TCP_SYNCNT of endpoints/src/socket.rs; RFC 6298, section 2.
    "tcp": "up to 20, the first after 1 s, then after twice the time",
    # RFC 9002, section 6.2.2: twice the initial RTT of 333 ms.
    "quic": "as often as it takes, the first after 1 s, then after twice the time",
}
_LOSS_DETECTION: Mapping[str, str] = {
    # Linux: net/ipv4/tcp_recovery.c.
    "tcp": "3 later segments, or (after reordering) least RTT / 4 (RACK, RFC 8985)",
    # RFC 9002, sections 6.1.1 and 6.1.2; quinn-proto, config/transport.rs.
    "quic": "3 later packets, or 9/8 of the RTT (RFC 9002)",
}
_PROBES: Mapping[str, str] = {
    # Linux: net/ipv4/tcp_timer.c, net.ipv4.tcp_retries2; include/net/tcp.h.
    "tcp": "after an RTO (at least 200 ms over the RTT), then twice the time, up to 120 s; given up"
    " after about 15 min (tcp_retries2 = 15)",
    # RFC 9002, section 6.2; quinn-proto, connection/mod.rs: the time doubles up to 16 times.
    "quic": "after a PTO (RTT, 4 deviations and 25 ms), then twice the time; never given up, but"
    " for an idle timeout",
}
_ACKNOWLEDGEMENTS: Mapping[str, str] = {
    # Linux: net/ipv4/tcp_input.c, __tcp_ack_snd_check; TCP_DELACK_MIN.
    "tcp": "each segment at first, then every second; at the latest after 40 ms",
    # RFC 9000, section 13.2.2, and the default max_ack_delay of section 18.2.
    "quic": "every second packet; at the latest after 25 ms",
}
_HANDSHAKES: Mapping[str, str] = {
    "tcp": "1 round trip, not encrypted",
    "quic": "1 round trip, encrypted (TLS 1.3)",
}
_WEB_HANDSHAKES: Mapping[str, str] = {
    "tcp": "2 round trips: of TCP, then of TLS 1.3",
    "quic": "1 round trip, including TLS 1.3",
}


CONDITIONS: tuple[Condition, ...] = (
    Condition("ECN", "whether the ends negotiated it", _ecn),
    Condition("pacing", "whether the sender spaces its packets", _pacing),
    Condition("initial window", "congestion window before the first data", _initial_window),
    Condition("packet size", "largest IP packet", _packet),
    Condition(
        "acknowledgements",
        "when the receiver sends one, if no packet is missing",
        _acknowledgements,
    ),
    Condition("HyStart", "whether slow start ends on a growing RTT", _hystart),
    Condition("send buffer", "of a connection", _send_buffer),
    Condition("receive window", "largest window that the receiver offers", _receive_window),
    Condition("window cap", "largest congestion window", _window_cap),
    Condition("HTTP windows", "what HTTP's own flow control offers", _http_windows),
    Condition("handshake", "before the request can be sent", _handshake),
    Condition(
        "handshake retries",
        "how often its first packet is repeated",
        lambda side: _HANDSHAKE_RETRIES[side.transport],
    ),
    Condition(
        "loss detection",
        "what must have been acknowledged for an earlier packet to be lost",
        lambda side: _LOSS_DETECTION[side.transport],
    ),
    Condition("probes", "when data is repeated of which nothing is heard", _probes),
    Condition("idle restart", "congestion window after an idle time", _idle_restart),
    Condition("idle timeout", "silence that ends a connection", _idle_timeout),
    Condition("keep-alive", "what is sent to keep an idle connection", _keep_alive),
    Condition(
        "split connection", "whether something between the hosts terminates connections", _split
    ),
)
