"""A flow of iperf3, from the JSON of its two programs; `iperf3_clock` knows when it began."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.cell.frames import segment_bytes
from fairc.compiler.plan import Flow, Iperf3Workload

from . import applications
from .artefacts import NS, ArtefactError, Artefacts
from .endpoints import Endpoints, Progress
from .iperf3_clock import Clock
from .paths import Paths
from .queues import QueueRecord
from .samples import Samples

Floats = NDArray[np.float64]

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


def load(
    artefacts: Artefacts,
    flow: Flow,
    workload: Iperf3Workload,
    paths: Paths,
    queue: QueueRecord,
    ended_s: float,
) -> Endpoints:
    """Read what both programs of a flow printed; ended_s: the end of the cell.

    Raises ArtefactError.
    """
    client, server = (read(artefacts, f"{flow.name}.{side}") for side in ("client", "server"))
    sender, receiver = (server, client) if workload.reverse else (client, server)
    clock = Clock(flow, workload, paths, queue, _ports(client, "local_port"))
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
    began = flow.start_ns * NS < ended_s
    return Endpoints(
        opened_s=clock.opened_s(),
        accepted_s={},
        done_s=dict(enumerate(ends)) if complete else {},
        first_byte_s=min((first for first in firsts if first is not None), default=None),
        end_s=max(ends, default=None),
        unended=flow.connections if began and not ends else 0,
        completed=complete,
        progress=Progress(progress),
        samples=_samples(sender, client, flow, clock.sender_s),
        videos=(),
        requests=applications.requests([], [], [], client.file),
        loads=(),
        own_time=None,
        transports={},
        ccas=frozenset(_ccas(client) | _ccas(server))
        if began
        else frozenset(filter(None, [flow.cca])),
        reports=_reports(receiver, flow),
        packet_log=None,
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
