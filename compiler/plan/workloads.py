"""Workloads: what the connections of a flow transfer."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fairc.cell.numbers import (
    Buffer,
    MtuBytes,
    NotNegative,
    Probability,
    Rate,
    Seed,
    Setting,
    Size,
    SpanNs,
    TestBuffer,
    TestBytes,
    TestTime,
    TimeNs,
    absent,
)
from fairc.cell.text import MimeType, ObjectPath, ParameterName

from .base import Model


class Moved(Model):
    """What every workload declares in addition to its parameters.

    greedy: whether a server always has data to send until everything has been sent. paced: whether
    waiting for the send buffer is part of the workload.
    """

    greedy: ClassVar[bool] = False
    paced: ClassVar[bool] = False

    def total_bytes(self, connections: int) -> int | None:
        """Return the bytes that all connections transfer together; None if there is no end."""
        return None

    def own_s(self, connections: int, rate_bps: int | None) -> float:
        """Return how long it takes if the network does not limit it, s; rate_bps: the flow's own limit."""
        return 0.0

    def offered_bps(self, connections: int, rate_bps: int | None) -> float | None:
        """Return the average offered load of all connections, bit/s; None: as much as the network carries."""
        return None if rate_bps is None else float(rate_bps) * connections


class FileWorkload(Moved):
    """Each connection transfers exactly `bytes` and ends."""

    greedy = True
    kind: Literal["file"] = "file"
    bytes: Size

    def total_bytes(self, connections: int) -> int:
        """Return the files' bytes."""
        return self.bytes * connections

    def own_s(self, connections: int, rate_bps: int | None) -> float:
        """Return the time of a file at the flow's own rate, s."""
        return 0.0 if rate_bps is None else self.bytes * 8 / rate_bps


class BulkWorkload(Moved):
    """Each connection sends until it is stopped."""

    greedy = True
    kind: Literal["bulk"] = "bulk"


_PARAMETERS = {
    "constant": {"value"},
    "uniform": {"low", "high"},
    "exponential": {"mean"},
    "pareto": {"mean", "shape"},
    "gamma": {"mean", "shape"},
    "normal": {"mean", "deviation"},
}


class Distribution(Model):
    """A random number, seconds or bytes, drawn by the endpoints as compiler/draws.py draws.

    kind: `constant` (value), `uniform` (low, high), `exponential` (mean), `pareto` and `gamma`
    (mean, shape), `normal` (mean, deviation; cut at zero).
    """

    kind: Literal["constant", "uniform", "exponential", "pareto", "gamma", "normal"]
    parameters: dict[ParameterName, NotNegative]

    @model_validator(mode="after")
    def _has_its_parameters(self) -> Self:
        if self.parameters.keys() != _PARAMETERS[self.kind]:
            raise ValueError(f"`{self.kind}` has {', '.join(sorted(_PARAMETERS[self.kind]))}")
        return self

    @property
    def mean(self) -> float:
        """The mean; of a normal distribution, the one before truncation at zero."""
        given = self.parameters
        if self.kind == "uniform":
            return (given["low"] + given["high"]) / 2
        return given["value" if self.kind == "constant" else "mean"]


class VideoWorkload(Moved):
    """A progressive download and its player.

    burst_ns of playing time are sent at full speed, then one chunk after the other at `factor` times the
    bit rate. The player starts with play_ns buffered, and stalls below stall_ns.
    """

    paced = True
    kind: Literal["video"] = "video"
    bitrate_bps: Rate
    length_ns: TimeNs
    burst_ns: TimeNs
    chunk_bytes: Size
    factor: NotNegative
    play_ns: TimeNs
    stall_ns: TimeNs
    send_buffer_bytes: Buffer

    def total_bytes(self, connections: int) -> int:
        """Return the videos' bytes."""
        return self.bitrate_bps * self.length_ns // (8 * 10**9) * connections

    def own_s(self, connections: int, rate_bps: int | None) -> float:
        """Return the playing time, s."""
        return self.length_ns / 1e9


class SharedArrivals(Model):
    """A flow's share of an arrival process that several flows split; its clients draw the whole process.

    seed: of the process: its intervals, and a mark for each arrival, uniform in (0, 1). low, high:
    the flow has the arrivals with marks from `low` to below `high`; its connections divide this range equally.
    """

    seed: Seed
    low: Probability
    high: Probability

    @model_validator(mode="after")
    def _is_a_part(self) -> Self:
        if self.low >= self.high:
            raise ValueError("a part of the arrivals ends above where it begins")
        return self


class RequestsWorkload(Moved):
    """Requests for answers of `size` (bytes), at random intervals `every` (s), the first at the start.

    seed: of both streams of random numbers; each connection has its own pair. shared: the flow's share of an
    arrival process, of which `every` is then the interval; left out where there is none.
    """

    kind: Literal["requests"] = "requests"
    size: Distribution
    every: Distribution
    seed: Seed
    shared: Annotated[SharedArrivals | None, Field(exclude_if=absent)] = None

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the mean size of answers over their mean interval, bit/s."""
        each = 8 * self.size.mean / self.every.mean
        if self.shared is not None:  # of all connections together
            return each * (self.shared.high - self.shared.low)
        return each * connections


class OnOffWorkload(Moved):
    """A rate (bit/s of IP) while `on` (s), nothing while `off` (s); begins with `on`.

    packet_bytes: IP bytes of a datagram over UDP.
    """

    paced = True
    kind: Literal["onoff"] = "onoff"
    rate_bps: Rate
    on: Distribution
    off: Distribution
    packet_bytes: MtuBytes
    seed: Seed

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the rate times the fraction of time that a source is on, bit/s."""
        return self.rate_bps * (self.on.mean / (self.on.mean + self.off.mean)) * connections


class PageObject(Model):
    """An object of a web page; the first one is the document.

    path: its path on the server, `/` for the document. type: its MIME type. parent: the
    index of the object that refers to it, smaller than its own; None for the document.
    """

    path: ObjectPath
    bytes: Size
    type: MimeType
    parent: Annotated[int, Field(ge=0, le=1000)] | None


class LoadWorkload(Moved):
    """A page, loaded several times in sequence by one client with one profile.

    client: `chromium`, or `plain`: a client without a browser. protocols: the HTTP version of each
    load. idle_ns: the pause before each load (none before the first), from the end of
    the previous load. timeout_ns: a load that takes longer has failed.
    quic_parameters: all parameters of the CCA over QUIC; empty where no load is over HTTP/3.
    """

    kind: Literal["load"] = "load"
    page: Annotated[tuple[PageObject, ...], Field(min_length=1, max_length=1000)]
    client: Literal["chromium", "plain"]
    protocols: Annotated[tuple[Literal["h1", "h2", "h3"], ...], Field(min_length=1, max_length=100)]
    idle_ns: tuple[TimeNs, ...]
    timeout_ns: SpanNs
    quic_parameters: dict[ParameterName, Setting] = {}

    @model_validator(mode="after")
    def _is_a_page(self) -> Self:
        for number, item in enumerate(self.page):
            if (item.parent is None) != (number == 0) or (item.parent or 0) > max(0, number - 1):
                raise ValueError("an object of a page comes after the one that names it")
        if len({item.path for item in self.page}) < len(self.page) or self.page[0].path != "/":
            raise ValueError("the document of a page is at `/`, and no two objects at one path")
        if len(self.idle_ns) != len(self.protocols):
            raise ValueError("each load of a page has a protocol and a pause")
        return self

    def total_bytes(self, connections: int) -> int:
        """Return the bytes of all loads."""
        return sum(item.bytes for item in self.page) * len(self.protocols)


class Iperf3Workload(Moved):
    """The program iperf3, with the flow's connections as parallel streams.

    time_s, bytes: when it ends, bytes counted over all streams; with neither it lasts as long as the flow.
    window_bytes: socket buffers of both ends; None: as the kernel tunes them. packet_bytes: IP bytes of
    a datagram; None over TCP. reverse: the flow's client is iperf3's client (`--reverse`), else its server.
    """

    kind: Literal["iperf3"] = "iperf3"
    time_s: TestTime | None
    bytes: TestBytes | None
    window_bytes: TestBuffer | None
    packet_bytes: MtuBytes | None
    reverse: bool

    @model_validator(mode="after")
    def _ends_once(self) -> Self:
        if self.time_s is not None and self.bytes is not None:
            raise ValueError("iperf3 ends after a time or after a number of bytes, not after both")
        return self

    def total_bytes(self, connections: int) -> int | None:
        """Return the bytes of all streams together."""
        return self.bytes

    def own_s(self, connections: int, rate_bps: int | None) -> float:
        """Return the time of its bytes at the flow's own rate, s."""
        return self.bytes * 8 / (rate_bps * connections) if self.bytes and rate_bps else 0.0


Workload = Annotated[
    FileWorkload
    | BulkWorkload
    | VideoWorkload
    | RequestsWorkload
    | OnOffWorkload
    | LoadWorkload
    | Iperf3Workload,
    Field(discriminator="kind"),
]
"""A workload, distinguished by `kind`."""
