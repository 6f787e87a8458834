"""What the connections of a flow move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from .pages import Page


@dataclass(frozen=True, slots=True)
class File:
    """The workload `file(size)`: each connection moves exactly `size_bytes`."""

    size_bytes: int


@dataclass(frozen=True, slots=True)
class Distribution:
    """A random number by its distribution's registry name; arguments in SI base units."""

    kind: str
    arguments: Mapping[str, Fraction]


@dataclass(frozen=True, slots=True)
class Bulk:
    """The workload `bulk`: each connection sends for as long as the flow lasts."""


@dataclass(frozen=True, slots=True)
class Video:
    """The workload `video`: a progressive download, and the player that waits for it.

    burst_ns: playing time that is sent at full speed at first; then chunks of `chunk_bytes` at
    `factor` times the bit rate. The player starts with play_ns buffered, and stalls below stall_ns.
    """

    bitrate_bps: int
    length_ns: int
    burst_ns: int
    chunk_bytes: int
    factor: float
    play_ns: int
    stall_ns: int
    send_buffer_bytes: int

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole video, rounded up."""
        return -(-self.bitrate_bps * self.length_ns // (8 * 10**9))


@dataclass(frozen=True, slots=True)
class Requests:
    """The workload `requests`: answers of random sizes, asked for at random times (s).

    size: bytes, or, with `packets`, payloads of full packets. share: the part that a flow has of one
    process of arrivals, which all flows with a share make up; `every` is then that of the process.
    None: the flow has arrivals of its own.
    """

    size: Distribution
    every: Distribution
    packets: bool = False
    share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class OnOff:
    """The workload `onoff`: a rate (bit/s of IP), with pauses; times in s.

    packet_bytes: of a datagram over UDP with its IP header; None: what the path takes.
    """

    rate_bps: int
    on: Distribution
    off: Distribution
    packet_bytes: int | None


Client = Literal["chromium", "plain"]


HttpVersion = Literal["h1", "h2", "h3"]


@dataclass(frozen=True, slots=True)
class Load:
    """The workload `load`: a page, loaded so many times one after the other, with pauses (s).

    http: h3: the first load is over h2, and learns of h3. timeout_ns: None: by the page's size.
    """

    page: Page
    client: Client
    http: HttpVersion
    loads: int
    idle: Distribution
    timeout_ns: int | None

    @property
    def protocols(self) -> tuple[HttpVersion, ...]:
        """The HTTP version of each load."""
        versions: list[HttpVersion] = [self.http] * self.loads
        if self.http == "h3":
            versions[0] = "h2"
        return tuple(versions)

    @property
    def size_bytes(self) -> int:
        """Bytes of all loads."""
        return self.page.size_bytes * self.loads


@dataclass(frozen=True, slots=True)
class Iperf3:
    """The workload `iperf3`: time_s or size_bytes of all streams together; without either, endless.

    window_bytes: socket buffers of both ends; None: the kernel tunes them. packet_bytes: of a datagram
    with its IP header; None: what the path takes. reverse: the receiver is iperf3's client.
    """

    time_s: int | None = None
    size_bytes: int | None = None
    window_bytes: int | None = None
    packet_bytes: int | None = None
    reverse: bool = True

    @property
    def ends(self) -> bool:
        """Whether it comes to an end by itself."""
        return self.time_s is not None or self.size_bytes is not None


Workload = File | Bulk | Video | Requests | OnOff | Load | Iperf3
