"""The programs ran as planned: with the planned CCA, to their end, not limited by their hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from fairc.cell.frames import segment_bytes
from fairc.compiler.plan import Flow
from fairc.mechanisms import find, named
from fairc.runtime.formatting import listed
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import US

from .finding import Finding, busy, flagged, invalid, or_virtual, see, unread
from .schedule import LATE_S

LIMITED_SHARE = 0.01
RESET = "Connection reset by peer"
"""What the kernel says of a connection that its other host does not know (ECONNRESET)."""

SIDES = ("server", "client")

_SENDER = "the send buffer"
_HOSTS = "its hosts"
_RECEIVERS: Mapping[str, str] = {
    "tcp": "the receiver's window",
    "quic": "the receiver's flow control",
    "udp": "the receiver",
    "web": "the receiver's window",
}


# Buffer size that an endpoint reports, over the size set: Linux doubles those of sockets.
_REPORTED: Mapping[str, int] = {"tcp": 2, "quic": 1, "udp": 2, "web": 2}


def congestion_control(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every socket actually used the planned CCA."""
    for flow in measurement.flows:
        used, planned = flow.endpoints.ccas, flow.plan.cca
        if used != ({planned} if planned else set()):
            yield invalid(
                f"flow {flow.name} used {', '.join(sorted(used)) or 'no CCA'},"
                f" not {planned or 'none'}: the program, or the kernel, replaced it;"
                f" {see(f'{flow.plan.name}.server.err')}"
            )


def processes(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: every process ended without an error."""
    reporting = [f for f in measurement.flows if f.plan.workload.measures_itself]
    reports = {f"{f.name}.{side}" for f in reporting for side in SIDES}
    for name, status in sorted(measurement.ending.processes.items()):
        # A recorded one has status 1 if it was stopped: its output decides.
        if status < 0 or (status != 0 and name not in reports):
            how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
            yield invalid(f"{name} {how}: {see(f'{name}.err')}")
    for flow in measurement.flows:
        for side in SIDES:
            if f"{flow.plan.name}.{side}" not in measurement.ending.processes:
                yield invalid(
                    f"{flow.name}.{side} is not among the processes that ran: the cell ended before"
                    f" it could start; {see('cell.json')}"
                )
        if flow.endpoints.unended and not flow.loads_pages:  # loads: `page_loads`
            yield invalid(
                f"the client of flow {flow.name} did not report how {flow.endpoints.unended} of"
                f" {flow.plan.connections} connections ended: it failed, or was ended;"
                f" {see(f'{flow.plan.name}.client.err')}"
            )
        for error in flow.endpoints.errors:
            yield invalid(error)


def workloads(measurement: Measurement) -> Iterator[Finding]:
    """Yield what the `check.py` of each flow's workload finds, without captured packets."""
    for flow in measurement.flows:
        if own := find("workloads", flow.plan.workload.kind, "check"):
            yield from own.check(measurement, flow)


def devices(measurement: Measurement) -> Iterator[Finding]:
    """Yield what the `check.py` of each kind of device finds, without captured packets."""
    for name, own in named("devices", "check"):
        if name in measurement.devices and hasattr(own, "check"):
            yield from own.check(measurement)


def device_packets(measurement: Measurement) -> Iterator[Finding]:
    """Yield what the `check_packets` of each kind of device finds."""
    for name, own in named("devices", "check"):
        if name in measurement.devices and hasattr(own, "check_packets"):
            yield from own.check_packets(measurement)


def remarks(measurement: Measurement) -> Iterator[Finding]:
    """Report what is to be said of programs that did not fail."""
    for flow in measurement.flows:
        for remark in flow.endpoints.reports.get("remark", ()):
            yield flagged(str(remark["message"]))


def host_buffers(measurement: Measurement) -> Iterator[Finding]:
    """Rule 7: connections have the planned buffers, or what may be under way, where none limits."""
    for flow in measurement.flows:
        reports, reported = flow.endpoints.reports, _REPORTED[flow.plan.transport]
        least = flow.plan.buffer_bytes
        for event, key, name, limit in (
            ("listening", "send_buffer_bytes", "send buffer", flow.plan.sender_bytes),
            ("connected", "receive_buffer_bytes", "receive buffer", flow.plan.receive_buffer_bytes),
        ):
            if flow.plan.subflows and event == "listening":
                continue  # the kernel sizes them, each subflow's for itself
            planned = least if limit is None else limit
            sizes = [e[key] // reported for e in reports[event] if e.get(key) is not None]
            if min(sizes, default=planned) < planned:
                why = or_virtual(
                    measurement,
                    "the system's limit applied",
                    "raise net.core.wmem_max or rmem_max, or run the cell on `uml`",
                )
                yield invalid(
                    f"flow {flow.name}: a {name} of {min(sizes)} bytes, not {planned}: {why}"
                )


def datagrams(measurement: Measurement) -> Iterator[Finding]:
    """Rules 2, 21: hosts send datagrams when they are due, and drop none themselves."""
    for flow in measurement.flows:
        for sent in flow.endpoints.reports["sent"]:
            if refused := sent.get("refused"):
                yield invalid(
                    f"the server of flow {flow.name} could not send {refused} datagrams: its host's"
                    " own queue was full; raise the rate of its access link, or lower the flow's"
                )
            if sent.get("late_us", 0) * US > LATE_S:
                yield invalid(
                    f"the server of flow {flow.name} sent a datagram"
                    f" {sent['late_us'] / 1000:.1f} ms late: {busy(measurement)}"
                )
        for received in flow.endpoints.reports["received"]:
            if overflowed := received.get("overflowed"):
                yield invalid(
                    f"the client of flow {flow.name} did not read {overflowed} datagrams in"
                    f" time: {unread(measurement)}"
                )


def resets(measurement: Measurement) -> Iterator[Finding]:
    """Rule 20: no host resets a connection, but where a NAT has given it another port."""
    if measurement.cell.rebinds:
        return
    for flow in measurement.flows:
        for end in flow.endpoints.given_up:
            if RESET in end.reason:
                yield invalid(
                    f"flow {flow.name}, {end}: only a NAT makes a host forget a connection;"
                    f" {see(f'{flow.plan.name}.server.err')}"
                )


def host_limits(measurement: Measurement) -> Iterator[Finding]:
    """Rule 7: no buffer of the hosts limits a connection for over 1 % of its time. What limits by
    its meaning does not count: a receive window, a rate, a source that waits for its send buffer.

    Buffers that the file does not set leave room for what waits behind a packet that is lost four
    times in a row, so what is found is one that it sets, a packet that was lost still more often,
    or the machine.
    """
    for flow in measurement.flows:
        meant = _meant(flow.plan)
        if measurement.cell.rebinds and flow.plan.transport != "tcp":
            meant |= {_HOSTS}  # a server waits for the answer from a new port (RFC 9000, 8.2)
        if measurement.split(
            flow
        ):  # proxies hold a server back until they have passed on what it sent
            meant |= {_RECEIVERS[flow.plan.transport], _HOSTS}
        samples = flow.endpoints.samples
        for connection, accepted_s in sorted(flow.endpoints.accepted_s.items()):
            ours = np.flatnonzero(samples.connection == connection)
            if not len(ours) or samples.t_s[ours[-1]] <= accepted_s:
                continue
            lifetime_s = samples.t_s[ours[-1]] - accepted_s
            for limited_s, limit in (
                (samples.rwnd_limited_s[ours[-1]], _RECEIVERS[flow.plan.transport]),
                (samples.sndbuf_limited_s[ours[-1]], _SENDER),
                (_hosts_s(flow, ours) if flow.is_greedy else 0.0, _HOSTS),
            ):
                share = limited_s / lifetime_s
                if limit not in meant and share > LIMITED_SHARE:
                    yield flagged(
                        f"flow {flow.name}, connection {connection}: limited by {limit}"
                        f" for {share:.1%} of its time, not by congestion control:"
                        f" {_cause(flow.plan, limit)}"
                    )


# A SYN offers at most this much (RFC 7323, section 2.2), bytes.
_FIRST_WINDOW = 65_535


def _meant(flow: Flow) -> frozenset[str]:
    """Return the limits that the experiment sets to limit."""
    options = flow.options
    window = options.receive_window_bytes
    first = options.initial_window_packets * segment_bytes(flow.mtu) > _FIRST_WINDOW
    outgrown = options.cca_outgrows_receivers and flow.receive_buffer_bytes is None
    asked = {
        _RECEIVERS[flow.transport]: window or first or outgrown,
        _SENDER: flow.workload.paced,
        _HOSTS: window or flow.workload.paced or flow.rate_bps,
    }
    return frozenset(limit for limit, wanted in asked.items() if wanted)


def _cause(flow: Flow, limit: str) -> str:
    """Say which buffers of the file limit a flow, and what to do."""
    given = {
        "receive_buffer": (flow.receive_buffer_bytes, limit != _SENDER),
        "send_buffer": (flow.send_buffer_bytes, limit in (_SENDER, _HOSTS)),
    }
    those = [f"`{key} = {size}B`" for key, (size, fits) in given.items() if size and fits]
    if those:
        return f"{listed(those)} of `hosts` is too small; raise it, or leave it out"
    used_up = (
        "the machine's memory for sockets was used up (net.ipv4.tcp_mem), or a program was too slow"
    )
    if limit == _RECEIVERS["tcp"] and flow.receiver_bytes is not None:
        return (
            f"more waited behind lost packets than the"
            f" {flow.receiver_bytes} bytes of the receive buffer: set a larger `receive_buffer` in"
            f" `hosts`; or {used_up}"
        )
    return f"the file sets no buffer, so {used_up}"


def _hosts_s(flow: FlowRecord, ours: NDArray[np.int64]) -> float:
    """Return how long the hosts of one connection left congestion control nothing to send, s.

    ours: the connection's samples. A server has nothing to send before the request arrives, nor
    once it has sent everything: neither is a limit.
    """
    within = flow.while_sending(ours)
    limited_s = flow.endpoints.samples.app_limited_s[within]
    return float(limited_s[-1] - limited_s[0])
