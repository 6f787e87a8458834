"""Records of `load`: the reports of its client, a browser or not, on each page load."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from fairc.runtime.measurement import samples
from fairc.runtime.measurement.artefacts import NS, ArtefactError, field
from fairc.runtime.measurement.endpoints import (
    Endpoints,
    Progress,
    Remains,
    by_event,
    reported,
    times,
)
from fairc.runtime.measurement.loads import PageLoad, Resource
from fairc.runtime.measurement.samples import Samples

from .cell import LoadWorkload

# The times of an object, and of a load, in the order in which they occur, where known.
_OBJECT = ("start", "connect_start", "connect_end", "request_start", "response_start")
_LOAD = ("begin", *_OBJECT[1:])


def load(remains: Remains) -> Endpoints:
    """Read what server and client of a flow wrote; each object is taken to have arrived evenly.

    Raises ArtefactError.
    """
    artefacts, flow = remains.artefacts, remains.flow
    workload = flow.workload
    assert isinstance(workload, LoadWorkload), "as its folder is called"
    server_file, client_file = f"{flow.name}.server.ndjson", f"{flow.name}.client.ndjson"
    server = by_event(artefacts.lines(server_file))
    client = by_event(artefacts.lines(client_file))
    page_loads = read(client["load"], workload, client_file)
    transports: dict[int, str] = {}
    for event in server["accepted"]:
        transport = event.get("transport")
        if transport not in ("tcp", "quic"):
            raise ArtefactError(f"{server_file}: a connection over {transport!r} was accepted")
        transports[field(event, "connection", server_file)] = transport
    planned = len(workload.protocols)
    for event in client["done"]:
        if event.get("loads") != len(page_loads):
            raise ArtefactError(
                f"{client_file}: {event.get('loads')} loads have ended, {len(page_loads)} are there"
            )
    first = [load.response_start_s for load in page_loads if load.response_start_s is not None]
    arrived = [
        (resource.response_start_s, resource.response_end_s, resource.bytes)
        for load in page_loads
        for resource in load.resources
        if resource.response_start_s is not None and resource.response_end_s is not None
    ]
    return Endpoints(
        accepted_s=times(server["accepted"], server_file),
        first_byte_s=min(first, default=None),
        end_s=page_loads[-1].end_s if len(page_loads) == planned else None,
        unended=0 if client["done"] else planned - len(page_loads),
        completed=len(page_loads) == planned and not any(load.error for load in page_loads),
        progress=Progress(
            tuple((np.array([a, b]), np.array([0.0, float(size)])) for a, b, size in arrived)
        ),
        samples=_samples_of(server["sample"], transports, server_file),
        loads=page_loads,
        own_time=own_time(client["own-time"], client_file),
        transports=transports,
        **reported(artefacts, flow, server, client),
    )


def _samples_of(events: list[dict[str, Any]], transports: Mapping[int, str], file: str) -> Samples:
    """Return the samples of a server over both transports, each read by its connection's
    transport.
    """
    parts: dict[str, list[dict[str, Any]]] = {"tcp": [], "quic": []}
    for event in events:
        connection = field(event, "connection", file)
        if connection not in transports:
            raise ArtefactError(f"{file}: connection {connection} was sampled, but not accepted")
        parts[transports[connection]].append(event)
    return samples.joined([samples.read(found, over, file) for over, found in parts.items()])


def read(
    events: Iterable[Mapping[str, Any]], workload: LoadWorkload, file: str
) -> tuple[PageLoad, ...]:
    """Return the loads that a client reported, in order. Raises ArtefactError.

    A browser's additional load without a network (`own_time`) is not among them.
    """
    loads = tuple(_one(event, file) for event in sorted(events, key=_place))
    for number, load in enumerate(loads, 1):
        if load.number != number:
            raise ArtefactError(f"{file}: load {number} is missing, or is reported twice")
        if number > len(workload.protocols):
            raise ArtefactError(f"{file}: load {number} of a page that is loaded less often")
        if load.wanted != workload.protocols[number - 1]:
            raise ArtefactError(
                f"{file}: load {number} was to use {load.wanted},"
                f" not {workload.protocols[number - 1]} as planned"
            )
    return loads


def own_time(events: Iterable[Mapping[str, Any]], file: str) -> PageLoad | None:
    """Return the load from the client's own host, as number 0, or None where there was none.

    Raises ArtefactError.
    """
    found = [_one({**event, "load": 0}, file) for event in events]
    return found[0] if found else None


def _place(event: Mapping[str, Any]) -> tuple[int, int]:
    number = event.get("load")
    return (number if isinstance(number, int) else 0, event["t_ns"])


def _one(event: Mapping[str, Any], file: str) -> PageLoad:
    one = _Reader(event, f"{file}: load {event.get('load')}")
    error = one.text("error")
    load = PageLoad(
        number=field(event, "load", file),
        wanted=one.text("wanted"),
        protocol=one.maybe_text("protocol"),
        status=one.whole("status"),
        error=error,
        client=one.text("client"),
        version=one.text("version"),
        begin_s=one.time("begin_ns"),
        end_s=event["t_ns"] * NS,
        connect_start_s=one.maybe_time("connect_start_ns"),
        secure_start_s=one.maybe_time("secure_start_ns"),
        connect_end_s=one.maybe_time("connect_end_ns"),
        request_start_s=one.maybe_time("request_start_ns"),
        response_start_s=one.maybe_time("response_start_ns"),
        response_end_s=one.maybe_time("response_end_ns"),
        dom_content_loaded_s=one.maybe_time("dom_content_loaded_ns"),
        load_event_end_s=one.maybe_time("load_event_end_ns"),
        fcp_s=one.maybe_time("fcp_ns"),
        lcp_s=one.maybe_time("lcp_ns"),
        bytes=one.whole("bytes") or 0,
        ports=one.ports(),
        resources=tuple(_resource(r, one.where) for r in one.objects("resources")),
    )
    if not error:
        load = _with_connect_start(load)
        one.ordered(_LOAD)
        needed = ("connect_start_s", "response_start_s", "load_event_end_s", "protocol")
        missing = [name for name in needed if getattr(load, name) is None]
        if missing:
            raise ArtefactError(f"{one.where} did not fail, and has no {missing[0]}")
        if not load.resources:
            raise ArtefactError(f"{one.where} did not fail, and has no resources")
    return load


def _with_connect_start(load: PageLoad) -> PageLoad:
    """Return a load with the start of its connection, which Chromium leaves out of a few over QUIC
    although it tells the end.

    In its place stands the end of the name's lookup, as in W3C Navigation Timing (connectStart)
    and in Chromium's own pages; without a lookup that is the start of the fetch.
    """
    if load.connect_start_s is None and load.connect_end_s is not None and load.resources:
        return replace(load, connect_start_s=load.resources[0].start_s)
    return load


def _resource(event: Mapping[str, Any], where: str) -> Resource:
    one = _Reader(event, f"{where}, {event.get('path')}")
    resource = Resource(
        path=one.text("path"),
        type=one.maybe_text("type") or "",
        protocol=one.maybe_text("protocol"),
        status=one.whole("status"),
        bytes=one.whole("bytes") or 0,
        start_s=one.time("start_ns"),
        connect_start_s=one.maybe_time("connect_start_ns"),
        connect_end_s=one.maybe_time("connect_end_ns"),
        request_start_s=one.maybe_time("request_start_ns"),
        response_start_s=one.maybe_time("response_start_ns"),
        response_end_s=one.maybe_time("response_end_ns"),
    )
    one.ordered((*_OBJECT, "response_end"))
    return resource


@dataclass(frozen=True, slots=True)
class _Reader:
    """Fields of one event, each checked; where: what an error names."""

    event: Mapping[str, Any]
    where: str

    def text(self, key: str) -> str:
        value = self.event.get(key)
        if not isinstance(value, str):
            raise ArtefactError(f"{self.where} has no text {key!r}")
        return value

    def maybe_text(self, key: str) -> str | None:
        return None if self.event.get(key) is None else self.text(key)

    def whole(self, key: str) -> int | None:
        value = self.event.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ArtefactError(f"{self.where} has a {key!r} that is not a number: {value!r}")
        return value

    def time(self, key: str) -> float:
        """Return a time in s from ns, which have a fraction where a browser's clock has one."""
        value = self.event.get(key)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ArtefactError(f"{self.where} has no number {key!r}")
        return value * NS

    def maybe_time(self, key: str) -> float | None:
        return None if self.event.get(key) is None else self.time(key)

    def ports(self) -> tuple[int, ...]:
        given = self.event.get("local_ports") or []
        if not isinstance(given, list) or not all(isinstance(port, int) for port in given):
            raise ArtefactError(f"{self.where} has 'local_ports' that are not numbers")
        return tuple(given)

    def objects(self, key: str) -> Sequence[Mapping[str, Any]]:
        given = self.event.get(key)
        if not isinstance(given, list) or not all(isinstance(item, dict) for item in given):
            raise ArtefactError(f"{self.where} has no list {key!r}")
        return given

    def ordered(self, stages: Sequence[str]) -> None:
        """Raise ArtefactError where a later stage has an earlier time."""
        known = [(name, self.event.get(f"{name}_ns")) for name in stages]
        present = [(name, at) for name, at in known if at is not None]
        for (before, earlier), (after, later) in pairwise(present):
            if later < earlier:
                raise ArtefactError(f"{self.where}: {after} is before {before}")
