"""Records of `iperf3`: the JSON of its two programs, and when they began.

iperf3 counts its times from the start of its test, and gives the start itself only to the second.
The captures show when that was (states of iperf_api.h, the same in 3.12 and 3.18: the server sends
them on the control connection, a byte each: parameters, create streams, TEST_START, running):

- `reverse` (the server sends): the server's test began when TEST_START reached the bottleneck, less
  the delay before it; the client's when that byte was delivered, plus the delay behind.
- else (the client sends): the client's test began when its first data reached the bottleneck, less
  the delay before it; the server's one propagation delay from server to client earlier, that of
  TEST_START.

Over TCP a stream begins with a cookie of 37 bytes from its client, over UDP with 4 bytes each way:
neither is data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.cell.frames import UDP_IP_BYTES, segment_bytes
from fairc.cell.model import Flow
from fairc.runtime.arrays import Bools, Floats
from fairc.runtime.measurement.artefacts import NS, ArtefactError, Artefacts
from fairc.runtime.measurement.endpoints import Endpoints, Progress, Remains, by_event
from fairc.runtime.measurement.paths import Paths
from fairc.runtime.measurement.pcap import ACK, SYN, TCP, UDP, Packets
from fairc.runtime.measurement.queues import QueueRecord
from fairc.runtime.measurement.samples import Samples

from .cell import Iperf3Workload

COOKIE_BYTES = 37
START_BYTE = 2
"""TEST_START is the server's third byte on the control connection."""

US, MS = 1e-6, 1e-3

STOPPED = ("the client has terminated", "the server has terminated")
"""Printed by a program that was stopped (newer versions add the signal), or whose peer was."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one program printed. intervals: of each stream (by position), its reports in order.

    error: what went wrong, or that nothing was printed; empty if nothing went wrong.
    """

    file: str
    start: Mapping[str, Any]
    intervals: tuple[tuple[Mapping[str, Any], ...], ...]
    end: Mapping[str, Any]
    error: str

    @property
    def stopped(self) -> bool:
        """Whether it, or its peer, was stopped before its test had ended."""
        return any(message in self.error for message in STOPPED)

    def column(self, stream: int, key: str) -> Floats:
        """Return a field of all reports of a stream, NaN where this version has none.

        Raises ArtefactError for anything but a number.
        """
        try:
            values = [float(report.get(key, np.nan)) for report in self.intervals[stream]]
        except (TypeError, ValueError):
            raise ArtefactError(f"{self.file}: a {key!r} that is not a number") from None
        return np.array(values, np.float64)


def load(remains: Remains) -> Endpoints:
    """Read what both programs of a flow printed. Raises ArtefactError."""
    artefacts, flow = remains.artefacts, remains.flow
    workload = flow.workload
    assert isinstance(workload, Iperf3Workload), "as its folder is called"
    client, server = (read(artefacts, f"{flow.name}.{side}") for side in ("client", "server"))
    sender, receiver = (server, client) if workload.reverse else (client, server)
    clock = Clock(flow, workload, Paths(remains.cell), remains.queue, _ports(client, "local_port"))
    streams = range(len(receiver.intervals))
    firsts = [clock.first_data_s(number) for number in streams]
    progress = tuple(
        _course(receiver, number, clock.receiver_s, first)
        for number, first in zip(streams, firsts, strict=True)
    )
    ends = [float(t_s[-1]) for t_s, _ in progress]
    received = sum(float(data[-1]) for _, data in progress)
    complete = not client.error and bool(client.end) and bool(ends)
    if workload.bytes is not None and flow.transport == "tcp":
        # Bytes after the last interval are only in the sum.
        in_all = receiver.end.get("sum_received", {}).get("bytes", 0)
        complete = complete and max(received, in_all) >= workload.bytes
    began = flow.start_ns < remains.ending.ended_ns
    # A slow or lossy network may need longer for the control connection than the cell lasts.
    too_short = began and not ends and client.stopped and server.stopped
    began = began and not too_short
    remarks = tuple(
        {"message": f"iperf3, {side} of flow {flow.name}: {event.get('message')}"}
        for side in ("client", "server")
        for event in by_event(artefacts.lines(f"{flow.name}.{side}.ndjson"))["remark"]
    )
    if too_short:
        message = (
            f"iperf3 of flow {flow.name} was stopped before it had opened a stream: its control"
            " connection took too long; start the flow earlier, or raise `duration`"
        )
        remarks += ({"message": message},)
    return Endpoints(
        opened_s=clock.opened_s(),
        done_s=dict(enumerate(ends)) if complete else {},
        first_byte_s=min((first for first in firsts if first is not None), default=None),
        end_s=max(ends, default=None),
        unended=flow.connections if began and not ends else 0,
        completed=complete,
        progress=Progress(progress),
        samples=_samples(sender, client, flow, clock.sender_s),
        ccas=frozenset(_ccas(client) | _ccas(server))
        if began
        else frozenset(filter(None, [flow.cca])),
        reports=_reports(receiver, flow) | {"remark": remarks},
        errors=_errors(flow, client, server) if began else (),
    )


def read(artefacts: Artefacts, name: str) -> Report:
    """Return what a program printed. Raises ArtefactError if that is not iperf3's output."""
    file = f"{name}.json"
    text = artefacts.text(file)
    if not text.strip():
        stderr = artefacts.text(f"{name}.err").strip()[-500:]
        return Report(file, {}, (), {}, f"it printed nothing{': ' if stderr else ''}{stderr}")
    try:
        document, length = json.JSONDecoder().raw_decode(text.lstrip())
        behind = text.lstrip()[length:].strip()  # an error that came too late for the document
        intervals = _once([interval["streams"] for interval in document["intervals"]])
        streams = zip(*(i for i in intervals if i), strict=True)
        return Report(
            file,
            dict(document["start"]),
            tuple(tuple(dict(report) for report in stream) for stream in streams),
            dict(document["end"]),
            str(document.get("error", "") or behind),
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ArtefactError(f"{file} is not what iperf3 prints: {error!r}") from None


def _once(intervals: list[Any]) -> list[Any]:
    """Leave out the last interval that a program prints a second time when its other end was
    stopped.
    """
    return [i for n, i in enumerate(intervals) if not n or i != intervals[n - 1]]


def _ports(report: Report, key: str) -> tuple[int, ...]:
    try:
        return tuple(int(stream[key]) for stream in report.start.get("connected", ()))
    except (KeyError, TypeError, ValueError) as error:
        raise ArtefactError(f"{report.file} is not what iperf3 prints: {error!r}") from None


def _course(
    receiver: Report, stream: int, begin_s: float, first_s: float | None
) -> tuple[Floats, Floats]:
    """Return times, s, and the bytes of a stream received until then: none at its first data."""
    ends, sizes = receiver.column(stream, "end"), receiver.column(stream, "bytes")
    if not (np.isfinite(ends).all() and np.isfinite(sizes).all() and (sizes >= 0).all()):
        raise ArtefactError(f"{receiver.file}: reports without `end` or `bytes`")
    times, data = begin_s + ends, np.cumsum(sizes)
    first = begin_s if first_s is None else first_s
    kept = (times > first) | (data > 0)
    times, data = np.maximum(times[kept], first), data[kept]
    return np.append(first, times), np.append(0.0, data)


def _samples(sender: Report, client: Report, flow: Flow, begin_s: float) -> Samples:
    """Return what the sender reported about its connections, at the ends of its intervals."""
    streams = range(len(sender.intervals)) if flow.transport == "tcp" else range(0)
    segment = client.start.get("tcp_mss_default") or segment_bytes(flow.mtu)
    parts = []
    for stream in streams:
        t_s = begin_s + sender.column(stream, "end")
        unknown = np.full(len(t_s), np.nan)
        parts.append(
            {
                "connection": np.full(len(t_s), stream, np.int64),
                "t_s": t_s,
                "cwnd_packets": sender.column(stream, "snd_cwnd") / segment,
                "rtt_s": sender.column(stream, "rtt") * US,
                "packet_bytes": np.full(len(t_s), float(segment)),
                "retransmits": np.cumsum(sender.column(stream, "retransmits")),
            }
            | dict.fromkeys(_UNTOLD, unknown)
        )
    columns: dict[str, Any] = {
        name: np.concatenate(
            [
                np.empty(0, np.int64 if name == "connection" else np.float64),
                *(p[name] for p in parts),
            ]
        )
        for name in Samples.__slots__
    }
    order = np.lexsort((columns["connection"], columns["t_s"]))
    return Samples(**{name: column[order] for name, column in columns.items()})


_UNTOLD = (
    "in_flight_packets",
    "min_rtt_s",
    "pacing_bps",
    "rwnd_limited_s",
    "sndbuf_limited_s",
    "app_limited_s",
    "busy_s",
    "sent_bytes",
    "congestion_state",
    "congestion_events",
    "threshold_packets",
    "model_state",
    "probe_cycle",
    "max_bw_bps",
    "model_min_rtt_s",
    "longterm_bytes",
    "shortterm_bytes",
    "alpha",
)
"""Columns of samples that iperf3 does not report."""


def _reports(receiver: Report, flow: Flow) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Return events like an endpoint's: what was received of each stream of datagrams."""
    received: list[Mapping[str, Any]] = []
    if flow.transport == "udp":
        totals = [stream.get("udp", {}) for stream in receiver.end.get("streams", ())]
        for stream in range(len(receiver.intervals)):
            packets = int(np.nansum(receiver.column(stream, "packets")))
            lost = int(np.nansum(receiver.column(stream, "lost_packets")))
            jitter = receiver.column(stream, "jitter_ms")
            reordered = totals[stream].get("out_of_order") if stream < len(totals) else None
            received.append(
                {
                    "packets": packets - lost,
                    "lost": lost,
                    "reordered": reordered,
                    "duplicates": None,
                    "jitter_us": float(jitter[-1]) * MS / US if len(jitter) else None,
                }
            )
    none: tuple[Mapping[str, Any], ...] = ()
    return {
        "listening": none,
        "accepted": none,
        "connected": none,
        "sent": none,
        "received": tuple(received),
    }


def _ccas(report: Report) -> set[str]:
    """Return the CCAs of both ends' sockets, as far as a program reports them."""
    found = (report.end.get(f"{end}_tcp_congestion") for end in ("sender", "receiver"))
    return {str(cca) for cca in found if cca}


def _errors(flow: Flow, client: Report, server: Report) -> tuple[str, ...]:
    """Return why it failed, empty if it did not; a requested end is not a failure."""
    return tuple(
        f"iperf3, {side} of flow {flow.name}: {report.error}"
        for side, report in (("client", client), ("server", server))
        if report.error and not report.stopped
    )


class Clock:
    """Times of a test, s after the epoch.

    ports: of iperf3's client, for each stream. sender_s, receiver_s: when the test began at the
    sending end and at the other; as planned where that was not seen.
    """

    def __init__(
        self,
        flow: Flow,
        workload: Iperf3Workload,
        paths: Paths,
        queue: QueueRecord,
        ports: tuple[int, ...],
    ) -> None:
        self._flow, self._workload, self._queue, self._ports = flow, workload, queue, ports
        came = queue.left if queue.blind else queue.entered
        before_s = paths.delay_s(paths.before(queue.place, flow))
        self._before_s, self._back_s = before_s, paths.delay_s(paths.back(flow))
        behind = paths.behind(queue.place, flow)
        delivery = paths.delivery(queue.place)
        if delivery in behind:
            behind = behind[behind.index(delivery) + 1 :]
        self._behind_s = paths.delay_s(behind)
        if workload.reverse:
            byte = self._start_byte(came)
            begun = None if byte is None else self._first(came, self._carries(came, byte))
            there = queue.delivered
            arrived = None if byte is None else self._first(there, self._carries(there, byte))
            self.sender_s = flow.start_ns * NS if begun is None else begun - before_s
            self.receiver_s = self.sender_s if arrived is None else arrived + self._behind_s
        else:
            begun = self._first(came, self._data(came, None))
            self.sender_s = flow.start_ns * NS if begun is None else begun - before_s
            self.receiver_s = self.sender_s - self._back_s

    def opened_s(self) -> dict[int, float]:
        """Return when each stream was opened, as far as that was seen; for datagrams, when they
        began.

        A connection is dated by its handshake: its client's SYN, or its server's answer.
        """
        if self._flow.transport == "udp":
            return dict.fromkeys(range(len(self._ports)), self.sender_s)
        came = self._queue.left if self._queue.blind else self._queue.entered
        asked_s = self._before_s + (self._back_s if self._workload.reverse else 0.0)
        opening = self._forth(came) & (came.protocol == TCP) & (came.flags & SYN > 0)
        found = {
            stream: self._first(came, opening & (self._port(came) == port))
            for stream, port in enumerate(self._ports)
        }
        return {stream: at - asked_s for stream, at in found.items() if at is not None}

    def first_data_s(self, stream: int) -> float | None:
        """Return when the first data of a stream reached the flow's client; None if none did."""
        delivered = self._queue.delivered
        first = self._first(delivered, self._data(delivered, stream))
        return None if first is None else first + self._behind_s

    def _first(self, packets: Packets, which: Bools) -> float | None:
        found = np.flatnonzero(which)
        return float(self._queue.seconds(packets)[found[0]]) if len(found) else None

    def _forth(self, packets: Packets) -> Bools:
        """Return which packets go from the flow's server to its client, streams and control
        alike.
        """
        flow = self._flow
        if self._workload.reverse:
            which = (packets.source == int(IPv4Address(flow.address))) & (
                packets.source_port == flow.port
            )
        else:
            which = (packets.destination == int(IPv4Address(flow.client_address))) & (
                packets.destination_port == flow.port
            )
        return np.asarray(which, np.bool_)

    def _port(self, packets: Packets) -> NDArray[np.int64]:
        """Return the port of iperf3's client in each packet."""
        return packets.destination_port if self._workload.reverse else packets.source_port

    def _data(self, packets: Packets, stream: int | None) -> Bools:
        """Return which packets hold data of a stream, or of any for None."""
        ports = self._ports if stream is None else self._ports[stream : stream + 1]
        which = self._forth(packets) & np.isin(self._port(packets), ports)
        if self._flow.transport == "udp":
            assert self._workload.packet_bytes is not None
            payload = self._workload.packet_bytes - UDP_IP_BYTES
            which &= (packets.protocol == UDP) & (packets.payload_bytes == payload)
            return which
        which &= (packets.protocol == TCP) & (packets.payload_bytes > 0)
        if not self._workload.reverse:
            which &= packets.payload_bytes != COOKIE_BYTES
        return which

    def _control(self, packets: Packets) -> Bools:
        which = self._forth(packets) & (packets.protocol == TCP)
        if self._flow.transport == "tcp":
            which &= ~np.isin(self._port(packets), self._ports)
        return np.asarray(which, np.bool_)

    def _start_byte(self, packets: Packets) -> int | None:
        """Return the sequence number of TEST_START, by the handshake of the control connection."""
        opening = self._control(packets) & (packets.flags & (SYN | ACK) == SYN | ACK)
        found = np.flatnonzero(opening)
        if not len(found):
            return None
        return (int(packets.sequence[found[0]]) + 1 + START_BYTE) % 2**32

    def _carries(self, packets: Packets, byte: int) -> Bools:
        """Return which packets of the control connection carry a byte."""
        before = (byte - packets.sequence) % 2**32
        return np.asarray(self._control(packets) & (before < packets.payload_bytes), np.bool_)
