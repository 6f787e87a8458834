"""The page loads of a flow: what its client, a browser or not, reported about each."""

from __future__ import annotations

from dataclasses import dataclass


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
