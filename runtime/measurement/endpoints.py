"""What the endpoints of a flow wrote, as arrays: progress of the client, samples of the server."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Flow

from .artefacts import ArtefactError, Artefacts, field

Floats = NDArray[np.float64]
NS = 1e-9

# Column of Samples -> (field of a `sample` event, factor to SI units).
_SAMPLE_FIELDS: Mapping[str, tuple[str, float]] = {
    "cwnd_packets": ("cwnd", 1.0),
    "rtt_s": ("rtt_us", 1e-6),
    "min_rtt_s": ("min_rtt_us", 1e-6),
    "pacing_bps": ("pacing_bps", 1.0),
    "retransmits": ("retransmits", 1.0),
    "rwnd_limited_s": ("rwnd_limited_us", 1e-6),
    "sndbuf_limited_s": ("sndbuf_limited_us", 1e-6),
}
_MAY_BE_NULL = frozenset({"min_rtt_us", "pacing_bps"})


@dataclass(frozen=True, slots=True)
class Samples:
    """TCP_INFO of a flow's connections, each column of shape (samples,), in order of time.

    connection: number of the connection. t_s: after the epoch. rtt_s: smoothed, 0 before the
    first measurement. min_rtt_s, pacing_bps: NaN while there is none. retransmits,
    rwnd_limited_s, sndbuf_limited_s: since the connection began.
    """

    connection: NDArray[np.int64]
    t_s: Floats
    cwnd_packets: Floats
    rtt_s: Floats
    min_rtt_s: Floats
    pacing_bps: Floats
    retransmits: Floats
    rwnd_limited_s: Floats
    sndbuf_limited_s: Floats


@dataclass(frozen=True, slots=True)
class Progress:
    """Application bytes that a flow's client had received, connection by connection.

    reports: of each connection, times (s) and bytes in all until then; the first entry is its
    first data, with 0 bytes.
    """

    reports: tuple[tuple[Floats, Floats], ...]

    def at(self, t_s: Floats) -> Floats:
        """Return the bytes delivered until each time; evenly between two reports (100 ms)."""
        total = np.zeros(len(t_s))
        for times, received in self.reports:
            total += np.interp(t_s, times, received, left=0.0)
        return total

    @property
    def total(self) -> int:
        """All bytes that were delivered."""
        return sum(int(received[-1]) for _, received in self.reports)


@dataclass(frozen=True, slots=True)
class Endpoints:
    """One flow as its two programs saw it; times in s after the epoch.

    opened_s: connection -> when the client opened it. accepted_s: when the server accepted it.
    first_byte_s: first data of any connection, None when there was none. end_s: last byte or stop of the last connection, None when one never ended.
    unended: connections that the client never reported the end of.
    completed: every connection has its whole workload. ccas: as read back from the sockets.
    errors: what the programs said had failed.
    """

    opened_s: Mapping[int, float]
    accepted_s: Mapping[int, float]
    first_byte_s: float | None
    end_s: float | None
    unended: int
    completed: bool
    progress: Progress
    samples: Samples
    ccas: frozenset[str]
    errors: tuple[str, ...]


def load(artefacts: Artefacts, flow: Flow) -> Endpoints:
    """Read what server and client of a flow wrote. Raises ArtefactError."""
    server_file, client_file = f"{flow.name}.server.ndjson", f"{flow.name}.client.ndjson"
    server = _by_event(artefacts.lines(server_file))
    client = _by_event(artefacts.lines(client_file))

    def times(events: Iterable[Mapping[str, Any]], file: str) -> dict[int, float]:
        return {field(e, "connection", file): e["t_ns"] * NS for e in events}

    done = times(client.get("done", ()), client_file)
    stopped = times(client.get("stopped", ()), client_file)
    first = times(client.get("first-byte", ()), client_file)
    ended = {**stopped, **done}
    return Endpoints(
        opened_s=times(client.get("opened", ()), client_file),
        accepted_s=times(server.get("accepted", ()), server_file),
        first_byte_s=min(first.values(), default=None),
        end_s=max(ended.values()) if len(ended) == flow.connections else None,
        unended=flow.connections - len(ended),
        completed=len(done) == flow.connections,
        progress=_progress(client, client_file, first),
        samples=_samples(server.get("sample", []), server_file),
        ccas=frozenset(
            str(e.get("cca")) for e in (*server.get("listening", ()), *server.get("accepted", ()))
        ),
        errors=tuple(
            f"{side} of flow {flow.name}: {e.get('message')}"
            for side, events in (("server", server), ("client", client))
            for e in events.get("error", ())
        ),
    )


def _by_event(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    events: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        events.setdefault(str(record.get("event")), []).append(record)
    return events


def _progress(
    client: Mapping[str, list[dict[str, Any]]], file: str, first_s: Mapping[int, float]
) -> Progress:
    """Sort the client's reports by connection; first_s: when each had its first data."""
    reports: dict[int, list[tuple[float, int]]] = {c: [(t, 0)] for c, t in first_s.items()}
    for event in sorted(
        (e for name in ("progress", "done", "stopped") for e in client.get(name, ())),
        key=lambda e: e["t_ns"],
    ):
        connection, received = field(event, "connection", file), field(event, "bytes", file)
        if connection not in reports:
            if received:
                raise ArtefactError(f"{file}: connection {connection} has bytes, but no first-byte")
            continue
        known = reports[connection]
        if received < known[-1][1]:
            raise ArtefactError(f"{file}: the bytes of connection {connection} decrease")
        known.append((max(event["t_ns"] * NS, known[-1][0]), received))
    return Progress(
        tuple(
            (np.array([t for t, _ in known]), np.array([float(n) for _, n in known]))
            for _, known in sorted(reports.items())
        )
    )


def _samples(events: list[dict[str, Any]], file: str) -> Samples:
    events = sorted(events, key=lambda e: (e["t_ns"], field(e, "connection", file)))

    def column(key: str, factor: float) -> Floats:
        def value(event: Mapping[str, Any]) -> float:
            if key in _MAY_BE_NULL and event.get(key, 0) is None:
                return math.nan
            return field(event, key, file)

        return np.array([value(e) for e in events], np.float64) * factor

    return Samples(
        connection=np.array([field(e, "connection", file) for e in events], np.int64),
        t_s=column("t_ns", NS),
        **{name: column(*source) for name, source in _SAMPLE_FIELDS.items()},
    )
