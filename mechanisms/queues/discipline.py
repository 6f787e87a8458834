"""Queue disciplines: the declaration of one, and the queue of a link that it lowers.

Parameters that are not written default to those of the AQM's authors and of Linux (tc-red(8),
tc-codel(8), ...), whatever the rate (measurement.md, rule 5), unless `scaled` is on; those that
make no sense at the rate give a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar, cast

from fairc.cell import queues
from fairc.cell.frames import FRAME_BYTES, MTU
from fairc.cell.framing import ETHERNET, Framing
from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.kinds import A_COUNT, A_POSITIVE_TIME, A_SWITCH
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import SHARE
from fairc.dsl.core.values import Quantity, Size
from fairc.dsl.model import Flow, Queue
from fairc.words.sizes import A_QUEUE_SIZE

T = TypeVar("T")

# The most memory that Linux takes for each 1514 bytes of a frame: the bytes and the structures
# around them. fq_codel and fq_pie also limit memory; that limit is kept out of the way.
MEMORY_PER_PACKET = 8192
MIN_MEMORY_BYTES = 32 * 2**20

SIZE = Parameter(
    "size", A_QUEUE_SIZE, "bytes, packets, time at the link's rate, or BDPs", "1000pkt"
)
ECN = Parameter("ecn", A_SWITCH, "mark packets instead of dropping them", "off")
SCALED = Parameter("scaled", A_SWITCH, "raise the target to 1.5 full frames on slow links", "off")
FLOWS = Parameter("flows", A_COUNT, "number of queues that flows are hashed to", "1024")
CODEL_TARGET = Parameter("target", A_POSITIVE_TIME, "acceptable standing delay", "5ms")
CE_THRESHOLD = Parameter(
    "ce_threshold",
    A_POSITIVE_TIME,
    "every packet that can be marked is, if it waited longer",
    otherwise="none",
)
INTERVAL = Parameter("interval", A_POSITIVE_TIME, "time in which the delay must come down", "100ms")
PIE_TARGET = Parameter("target", A_POSITIVE_TIME, "target delay", "15ms")


@dataclass(frozen=True, slots=True)
class Limit:
    """The size of a queue: exactly one of bytes and packets."""

    limit_bytes: int | None = None
    limit_packets: int | None = None


@dataclass(frozen=True, slots=True)
class LinkQueue:
    """A queue of a link, to be lowered; queue[PARAMETER] is its value as written, or its default.

    written: the queue as the file has it.
    limit: exactly one of bytes and packets.
    rate_bps: of the link, bit/s, > 0.
    size_bytes: turns another size of the same queue into bytes.
    mtu: of the link, bytes, > 0.
    bands: code point -> its queue, the first that is served first; of most queues none.
    framing: of the link.
    """

    written: Queue
    limit: Limit
    rate_bps: int
    size_bytes: Callable[[Size], int]
    mtu: int = MTU
    bands: Mapping[int, queues.Queue] = field(default_factory=dict)
    framing: Framing = ETHERNET

    def __getitem__(self, parameter: Parameter[T]) -> T:
        """Return the value of a parameter."""
        if parameter.name in self.written.options:
            return cast(T, self.written.options[parameter.name])
        return parameter.fallback

    @property
    def frame_bytes(self) -> int:
        """The size of a full packet of the link on the wire, bytes."""
        return self.framing.bytes(self.mtu)

    @property
    def packets(self) -> int:
        """The limit in packets; a size in bytes is counted in full frames, rounded up."""
        if self.limit.limit_packets is not None:
            return self.limit.limit_packets
        return -(-(self.limit.limit_bytes or 0) // self.frame_bytes)

    @property
    def bytes(self) -> int:
        """The limit in bytes; packets are counted as full frames."""
        if self.limit.limit_bytes is not None:
            return self.limit.limit_bytes
        return (self.limit.limit_packets or 0) * self.frame_bytes

    @property
    def memory_bytes(self) -> int:
        """A memory limit that never takes effect before the limit in packets."""
        each = MEMORY_PER_PACKET * -(-self.frame_bytes // FRAME_BYTES)
        return max(MIN_MEMORY_BYTES, self.packets * each)

    def ns(self, parameter: Parameter[Quantity]) -> int:
        """Return a time, ns; in whole microseconds, the unit of tc."""
        return max(1, round(self[parameter].number * 10**6)) * 1000

    def ce_threshold_ns(self) -> int | None:
        """Return the delay above which every packet is marked, ns; None if it is not given."""
        return self.ns(CE_THRESHOLD) if CE_THRESHOLD.name in self.written.options else None

    def threshold(self, parameter: Parameter[Size]) -> int | None:
        """Return a threshold in bytes, or None if it is not given."""
        size = cast("Size | None", self.written.options.get(parameter.name))
        if size is None:
            return None
        if isinstance(size, Quantity) and size.dimension == SHARE:
            return int(size.number * self.bytes)
        return self.size_bytes(size)

    def target_ns(self, parameter: Parameter[Quantity]) -> int:
        """Return the target delay, ns; if `scaled`, at least 1.5 full frames' time.

        RFC 8290, section 5.2.2: at least the time of one full packet at the link's speed.
        """
        return self.scaled_ns(self.ns(parameter))

    def scaled_ns(self, delay_ns: int, half_frames: int = 3) -> int:
        """Return a delay, ns; if `scaled`, at least the time of so many halves of a full frame, in
        whole microseconds.
        """
        if not self[SCALED]:
            return delay_ns
        frames_us = -(-half_frames * self.frame_bytes * 8 * 10**6 // (2 * self.rate_bps))
        return max(delay_ns, frames_us * 1000)

    def interval_ns(self) -> int:
        """Return CoDel's interval, ns; if `scaled`, at least 20 targets, the ratio of 100 ms to 5
        ms.
        """
        interval_ns = self.ns(INTERVAL)
        return max(interval_ns, 20 * self.target_ns(CODEL_TARGET)) if self[SCALED] else interval_ns


def _sized(use: Use[Any], span: Span) -> Queue:
    limit, options = use.entry.parameters[0], dict(use.typed)
    size = options.pop(limit.name, None) or replace(limit.fallback, span=span)
    return Queue(use.entry.name, cast(Size, size), span, options)


def _none(given: LinkQueue, queue: Any) -> Iterator[Diagnostic]:
    return iter(())


@dataclass(frozen=True, kw_only=True)
class Discipline(Entry):
    """A queue discipline: an entry whose first parameter is its limit, unless `read` has it
    otherwise.

    read: returns the queue of its arguments, written at a place. Raises CompileError.
    part: the class of its part of the plan.
    inner: the registry of what can be inside it; the list of queues fills it.
    lower: returns its part of the plan.
    target_ns: the standing delay that it aims at, ns.
    doubts: yields what is wrong with its parameters, or makes no sense.
    is_random: whether it draws random numbers, or hashes flows with a secret of the kernel.
    limit_is_of_class: whether its limit holds for each class of service. beyond_packets: how many
    packets it may hold beyond its limit.
    limit_is_memory: whether its limit counts the memory that packets take, not packets or bytes.
    order: what leaves in the order in which it came: all packets (`all`), those of each flow
    (`flows`), or neither (`mixed`).
    probes: its names in tc -> arguments to try whether a kernel has it.
    modules: of the kernel.
    misused: yields what makes no sense about the flows that cross a queue, as it is written.
    is_module: whether it is a kernel module of the user's own.
    """

    lower: Callable[[LinkQueue], queues.Queue]
    part: type[queues.Queue] = queues.Qdisc
    inner: Registry[Discipline] | None = None
    target_ns: Callable[[Any], int | None] = lambda queue: None
    doubts: Callable[[LinkQueue, Any], Iterator[Diagnostic]] = _none
    is_random: bool = False
    limit_is_memory: bool = False
    limit_is_of_class: bool = False
    beyond_packets: int = 0
    order: Literal["all", "flows", "mixed"] = "mixed"
    probes: Mapping[str, str] = field(default_factory=dict)
    modules: tuple[str, ...] = ()
    read: Callable[[Use[Any], Span], Queue] = _sized
    misused: Callable[[Queue, Sequence[Flow]], Iterator[Diagnostic]] | None = None
    runs: bool = True
    is_module: bool = False

    @property
    def is_sized(self) -> bool:
        """Whether its first parameter is its limit."""
        return self.read is _sized

    def warnings(self, given: LinkQueue, queue: queues.Queue) -> Iterator[Diagnostic]:
        """Yield what is wrong with a queue's parameters, and what makes no sense at its rate."""
        frame_ns = given.frame_bytes * 8 * 10**9 // given.rate_bps
        target_ns = self.target_ns(queue)
        if target_ns is not None and frame_ns > target_ns:
            times = (
                f"a full frame takes {frame_ns / 1e6:g} ms, the target is {target_ns / 1e6:g} ms"
            )
            yield warning(
                code="target-below-packet",
                message=f"at this rate one packet takes longer than the target of `{self.name}`",
                span=given.written.span,
                notes=(f"{times}: the queue can never meet it",),
                help=self._larger_target(frame_ns),
            )
        yield from self.doubts(given, queue)

    def _larger_target(self, frame_ns: int) -> str:
        """Return how a target above a frame's time is written: with the parameters that the queue
        has.
        """
        names = {parameter.name for parameter in self.parameters}
        if "target" not in names:
            return f"write `rtt: {20 * frame_ns // 10**6 + 1}ms` or more: a twentieth is the target"
        larger = "a target of more than one frame's time"
        return (
            f"write `{SCALED.name}: on`, or {larger}" if SCALED.name in names else f"write {larger}"
        )


def queue_of(use: Use[Discipline], span: Span) -> Queue:
    """Return the queue that is written at `span`. Raises CompileError."""
    return use.entry.read(use, span)


def together(held: Collection[queues.Queue], frame_bytes: int) -> Limit:
    """Return what queues hold together: packets if all of them count these, else bytes."""
    packets = [each.limit_packets for each in held if each.limit_packets is not None]
    if len(packets) == len(held):
        return Limit(limit_packets=sum(packets))
    return Limit(limit_bytes=sum(queues.queue_bytes(each, frame_bytes) for each in held))
