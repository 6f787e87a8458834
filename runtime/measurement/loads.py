"""The page loads of a flow: what its client, a browser or not, reported about each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from fairc.compiler.plan import LoadWorkload

from .artefacts import NS, ArtefactError, field

# The times of an object, and of a load, in the order in which they occur, where known.
_OBJECT = ("start", "connect_start", "connect_end", "request_start", "response_start")
_LOAD = ("begin", *_OBJECT[1:])


@dataclass(frozen=True, slots=True)
class Resource:
    """One object of a page as it was loaded; times in s after the epoch, None where not known.

    type: MIME type. protocol: `h1`, `h2` or `h3`, None where nothing was answered. status: of HTTP.
    bytes: of the body.
    """

    path: str
    type: str
    protocol: str | None
    status: int | None
    bytes: int
    start_s: float
    connect_start_s: float | None
    connect_end_s: float | None
    request_start_s: float | None
    response_start_s: float | None
    response_end_s: float | None


@dataclass(frozen=True, slots=True)
class PageLoad:
    """One load of a page; times in s after the epoch, None where not known.

    number: from 1. wanted, protocol: HTTP version that was asked for, and that of the document.
    error: why it failed; empty if it did not. client, version: what loaded it.
    begin_s: when the navigation began. end_s: when the load was over, however it ended.
    fcp_s, lcp_s: first and largest contentful paint; None where nothing paints.
    ports: of the client's connections, as far as it knows them. resources: the document first.
    """

    number: int
    wanted: str
    protocol: str | None
    status: int | None
    error: str
    client: str
    version: str
    begin_s: float
    end_s: float
    connect_start_s: float | None
    secure_start_s: float | None
    connect_end_s: float | None
    request_start_s: float | None
    response_start_s: float | None
    response_end_s: float | None
    dom_content_loaded_s: float | None
    load_event_end_s: float | None
    fcp_s: float | None
    lcp_s: float | None
    bytes: int
    ports: tuple[int, ...]
    resources: tuple[Resource, ...]

    def since_connect_s(self, at_s: float | None) -> float | None:
        """Return a time of this load, s after it began to connect; None where either is not
        known.
        """
        if at_s is None or self.connect_start_s is None:
            return None
        return at_s - self.connect_start_s


def read(
    events: Iterable[Mapping[str, Any]], workload: LoadWorkload, file: str
) -> tuple[PageLoad, ...]:
    """Return the loads that a client reported, in order. Raises ArtefactError.

    A browser's additional load without a network (`own_time`) is not among them.
    """
    loads = tuple(_load(event, file) for event in sorted(events, key=_place))
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
    found = [_load({**event, "load": 0}, file) for event in events]
    return found[0] if found else None


def _place(event: Mapping[str, Any]) -> tuple[int, int]:
    number = event.get("load")
    return (number if isinstance(number, int) else 0, event["t_ns"])


def _load(event: Mapping[str, Any], file: str) -> PageLoad:
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
        one.ordered(_LOAD)
        needed = ("connect_start_s", "response_start_s", "load_event_end_s", "protocol")
        missing = [name for name in needed if getattr(load, name) is None]
        if missing:
            raise ArtefactError(f"{one.where} did not fail, and has no {missing[0]}")
        if not load.resources:
            raise ArtefactError(f"{one.where} did not fail, and has no resources")
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
