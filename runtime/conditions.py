"""What transports may differ in beside their congestion control (measurement.md, rule 6).

Each condition is told for every flow, as the endpoints report it where they do, else as the plan has it
or as the implementation is known to behave. Where two transports of a cell differ in one, it is a
confounder: the report lists it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .measurement import FlowRecord, Measurement
from .results import FlowCondition

# Windows that are nearer than this to the plan's are the plan's.
ROUNDED = 0.01

Tell = Callable[[FlowRecord], str]


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: its name, what it means in a line, and how it is told of a flow, in words."""

    name: str
    meaning: str
    tell: Tell


def conditions(measurement: Measurement) -> tuple[FlowCondition, ...]:
    """Return every condition of every flow that controls congestion: UDP is not compared."""
    return tuple(
        FlowCondition(flow=flow.name, condition=condition.name, value=condition.tell(flow))
        for flow in measurement.flows
        if flow.plan.cca is not None
        for condition in CONDITIONS
    )


def _reported(flow: FlowRecord, event: str, key: str) -> list[Any]:
    """Return the distinct values that a field of an event has; empty where nobody reports it."""
    values = {e[key] for e in flow.endpoints.reports[event] if isinstance(e.get(key), int)}
    return sorted(values)


def _words(values: list[Any], of: Callable[[Any], str]) -> str:
    """Return one value, or the least and the greatest of several."""
    return " to ".join(dict.fromkeys((of(values[0]), of(values[-1]))))


def _switch(value: bool) -> str:
    return "on" if value else "off"


def _packets(value: float) -> str:
    return f"{value:g} packets"


def _bytes(value: float) -> str:
    return f"{value:g} B" if value < 10_000 else f"{value / 1000:g} kB"


def _ecn(flow: FlowRecord) -> str:
    agreed = _reported(flow, "accepted", "ecn") or _reported(flow, "listening", "ecn")
    return _words(agreed or [flow.plan.options.ecn], _switch)


def _pacing(flow: FlowRecord) -> str:
    reported = _reported(flow, "listening", "pacing")
    return _words(reported or [flow.plan.options.pacing], _switch)


def _initial_window(flow: FlowRecord) -> str:
    return _words([flow.plan.options.initial_window_packets], _packets)


def _packet(flow: FlowRecord) -> str:
    """Return the largest IP packet that left the bottleneck, and a smaller one where it grew."""
    sizes, payload = flow.queue.left.ip_bytes[flow.left], flow.endpoints.samples.packet_bytes
    if not len(sizes):
        return "none was seen"
    largest = int(sizes.max())
    growth = int(payload.max(initial=0) - payload.min(initial=largest)) if len(payload) else 0
    return _bytes(largest) if growth <= 0 else f"{_bytes(largest - growth)} to {_bytes(largest)}"


def _hystart(flow: FlowRecord) -> str:
    if flow.plan.cca != "cubic":
        return "none"
    linux = flow.plan.transport == "tcp"
    return _switch(bool(flow.plan.cca_parameters.get("hystart", linux)))


def _window_cap(flow: FlowRecord) -> str:
    cap = flow.plan.cca_parameters.get("max_window_packets")
    return "none" if cap is None else _packets(cap)


def _receive_window(flow: FlowRecord) -> str:
    planned = flow.plan.options.receive_window_bytes or flow.plan.receiver_bytes
    reported = _reported(flow, "connected", "receive_window_bytes")
    # Linux takes whole segments: that is no difference.
    return _words(
        [b for b in reported if abs(b - planned) > ROUNDED * planned] or [planned], _bytes
    )


def _by_transport(words: Mapping[str, str]) -> Tell:
    """A condition that is as the implementation of each transport has it."""
    return lambda flow: words[flow.plan.transport]


CONDITIONS: tuple[Condition, ...] = (
    Condition("ECN", "whether the ends agreed on it", _ecn),
    Condition("pacing", "whether the sender spaces its packets", _pacing),
    Condition("initial window", "congestion window before the first data", _initial_window),
    Condition("packet size", "largest IP packet", _packet),
    Condition(
        "acknowledgements",
        "when the receiver sends one, if nothing is missing",
        _by_transport(
            {
                # Linux: net/ipv4/tcp_input.c, __tcp_ack_snd_check; TCP_DELACK_MIN.
                "tcp": "each segment at first, then every second; at the latest after 40 ms",
                # RFC 9000, section 13.2.2, and the default max_ack_delay of section 18.2.
                "quic": "every second packet; at the latest after 25 ms",
            }
        ),
    ),
    Condition("HyStart", "whether slow start ends on a growing RTT", _hystart),
    Condition("send buffer", "of a connection", lambda flow: _bytes(flow.plan.sender_bytes)),
    Condition("receive window", "the most that the receiver offers", _receive_window),
    Condition("window cap", "the most that the congestion window can be", _window_cap),
    Condition(
        "handshake",
        "before the request can be sent",
        _by_transport(
            {
                "tcp": "1 round trip, not encrypted",
                "quic": "1 round trip, encrypted (TLS 1.3)",
            }
        ),
    ),
)
