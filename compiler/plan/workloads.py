"""What the connections of a flow move."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from .base import Model, absent


class FileWorkload(Model):
    """Each connection moves exactly `bytes` and ends."""

    kind: Literal["file"] = "file"
    bytes: int


class BulkWorkload(Model):
    """Each connection sends until it is stopped."""

    kind: Literal["bulk"] = "bulk"


class Distribution(Model):
    """A random number, seconds or bytes, drawn by the endpoints as compiler/draws.py draws.

    kind: `constant` (value), `uniform` (low, high), `exponential` (mean), `pareto` and `gamma`
    (mean, shape), `normal` (mean, deviation; cut at zero).
    """

    kind: Literal["constant", "uniform", "exponential", "pareto", "gamma", "normal"]
    parameters: dict[str, float]

    @property
    def mean(self) -> float:
        """The mean; of a normal distribution that before it is cut."""
        given = self.parameters
        if self.kind == "uniform":
            return (given["low"] + given["high"]) / 2
        return given["value" if self.kind == "constant" else "mean"]


class VideoWorkload(Model):
    """A progressive download and its player.

    burst_ns of playing time are sent at full speed, then a chunk at a time at `factor` times the
    bit rate. The player starts with play_ns buffered, and stalls below stall_ns.
    """

    kind: Literal["video"] = "video"
    bitrate_bps: int
    length_ns: int
    burst_ns: int
    chunk_bytes: int
    factor: float
    play_ns: int
    stall_ns: int
    send_buffer_bytes: int


class SharedArrivals(Model):
    """A part of one process of arrivals that flows share; its users draw all of it.

    seed: of the process: its intervals, and a mark for each arrival, uniform in (0, 1). low, high:
    those with marks from `low` to below `high` are the flow's, equal parts of it each connection's.
    """

    seed: int
    low: float
    high: float


class RequestsWorkload(Model):
    """Answers of `size` (bytes), asked for every so often (s), the first at the start.

    seed: of both streams of random numbers; each connection has its own pair. shared: `every` is that
    of a process that flows share, and this is the flow's part; left out where there is none.
    """

    kind: Literal["requests"] = "requests"
    size: Distribution
    every: Distribution
    seed: int
    shared: Annotated[SharedArrivals | None, Field(exclude_if=absent)] = None


class OnOffWorkload(Model):
    """A rate (bit/s of IP) while `on` (s), nothing while `off` (s); begins with `on`.

    packet_bytes: IP bytes of a datagram over UDP.
    """

    kind: Literal["onoff"] = "onoff"
    rate_bps: int
    on: Distribution
    off: Distribution
    packet_bytes: int
    seed: int


class PageObject(Model):
    """An object of a web page; the first one is the document.

    path: where the server offers it, `/` for the document. type: its MIME type. parent: the
    position of the object that refers to it, smaller than its own; None for the document.
    """

    path: str
    bytes: int
    type: str
    parent: int | None


class LoadWorkload(Model):
    """A page, loaded several times one after the other by one client with one profile.

    client: `chromium`, or `plain`: a client without a browser. protocols: the HTTP version of each
    load. idle_ns: the pause before each load (before the first one, none), counted from the end of
    the load before it. timeout_ns: a load that takes longer has failed.
    quic_parameters: all of those that the CCA has over QUIC; empty where no load is over HTTP/3.
    """

    kind: Literal["load"] = "load"
    page: tuple[PageObject, ...]
    client: Literal["chromium", "plain"]
    protocols: tuple[Literal["h1", "h2", "h3"], ...]
    idle_ns: tuple[int, ...]
    timeout_ns: int
    quic_parameters: dict[str, int | float | bool] = {}


Workload = Annotated[
    FileWorkload | BulkWorkload | VideoWorkload | RequestsWorkload | OnOffWorkload | LoadWorkload,
    Field(discriminator="kind"),
]
"""What each connection moves, told apart by `kind`."""
