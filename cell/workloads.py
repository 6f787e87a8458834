"""Workloads: what all kinds of a plan have in common; each has a folder of its own
(mechanisms/workloads).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal

from .numbers import (
    NotNegative,
    Probability,
    Range,
    Seed,
    Size,
)
from .part import UNLESS_EMPTY, Kinds, Part
from .text import (
    CommandWord,
    MimeType,
    ObjectPath,
    ParameterName,
    ProgramPath,
    Sha256,
    VariableName,
)

BROWSER = "browser"
"""A program other than the endpoints that a workload may need."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .document import Program
    from .model import Cell, Flow

NS = 10**9

MOST_PROGRAM_BYTES = 64 << 20
"""The largest size of the files of a flow's own programs, all together."""

MOST_IMAGE_BYTES = 512 << 20
"""The largest size of a container image's tar."""


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
    host's processor that one of them may compute at one instant of the virtual clock. memory_bytes:
    what they need beside what any program does.
    """

    name: str
    files: tuple[ProgramFile, ...]
    images: tuple[ProgramImage, ...]
    compute_ns: int
    memory_bytes: int = 0


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
    for each of: `videos`, `transfers` that users wait for, page `loads`, `captured` frames; empty:
    of nothing.
    pauses: whether it does nothing in between, so that its own time is in addition to that of its
    bytes, and congestion control begins anew. of_payload: whether what it offers is payload, not
    packets. opened: how many connections each of a flow's opens at a time. measures_itself: whether
    its ends are programs of others that report what they did, after a handshake of their own.
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
    pauses: ClassVar[bool] = False
    of_payload: ClassVar[bool] = False
    opened: ClassVar[int] = 1
    measures_itself: ClassVar[bool] = False

    kind: str

    def plain(self) -> dict[str, Any]:
        """Return it as endpoints take it (docs/build/endpoints.md, "Workloads"): its kind, then its
        parameters.
        """
        return _plain(self)

    def description(self, cell: Cell) -> dict[str, Any]:
        """Return it as the endpoints of a cell take it."""
        return self.plain()

    @property
    def word(self) -> str:
        """Its name in the language."""
        return self.kind

    @property
    def programs(self) -> frozenset[str]:
        """The programs that it needs, other than the endpoints."""
        return frozenset()

    @property
    def own_code(self) -> OwnCode | None:
        """The code of the user's own that its ends run; None: they run none."""
        return None

    def spins(self, transport: str) -> bool:
        """Whether a program of its own waits by spinning on memory, without a system call."""
        return False

    def program(self, flow: Flow, cell: Cell, side: str) -> Program | None:
        """Return what runs at the `server` or the `client` of a flow in place of the endpoints;
        None: nothing.
        """
        return None

    def early_ns(self, flow: Flow) -> int:
        """Return how long before the epoch a program of a flow begins that starts at its time."""
        return 0

    def is_tuned(self, flow: Flow) -> bool:
        """Whether a flow's client leaves its receive buffer to the kernel."""
        return self.own_code is not None

    @property
    def opened_by_sender(self) -> bool:
        """Whether the server, which sends, opens the connections."""
        return False

    @property
    def asked_buffer_bytes(self) -> int:
        """The socket buffer that its own programs ask for, its field `window_bytes`; 0: none."""
        return getattr(self, "window_bytes", None) or 0

    @property
    def http_versions(self) -> tuple[str, ...]:
        """The HTTP version of each page load that it makes, its field `protocols`: `h1`, `h2` or
        `h3`.
        """
        return getattr(self, "protocols", ())

    @property
    def parameters_over_quic(self) -> Mapping[str, Any]:
        """The parameters of its CCA over QUIC, where it runs over both: `quic_parameters`."""
        return getattr(self, "quic_parameters", {})

    def load_begin_ns(self, place: int, start_ns: int, before_ns: int) -> int:
        """Return when one of its page loads begins, ns after the epoch.

        place: how many are before it. start_ns: when the first is due. before_ns: when the one
        before ended.
        """
        return start_ns

    @property
    def shared_arrivals(self) -> SharedArrivals | None:
        """Its share of an arrival process, its field `shared`; None: it has none."""
        return getattr(self, "shared", None)

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

    @property
    def time_limit_s(self) -> int | None:
        """After what time it ends, its field `time_s`; None: it has no such limit."""
        return getattr(self, "time_s", None)

    def own_time_ns(self, connections: int, rate_bps: int | None) -> int:
        """Return how long it takes if the network does not limit it, ns; rate_bps: the flow's own
        limit.
        """
        return 0

    def alone_s(self, flow: Flow) -> float:
        """Return how long a flow takes if no rate of the network limits it, s."""
        return self.own_time_ns(flow.connections, flow.rate_bps) / 1e9

    def offered_bps(self, connections: int, rate_bps: int | None) -> float | None:
        """Return the average offered load of all connections, bit/s; None: as much as the network
        carries.
        """
        return None if rate_bps is None else float(rate_bps) * connections


WORKLOAD_KINDS: Kinds[Workload] = Kinds()
AnyWorkload = Annotated[Workload, WORKLOAD_KINDS]
"""A workload, of one of the kinds."""


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
