"""Workloads: what all kinds of a plan have in common, and those without a folder of their own
(mechanisms/workloads).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal

from .numbers import (
    MtuBytes,
    NotNegative,
    Probability,
    Range,
    Rate,
    Seed,
    Setting,
    Size,
    SpanNs,
    TestBuffer,
    TestBytes,
    TestTime,
    TimeNs,
)
from .part import UNLESS_ABSENT, UNLESS_EMPTY, Kinds, Part
from .text import (
    CommandWord,
    MimeType,
    ObjectPath,
    ParameterName,
    ProgramPath,
    Sha256,
    VariableName,
)

BROWSER, IPERF3 = "browser", "iperf3"
"""Programs other than the endpoints that a workload may need."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .document import Program
    from .model import Cell, Flow

NS = 10**9

MOST_STREAMS = 128
"""The largest number of streams of one iperf3 (iperf.h, MAX_STREAMS)."""

MOST_PROGRAM_BYTES = 64 << 20
"""The largest size of the files of a flow's own programs, all together."""

MOST_IMAGE_BYTES = 512 << 20
"""The largest size of a container image's tar."""

LEAST_PART = 0.99e-6
"""Least share of a flow in shared arrivals: the language's limit, less rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramFile(Part):
    """A file that programs of the user's own get.

    path: from the folder of the experiment. sha256, bytes: of its content, which is in the folder
    `spec` of a plan.
    """

    path: ProgramPath
    sha256: Sha256
    bytes: Annotated[int, Range(0, MOST_PROGRAM_BYTES)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramImage(Part):
    """A container image that a program of the user's own finds as its file system.

    path, sha256, bytes: of its tar, as of a `ProgramFile`. environment: the variables that it sets,
    by name and value.
    """

    path: ProgramPath
    sha256: Sha256
    bytes: Annotated[int, Range(1, MOST_IMAGE_BYTES)]
    environment: Annotated[tuple[tuple[VariableName, CommandWord], ...], Range(0, 100)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCode:
    """Code of the user's own, at both ends of a flow.

    It needs permission, runs where it can be confined alone, and asks for no CCA and no buffer;
    only what its client sends and receives shows when it began and what arrived.
    name: what the server is called. files: what both get. images: what they find as their file
    systems. compute_ns: the longest time of the
    host's processor that one of them may compute at one instant of the virtual clock.
    """

    name: str
    files: tuple[ProgramFile, ...]
    images: tuple[ProgramImage, ...]
    compute_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload(Part):
    """A workload: its parameters are its fields, and this is what every one declares in addition.

    greedy: whether a server always has data to send until everything has been sent. paced: whether
    waiting for the send buffer is part of the workload. transports: over which it can run.
    by_images: whether third-party images can move it. only_in_packets: whether it can be measured
    only from captured packets. lead_ns: how long before the epoch its programs start, because they
    need that time to be ready. echoes: whether its client returns
    each datagram at once, so that packets show round trips. adapts: whether what it sends depends
    on what it got before, so that it is not known how much it wants on average. steady: whether all
    of a flow's connections open at once, and send full packets. records: what there is a record of
    for each of: `videos`, `transfers` that users wait for, page `loads`, `captured` frames;
    empty: of nothing.
    """

    greedy: ClassVar[bool] = False
    paced: ClassVar[bool] = False
    transports: ClassVar[tuple[str, ...]] = ("tcp", "quic", "udp")
    by_images: ClassVar[bool] = False
    only_in_packets: ClassVar[bool] = False
    lead_ns: ClassVar[int] = 0
    echoes: ClassVar[bool] = False
    adapts: ClassVar[bool] = False
    steady: ClassVar[bool] = False
    records: ClassVar[str] = ""

    kind: str

    def plain(self) -> dict[str, Any]:
        """Return it as endpoints take it (docs/build/endpoints.md, "Workloads"): its kind, then its
        parameters.
        """
        return _plain(self)

    @property
    def programs(self) -> frozenset[str]:
        """The programs that it needs, other than the endpoints."""
        return frozenset()

    @property
    def own_code(self) -> OwnCode | None:
        """The code of the user's own that its ends run; None: they run none."""
        return None

    def program(self, flow: Flow, cell: Cell, side: str) -> Program | None:
        """Return what runs at the `server` or the `client` of a flow in place of the endpoints;
        None: nothing.
        """
        return None

    @property
    def datagram_bytes(self) -> int | None:
        """IP bytes of its datagrams, its field `packet_bytes`; None: of full packets."""
        return getattr(self, "packet_bytes", None)

    @property
    def server_buffer_bytes(self) -> int | None:
        """The send buffer of its server, its field `send_buffer_bytes`; None: the flow's."""
        return getattr(self, "send_buffer_bytes", None)

    @property
    def peak_bps(self) -> float:
        """The highest rate at which one connection sends by itself, bit/s of IP; 0: it has none."""
        return 0

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Return what it cannot have in a flow; empty if there is nothing.

        intercepted: the ports of proxies.
        """
        return ""

    def total_bytes(self, connections: int) -> int | None:
        """Return the bytes that all connections transfer together; None if there is no end."""
        return None

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return how long it takes if the network does not limit it, ns; rate_bps: the flow's own
        limit.
        """
        return 0

    def offered_bps(self, connections: int, rate_bps: int | None) -> float | None:
        """Return the average offered load of all connections, bit/s; None: as much as the network
        carries.
        """
        return None if rate_bps is None else float(rate_bps) * connections


WORKLOAD_KINDS: Kinds[Workload] = Kinds()
AnyWorkload = Annotated[Workload, WORKLOAD_KINDS]
"""A workload, of one of the kinds."""


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class FileWorkload(Workload):
    """Each connection transfers exactly `bytes` and ends."""

    greedy = True
    by_images = True
    steady = True
    records = "transfers"
    kind: Literal["file"] = "file"
    bytes: Size

    def total_bytes(self, connections: int) -> int:
        """Return the files' bytes."""
        return self.bytes * connections

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return the time of a file at the flow's own rate, ns."""
        return 0 if rate_bps is None else self.bytes * 8 * NS // rate_bps


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class BulkWorkload(Workload):
    """Each connection sends until it is stopped.

    packet_bytes: IP bytes of a datagram over UDP; None: the path's MTU.
    """

    greedy = True
    steady = True
    kind: Literal["bulk"] = "bulk"
    packet_bytes: MtuBytes | None = field(default=None, metadata=UNLESS_ABSENT)

    def plain(self) -> dict[str, Any]:
        """Return its kind alone: the description of a UDP server has the size of its packets."""
        return {"kind": self.kind}

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report datagrams of a size where there are none."""
        if self.packet_bytes is not None and flow.transport != "udp":
            return f"the bulk of `{flow.name}` has datagrams of a size over UDP only"
        return ""


_PARAMETERS = {
    "constant": {"value"},
    "uniform": {"low", "high"},
    "exponential": {"mean"},
    "pareto": {"mean", "shape"},
    "gamma": {"mean", "shape"},
    "normal": {"mean", "deviation"},
    "empirical": set[str](),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution(Part):
    """A random number, seconds or bytes, drawn by the endpoints as words/draws.py draws.

    kind: `constant` (value), `uniform` (low, high), `exponential` (mean), `pareto` and `gamma`
    (mean, shape), `normal` (mean, deviation; cut at zero), `empirical` (none).
    values, shares: of `empirical`, points of its distribution function: the share of what is not
    above each value, both ascending, straight lines in between; the last share is 1. Else left out.
    """

    kind: Literal["constant", "uniform", "exponential", "pareto", "gamma", "normal", "empirical"]
    parameters: dict[ParameterName, NotNegative]
    values: Annotated[tuple[NotNegative, ...], Range(0, 2000)] = field(
        default=(), metadata=UNLESS_EMPTY
    )
    shares: Annotated[tuple[Probability, ...], Range(0, 2000)] = field(
        default=(), metadata=UNLESS_EMPTY
    )

    def __post_init__(self) -> None:
        """Raise ValueError unless it has its parameters."""
        if self.parameters.keys() != _PARAMETERS[self.kind]:
            raise ValueError(f"`{self.kind}` has {', '.join(sorted(_PARAMETERS[self.kind]))}")
        points = len(self.values)
        if len(self.shares) != points or (self.kind == "empirical") != (points > 0):
            raise ValueError("an empirical distribution has a share for each of its values")
        rising = all(sorted(column) == [*column] for column in (self.values, self.shares))
        if not rising or (points and self.shares[-1] != 1):
            raise ValueError("values and shares of a distribution ascend, the latter to 1")

    def plain(self) -> dict[str, Any]:
        """Return it as endpoints take it."""
        points = {"values": [*self.values], "shares": [*self.shares]} if self.values else {}
        return {"kind": self.kind, "parameters": {**self.parameters, **points}}

    @property
    def mean(self) -> float:
        """The mean; of a normal distribution, the one before truncation at zero."""
        given = self.parameters
        if self.values:
            before = zip((self.values[0], *self.values), (0.0, *self.shares), strict=False)
            pairs = zip(before, self.values, self.shares, strict=False)
            return sum((a + b) / 2 * (q - p) for (a, p), b, q in pairs)
        if self.kind == "uniform":
            return (given["low"] + given["high"]) / 2
        return given["value" if self.kind == "constant" else "mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedArrivals(Part):
    """A flow's share of an arrival process that several flows split; its clients draw the whole
    process.

    seed: of the process: its intervals, and a mark for each arrival, uniform in (0, 1). low, high:
    the flow has the arrivals with marks from `low` to below `high`; its connections divide this
    range equally.
    """

    seed: Seed
    low: Probability
    high: Probability

    def __post_init__(self) -> None:
        """Raise ValueError unless it is a part."""
        if self.low >= self.high:
            raise ValueError("a part of the arrivals ends above where it begins")


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsWorkload(Workload):
    """Requests for answers of `size` (bytes), at random intervals `every` (s), the first at the
    start.

    seed: of both streams of random numbers; each connection has its own pair. shared: the flow's
    share of an arrival process, of which `every` is then the interval; left out where there is
    none.
    """

    records = "transfers"
    kind: Literal["requests"] = "requests"
    size: Distribution
    every: Distribution
    seed: Seed
    shared: SharedArrivals | None = field(default=None, metadata=UNLESS_ABSENT)

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report a share of an arrival process that is too small, because each stream draws all of
        it.
        """
        if self.shared is None:
            return ""
        part = (self.shared.high - self.shared.low) / flow.connections
        if part < LEAST_PART:
            return f"the streams of `{flow.name}` have too small a part of their arrivals"
        return ""

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the mean size of answers over their mean interval, bit/s."""
        each = 8 * self.size.mean / self.every.mean
        if self.shared is not None:  # of all connections together
            return each * (self.shared.high - self.shared.low)
        return each * connections


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class OnOffWorkload(Workload):
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

    @property
    def peak_bps(self) -> float:
        """The rate while it sends, bit/s of IP."""
        return self.rate_bps

    def offered_bps(self, connections: int, rate_bps: int | None) -> float:
        """Return the rate times the fraction of time that a source is on, bit/s."""
        return self.rate_bps * (self.on.mean / (self.on.mean + self.off.mean)) * connections


@dataclass(frozen=True, slots=True, kw_only=True)
class PageObject(Part):
    """An object of a web page; the first one is the document.

    path: its path on the server, `/` for the document. type: its MIME type. parent: the
    index of the object that refers to it, smaller than its own; None for the document.
    """

    path: ObjectPath
    bytes: Size
    type: MimeType
    parent: Annotated[int, Range(0, 1000)] | None


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class LoadWorkload(Workload):
    """A page, loaded several times in sequence by one client with one profile.

    client: `chromium`, or `plain`: a client without a browser. protocols: the HTTP version of each
    load. idle_ns: the pause before each load (none before the first), from the end of
    the previous load. every_ns: the least time between the begins of two loads, on a grid that
    begins with the first. timeout_ns: a load that takes longer has failed.
    quic_parameters: all parameters of the CCA over QUIC; empty where no load is over HTTP/3.
    """

    transports = ("web",)
    only_in_packets = True
    adapts = True
    records = "loads"
    kind: Literal["load"] = "load"
    page: Annotated[tuple[PageObject, ...], Range(1, 1000)]
    client: Literal["chromium", "plain"]
    protocols: Annotated[tuple[Literal["h1", "h2", "h3"], ...], Range(1, 100)]
    idle_ns: tuple[TimeNs, ...]
    every_ns: TimeNs = 0
    timeout_ns: SpanNs
    quic_parameters: dict[ParameterName, Setting] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise ValueError for objects that do not make a page, and loads without a pause of their
        own.
        """
        for number, item in enumerate(self.page):
            if (item.parent is None) != (number == 0) or (item.parent or 0) > max(0, number - 1):
                raise ValueError("an object of a page comes after the one that names it")
        if len({item.path for item in self.page}) < len(self.page) or self.page[0].path != "/":
            raise ValueError("the document of a page is at `/`, and no two objects at one path")
        if len(self.idle_ns) != len(self.protocols):
            raise ValueError("each load of a page has a protocol and a pause")

    @property
    def programs(self) -> frozenset[str]:
        """A browser, unless a client without one loads the page."""
        return frozenset() if self.client == "plain" else frozenset({BROWSER})

    def begin_ns(self, place: int, start_ns: int, before_ns: int) -> int:
        """Return when a load begins, ns after the epoch.

        place: how many are before it. start_ns: when the first is due. before_ns: when the one
        before ended.
        """
        if not place:
            return start_ns
        return max(before_ns + self.idle_ns[place], start_ns + place * self.every_ns)

    def total_bytes(self, connections: int) -> int:
        """Return the bytes of all loads."""
        return sum(item.bytes for item in self.page) * len(self.protocols)


@WORKLOAD_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Iperf3Workload(Workload):
    """The program iperf3, with the flow's connections as parallel streams.

    time_s, bytes: when it ends, bytes counted over all streams; with neither it lasts as long as
    the flow.
    window_bytes: socket buffers of both ends; None: as the kernel tunes them. packet_bytes: IP
    bytes of a datagram; None over TCP. reverse: the flow's client is iperf3's client (`--reverse`),
    else its server.
    """

    transports = ("tcp", "udp")
    only_in_packets = True
    kind: Literal["iperf3"] = "iperf3"
    time_s: TestTime | None = None
    bytes: TestBytes | None = None
    window_bytes: TestBuffer | None = None
    packet_bytes: MtuBytes | None = None
    reverse: bool

    def __post_init__(self) -> None:
        """Raise ValueError where it would end twice."""
        if self.time_s is not None and self.bytes is not None:
            raise ValueError("iperf3 ends after a time or after a number of bytes, not after both")

    @property
    def programs(self) -> frozenset[str]:
        """The program itself."""
        return frozenset({IPERF3})

    def contradiction(self, flow: Flow, intercepted: Collection[int]) -> str:
        """Report what iperf3 does not support in a flow."""
        if flow.client_address == "":
            return f"the iperf3 of `{flow.name}` has no address to send to"
        if flow.connections > MOST_STREAMS:
            return f"the iperf3 of `{flow.name}` has more than {MOST_STREAMS} streams"
        over_udp = flow.transport == "udp"
        if over_udp != (self.packet_bytes is not None):
            return f"the iperf3 of `{flow.name}` has datagrams of a size over UDP, and only there"
        if over_udp and (flow.rate_bps is None or self.window_bytes is not None):
            return f"the iperf3 of `{flow.name}` needs a rate over UDP, and has no window"
        if not over_udp and flow.port in intercepted:
            return f"a proxy would split the control connection of the iperf3 of `{flow.name}`"
        return ""

    def total_bytes(self, connections: int) -> int | None:
        """Return the bytes of all streams together."""
        return self.bytes

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return its time, or that of its bytes at the flow's own rate, ns."""
        if self.bytes is not None and rate_bps is not None:
            return self.bytes * 8 * NS // (rate_bps * connections)
        return (self.time_s or 0) * NS


IMAGE_USER = 10_000
"""Whom all files of a container image belong to, and who runs its programs."""
IMAGE_DISKS = ("root0", "root1")
"""The machine's disks with the file systems of images: its kernel takes no more."""


def image_disks(cell: Cell) -> dict[str, str]:
    """Return the disks on which a cell's machine finds the images of its programs, by the hashes of
    their tars. Raises ValueError for more than there can be.
    """
    own = [flow.workload.own_code for flow in cell.flows if flow.workload.own_code is not None]
    hashes = sorted({image.sha256 for code in own for image in code.images})
    return dict(zip(hashes, IMAGE_DISKS[: len(hashes)], strict=True))


def _plain(part: Any) -> dict[str, Any]:
    """Return a dataclass as JSON has it: what is left out of a plan where it is absent is left
    out.
    """
    found = {}
    for each in fields(part):
        value = getattr(part, each.name)
        left_out = each.metadata.get("exclude_if")
        if not (left_out and left_out(value)):
            found[each.name] = _plain_value(value)
    return found


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(each) for each in value]
    if isinstance(value, Distribution):
        return value.plain()
    if hasattr(value, "__dataclass_fields__"):
        return _plain(value)
    return value
