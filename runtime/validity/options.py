"""The transports run with the options and parameters of the plan, as the endpoints read them
back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fairc.cell.frames import QUIC_BYTES
from fairc.compiler.plan import Flow
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.words.ccas import CCAS_OVER

from .finding import Finding, flagged, invalid, see


@dataclass(frozen=True, slots=True)
class _Option:
    """Where an event reports an option, and its planned value; `event` is passed to `planned`.

    after_retry: the value that a lost and repeated handshake leaves, which is no fault: Linux then
    begins with one packet and without ECN (RFC 5681, section 3.1; RFC 3168, 6.1.1.1).
    """

    event: str
    key: str
    name: str
    planned: Callable[[Flow, Mapping[str, Any]], Any]
    after_retry: Any = None


def _accurate_ecn(flow: Flow, event: Mapping[str, Any]) -> bool | None:
    """Return whether the plan has accurate ECN; None if it has not and an older kernel does not
    report it.
    """
    reported: bool | None = event["accurate_ecn"]
    return None if reported is None and not flow.options.accurate_ecn else flow.options.accurate_ecn


def _initial_window(flow: Flow, event: Mapping[str, Any]) -> Any:
    """Return the planned window; of a CCA that chooses its own, that which it has."""
    known = flow.cca is not None and flow.cca in CCAS_OVER["tcp"]
    chooses = known and CCAS_OVER["tcp"][str(flow.cca)].own_window
    return event["initial_window_packets"] if chooses else flow.options.initial_window_packets


def _first_packet(flow: Flow, event: Mapping[str, Any]) -> Any:
    """Return how large the datagrams of QUIC are that a window counts at first, bytes."""
    return QUIC_BYTES if flow.options.discovers_mtu else event["mtu"]


def _unsent(flow: Flow, event: Mapping[str, Any]) -> Any:
    """Return the planned bytes that wait unsent; where the file does not set them, those there
    are.
    """
    planned = flow.options.notsent_lowat_bytes
    return event["notsent_lowat_bytes"] if planned is None else planned


_ECN = _Option("accepted", "ecn", "ECN", lambda flow, _: flow.options.ecn, after_retry=False)
_OPTIONS: Mapping[str, tuple[_Option, ...]] = {
    "tcp": (
        _Option(
            "accepted",
            "initial_window_packets",
            "an initial window in packets",
            _initial_window,
            after_retry=1,
        ),
        _ECN,
        _Option(
            "accepted",
            "accurate_ecn",
            "accurate ECN",
            _accurate_ecn,
            after_retry=False,
        ),
        _Option("accepted", "sack", "SACK", lambda flow, _: flow.options.sack),
        _Option(
            "listening",
            "notsent_lowat_bytes",
            "unsent bytes in a socket",
            _unsent,
        ),
    ),
    "quic": (
        _Option(
            "accepted",
            "initial_window_bytes",
            "an initial window in bytes",
            lambda flow, event: flow.options.initial_window_packets * _first_packet(flow, event),
        ),
        _Option("listening", "ecn", "ECN", lambda flow, _: flow.options.ecn),
        _Option("listening", "parameters", "parameters", lambda flow, _: flow.cca_parameters),
    ),
    "udp": (),
}


def _options(
    measurement: Measurement, flow: FlowRecord
) -> Iterator[tuple[_Option, list[Mapping[str, Any]]]]:
    """Yield each option of a flow with the events that report it.

    Each connection of a page load is judged by the transport that it ran over.
    """
    over = flow.endpoints.transports
    rewritten = _ecn_rewritten(measurement, flow)
    for transport in ("tcp", "quic") if flow.loads_pages else (flow.plan.transport,):
        for option in _OPTIONS[transport]:
            if rewritten and option.key in ("ecn", "accurate_ecn") and option.event == "accepted":
                continue  # handshakes see what a link does to ECN, and may do without
            events = [e for e in flow.endpoints.reports[option.event] if option.key in e]
            if flow.loads_pages:
                events = [
                    e
                    for e in events  # null: there was no handshake
                    if e[option.key] is not None and over.get(e.get("connection", -1)) == transport
                ]
            yield option, events


def _ecn_rewritten(measurement: Measurement, flow: FlowRecord) -> bool:
    """Return whether a link on a flow's way, there or back, changes the ECN of its packets."""
    ways = (*measurement.paths.of(flow.plan), *measurement.paths.back(flow.plan))
    ends = map(measurement.paths.arrival, ways)
    return any(end is not None and end.arriving_ecn is not None for end in ends)


def transport_options(measurement: Measurement) -> Iterator[Finding]:
    """Rules 6, 20: connections have the planned options."""
    for flow in measurement.flows:
        for option, events in _options(measurement, flow):
            wrong = {
                f"{_shown(event[option.key])}, not {_shown(option.planned(flow.plan, event))}"
                for event in events
                if event[option.key] not in (option.planned(flow.plan, event), option.after_retry)
            }
            for difference in sorted(wrong):
                yield invalid(
                    f"flow {flow.name} has {option.name} of {difference}: a handshake negotiated it"
                    f" away, or the system overrides it; {see('system.json')}"
                )


def ecn_without_feedback(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: a server that sends ECN-capable packets has a client that echoes marks.

    Linux 7.0 and later send a SYN/ACK again without ECE, but keep ECN (runtime/uml/patches, number
    21): the client then echoes no mark, and the server sends on as if there were none. With
    accurate ECN the server knows, and sends no packet that could be marked.
    """
    for flow in measurement.flows:
        if flow.plan.transport != "tcp" or measurement.split(flow):
            continue  # proxies and their ends agree on each part by itself
        if _ecn_rewritten(measurement, flow):
            continue  # a handshake sees that, and each end may draw its own conclusion
        reports = flow.endpoints.reports
        senders = sum(
            bool(event.get("ecn")) and not event.get("accurate_ecn")
            for event in reports["accepted"]
        )
        echo = [event["ecn"] for event in reports["connected"] if "ecn" in event]
        alone = min(senders - sum(echo), echo.count(False))
        if alone > 0:
            yield flagged(
                f"{alone} of {len(echo)} connections of flow {flow.name} do not respond to marks:"
                " their servers send ECN-capable packets, and their clients have no ECN. After two"
                " losses of a SYN/ACK, Linux from 7.0 on does so; the standard kernel of `uml` does"
                " not"
            )


TICK_S = 0.01
"""The longest tick of a kernel's timers, s: to it they round timeouts up."""


def least_timeouts(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: the first retransmission timeout of a connection is the least one that is planned.

    With one sample R of the round trip it is R + max(2 R, least) (Linux, net/ipv4/tcp_input.c,
    tcp_rtt_estimator; RFC 6298, section 2.2, with K mdev = 2 R), rounded up to ticks twice.
    """
    for flow in measurement.flows:
        least_ms = flow.plan.options.min_rto_ms
        for event in flow.endpoints.reports["accepted"]:
            if least_ms is None or event.get("rto_us") is None:
                continue
            rtt_s, rto_s = event["rtt_us"] / 1e6, event["rto_us"] / 1e6
            least_s = rtt_s + least_ms / 1e3
            most_s = rtt_s + max(2 * rtt_s, least_ms / 1e3) + 2 * TICK_S
            if event["rtt_us"] and not least_s - TICK_S <= rto_s <= most_s:
                yield invalid(
                    f"flow {flow.name} begins with a retransmission timeout of {1e3 * rto_s:.0f} ms"
                    f" at a round trip of {1e3 * rtt_s:.0f} ms, which is not that of `min_rto ="
                    f" {least_ms}ms`: the system overrides it; {see('system.json')}"
                )


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    return ("off", "on")[value] if isinstance(value, bool) else str(value)
