"""Events of the endpoints of a flow as arrays: progress of the client, samples of the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import Cell, Flow

from . import applications, qlog, round_trips, samples, transits
from .applications import NO_REQUESTS, Requests, Video
from .artefacts import NS, ArtefactError, Artefacts, Ending, field
from .frames import Frames, Kind, Way
from .loads import PageLoad
from .pcap import Capture
from .queues import QueueRecord
from .samples import Samples
from .transits import Transits

Floats = NDArray[np.float64]
# How a connection ends at the client; `received`: for datagrams.
_ENDS = ("done", "stopped", "received")
_REPORTS = ("listening", "accepted", "connected", "sent", "received")
_PART = 20_000  # samples
_PLAYER = ("playing", "stalled", "played")

# By name; the list is empty for an event that a program never wrote.
Events = defaultdict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Application bytes that a flow's client had received, connection by connection.

    reports: for each connection, times (s) and total bytes until then; the first entry is its
    first data, with 0 bytes.
    """

    reports: tuple[tuple[Floats, Floats], ...]

    def at(self, t_s: Floats) -> Floats:
        """Return the bytes delivered until each time, interpolated linearly between reports (100
        ms).
        """
        total = np.zeros(len(t_s))
        for times, received in self.reports:
            total += np.interp(t_s, times, received, left=0.0)
        return total

    @property
    def total(self) -> int:
        """All bytes that were delivered."""
        return sum(int(received[-1]) for _, received in self.reports)


@dataclass(frozen=True, slots=True)
class ConnectionEnd:
    """A connection that its transport gave up: when, s after the epoch, and why."""

    connection: int
    at_s: float
    reason: str

    def __str__(self) -> str:
        return f"connection {self.connection} after {self.at_s:.3f} s: {self.reason}"


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a cell, for the endpoints of one of its flows.

    captures: by name. queue: of the flow's bottleneck.
    """

    artefacts: Artefacts
    cell: Cell
    flow: Flow
    captures: Mapping[str, Capture]
    ending: Ending
    queue: QueueRecord


@dataclass(frozen=True, slots=True)
class Endpoints:
    """One flow as its two programs saw it; times in s after the epoch.

    opened_s: connection -> when the client opened it. accepted_s: when the server accepted it.
    done_s: when a connection that received its whole workload had its last byte. first_byte_s:
    first data of any connection, None when there was none. end_s: last byte or stop of the last
    connection, None when one never ended; of files over UDP that were sent, the last byte that
    came, although a client waits for what is lost.
    unended: connections whose end the client never reported.
    given_up: connections that ended by themselves, in order of time; of several reports of one (by
    client and server) the first.
    completed: every connection received its whole workload. ccas: as read back from the sockets.
    loads: page loads, failed ones included; they describe such a flow instead of the client's
    connections: `opened_s` and `done_s` are empty; `unended` counts loads not reported by a client
    that did not finish (one that was stopped says so, and how many loads have ended).
    own_time: the load of a browser from its own host, without a network; it alone has number 0.
    transports: for page loads, connection -> what it ran over.
    reports: events that say how connections were set up (`listening`, `accepted`, `connected`) and
    how datagrams fared (`sent`, `received`), by name. packet_log: packets of a QUIC server and
    their acknowledgements (`round_trips.RECORD`), None without one. transits: of the datagrams of a
    UDP flow, None if its client does not say. errors: the failures that the programs reported.
    files: what programs of the user's own left behind. frames: of media, by way and kind; those of
    which both ends said what became of them.
    """

    first_byte_s: float | None
    end_s: float | None
    unended: int
    completed: bool
    progress: Progress
    samples: Samples
    ccas: frozenset[str]
    reports: Mapping[str, tuple[Mapping[str, Any], ...]]
    errors: tuple[str, ...]
    opened_s: Mapping[int, float] = field_of(default_factory=dict)
    accepted_s: Mapping[int, float] = field_of(default_factory=dict)
    done_s: Mapping[int, float] = field_of(default_factory=dict)
    videos: tuple[Video, ...] = ()
    requests: Requests = NO_REQUESTS
    loads: tuple[PageLoad, ...] = ()
    own_time: PageLoad | None = None
    transports: Mapping[int, str] = field_of(default_factory=dict)
    packet_log: NDArray[np.void] | None = None
    given_up: tuple[ConnectionEnd, ...] = ()
    transits: Transits | None = None
    files: Mapping[str, bytes | None] = field_of(default_factory=dict)
    frames: Mapping[tuple[Way, Kind], Frames] = field_of(default_factory=dict)


def load(artefacts: Artefacts, flow: Flow, ended_s: float) -> Endpoints:
    """Read what server and client of a flow wrote; ended_s: the end of the cell.

    Raises ArtefactError.
    """
    server_file, client_file = f"{flow.name}.server.ndjson", f"{flow.name}.client.ndjson"
    sampled: list[Samples] = []
    server = by_event(
        _without_samples(artefacts.lines(server_file), sampled, flow.transport, server_file)
    )
    client = by_event(artefacts.lines(client_file))
    done = times(client["done"], client_file)
    opened = times(client["opened"], client_file)
    first = times(client["first-byte"], client_file)
    ended = times(_of(client, _ENDS), client_file) | done
    stop_s = ended_s if flow.stop_ns is None else min(flow.stop_ns * NS, ended_s)
    watched = opened if flow.workload.records == "videos" else {}
    rest = reported(artefacts, flow, server, client)
    end_s = max(ended.values()) if len(ended) == flow.connections else None
    return Endpoints(
        opened_s=opened,
        accepted_s=times(server["accepted"], server_file),
        done_s=done,
        first_byte_s=min(first.values(), default=None),
        end_s=_last_byte_s(flow, rest["reports"]["sent"], rest["transits"], end_s),
        unended=flow.connections - len(ended),
        given_up=_given_up(client, client_file, server, server_file),
        completed=len(done) == flow.connections,
        # For a third-party image, packets show how much had arrived: `images`.
        progress=Progress(()) if flow.image else _progress(client, client_file, first),
        samples=samples.joined(sampled),
        videos=applications.videos(_of(client, _PLAYER), watched, stop_s, client_file),
        requests=applications.requests(
            client["fetched"], client["unfinished"], client["asked"], client_file
        ),
        **rest,
    )


def _last_byte_s(
    flow: Flow, sent: Iterable[Mapping[str, Any]], came: Transits | None, end_s: float | None
) -> float | None:
    """Return when a flow ended: of datagrams that were all sent, as the last one came.

    A client that misses one goes on listening, for 3 s of silence or until it is stopped.
    """
    size = flow.workload.total_bytes(flow.connections) if flow.transport == "udp" else None
    if end_s is None or size is None or came is None or not len(came.arrived_s):
        return end_s
    if sum(event.get("bytes", 0) for event in sent) < size:
        return end_s
    return min(end_s, float(came.arrived_s.max()))


def times(events: Iterable[Mapping[str, Any]], file: str) -> dict[int, float]:
    """Return the first time of each connection, s: a stream of requests has many."""
    found: dict[int, float] = {}
    for event in events:
        found.setdefault(field(event, "connection", file), event["t_ns"] * NS)
    return found


def reported(artefacts: Artefacts, flow: Flow, server: Events, client: Events) -> dict[str, Any]:
    """Return what both programs of any flow report: CCAs, set-up and datagrams, packets, errors.

    They are fields of `Endpoints`. Raises ArtefactError.
    """
    file, client_file = f"{flow.name}.server.ndjson", f"{flow.name}.client.ndjson"
    if flow.qlog:
        qlog.check(artefacts, f"{flow.name}.server.sqlog", server["traced"], file)
    logs = [
        round_trips.log_of(artefacts, f"{flow.name}.server.packets", field(e, "records", file))
        for e in server["logged"]
    ]
    return {
        "ccas": frozenset(
            str(e["cca"]) for e in _of(server, ("listening", "accepted")) if e.get("cca")
        ),
        "reports": {name: (*server[name], *client[name]) for name in _REPORTS},
        "packet_log": logs[0] if logs else None,
        "transits": next(
            (
                transits.read(
                    artefacts, f"{flow.name}.client.transits", field(e, "records", client_file)
                )
                for e in client["logged"]
            ),
            None,
        ),
        "errors": tuple(
            f"{side} of flow {flow.name}: {e.get('message')}"
            for side, events in (("server", server), ("client", client))
            for e in events["error"]
        ),
    }


def _given_up(
    client: Events, client_file: str, server: Events, server_file: str
) -> tuple[ConnectionEnd, ...]:
    """Return the connections that ended by themselves; each request is a connection of its own."""
    found: list[ConnectionEnd] = []
    of_connections: dict[int, ConnectionEnd] = {}
    for events, file in ((client, client_file), (server, server_file)):
        for event in _of(events, ("stopped", "unfinished")):
            if not (reason := event.get("reason")):
                continue
            at_s, connection = event["t_ns"] * NS, field(event, "connection", file)
            one = ConnectionEnd(connection, at_s, str(reason))
            if "request" in event:
                found.append(one)
            elif connection not in of_connections or at_s < of_connections[connection].at_s:
                of_connections[connection] = one
    return tuple(sorted([*found, *of_connections.values()], key=lambda one: one.at_s))


def _of(events: Events, names: Iterable[str]) -> list[dict[str, Any]]:
    return [event for name in names for event in events[name]]


def _without_samples(
    records: Iterable[dict[str, Any]], into: list[Samples], transport: str, file: str
) -> Iterator[dict[str, Any]]:
    """Yield all records but a server's samples, which go into columns, a part at a time.

    As objects, an hour of samples every 3 ms would take 2 GB.
    """
    waiting: list[dict[str, Any]] = []
    for record in records:
        if record.get("event") != "sample":
            yield record
            continue
        waiting.append(record)
        if len(waiting) == _PART:
            into.append(samples.read(waiting, transport, file))
            waiting = []
    into.append(samples.read(waiting, transport, file))


def by_event(records: Iterable[dict[str, Any]]) -> Events:
    """Return the events of a log by their names."""
    events: Events = defaultdict(list)
    for record in records:
        events[str(record.get("event"))].append(record)
    return events


def _progress(client: Events, file: str, first_s: Mapping[int, float]) -> Progress:
    """Sort the client's reports by connection; first_s: when each had its first data."""
    reports: dict[int, list[tuple[float, int]]] = {c: [(t, 0)] for c, t in first_s.items()}
    for event in sorted(
        _of(client, ("progress", *_ENDS)),
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
