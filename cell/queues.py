"""Queues: what all kinds of a plan have in common; each kind is in a folder (mechanisms/queues)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from .batch import duration
from .framing import Framing
from .modules import KernelModule
from .numbers import Packets, QueueBytes, Range, Small
from .part import Kinds, Part
from .text import ArgumentName, ArgumentWord, DisciplineName


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue(Part):
    """A queue beneath a shaper.

    limit_bytes, limit_packets: one of them, how much it holds at most.
    kind: what the plan calls it, the name of its folder.
    can_be_inner: whether it can be inside another queue: it keeps the order of each flow, and does
        not look at classes.
    is_drop_tail: whether it drops what does not fit, and nothing else.
    beyond_tc: disciplines of its lines that the `tc` of Debian 13 does not know: the endpoints'
    program adds them, and reads them back.
    """

    can_be_inner: ClassVar[bool] = False
    is_drop_tail: ClassVar[bool] = False
    beyond_tc: ClassVar[frozenset[str]] = frozenset()

    limit_bytes: QueueBytes | None
    limit_packets: Packets | None
    kind: str

    @property
    def tc_name(self) -> str:
        """What tc and the kernel call it."""
        return self.kind

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc; rate_bps: of the shaper above."""
        raise NotImplementedError

    @property
    def inner(self) -> tuple[Queue, ...]:
        """The queues inside it."""
        return ()

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return any(queue.marks for queue in self.inner)

    @property
    def shaping(self) -> tuple[int, Framing] | None:
        """The rate of a shaper of its own, bit/s, and how it counts packets; None: it has none."""
        return None

    @property
    def own_module(self) -> tuple[str, KernelModule] | None:
        """The name under which a module of the user's own registers it, and the module."""
        return None

    def registered_as(self, name: str) -> Queue:
        """Return it with a module that registers it under another name."""
        raise NotImplementedError

    @property
    def interface_packets(self) -> int | None:
        """The length of its interface's queue, packets, where it takes its limit from there."""
        return None

    @property
    def filters(self) -> frozenset[str]:
        """The filters of tc that sort packets into its inner queues."""
        return frozenset()

    def lines(self, device: str, place: str, rate_bps: int) -> list[str]:
        """Return the lines of tc that make it.

        device: `dev NAME`. place: its parent and its handle. rate_bps: of the shaper above.
        """
        return [f"qdisc add {device} {place} {self.tc_name} {self.words(rate_bps)}".rstrip()]


QUEUE_KINDS: Kinds[Queue] = Kinds()
AnyQueue = Annotated[Queue, QUEUE_KINDS]
"""A queue, of one of the kinds."""
InnerQueue = Annotated[Queue, QUEUE_KINDS.where(lambda kind: kind.can_be_inner)]
"""A queue inside another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InPackets(Queue):
    """A queue that is limited in packets."""

    limit_bytes: None = None
    limit_packets: Packets


@QUEUE_KINDS.add
@dataclass(frozen=True, slots=True, kw_only=True)
class Qdisc(Queue):
    """A discipline without a class of its own: one from another package, or one that only needs
    arguments of tc.

    discipline: its name in tc and the kernel. It has one limit, the most that it holds. arguments:
    those of tc, the limit included: a name, and its number or word (None: the name alone).
    """

    limit_bytes: QueueBytes | None = None
    limit_packets: Packets | None = None
    kind: Literal["qdisc"] = "qdisc"
    discipline: DisciplineName
    arguments: Annotated[
        tuple[tuple[ArgumentName, Small | ArgumentWord | None], ...], Range(0, 40)
    ] = ()
    ecn: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError unless it has one limit."""
        check_one_limit(self)

    @property
    def tc_name(self) -> str:
        """What tc and the kernel call it."""
        return self.discipline

    @property
    def marks(self) -> bool:
        """Whether it marks packets that can be marked."""
        return self.ecn

    def words(self, rate_bps: int) -> str:
        """Return the arguments of tc."""
        return " ".join(str(part) for pair in self.arguments for part in pair if part is not None)


def check_one_limit(queue: Queue) -> None:
    """Raise ValueError unless a queue has one of its two limits."""
    if (queue.limit_bytes is None) == (queue.limit_packets is None):
        raise ValueError("a queue has one limit: limit_bytes or limit_packets")


def queue_bytes(queue: Queue, frame_bytes: int) -> int:
    """Return how many bytes a queue holds at most, packets being full frames."""
    if queue.limit_bytes is not None:
        return queue.limit_bytes
    assert queue.limit_packets is not None
    return queue.limit_packets * frame_bytes


def queue_lines(interface: str, queue: Queue, rate_bps: int) -> list[str]:
    """Return the lines of tc that make the queue beneath a shaper; rate_bps: of the shaper."""
    return queue.lines(f"dev {interface}", "parent 1:1 handle 2:", rate_bps)


def disciplines(queue: Queue) -> set[str]:
    """Return what tc calls a queue, and the queues inside it."""
    return {queue.tc_name, *(inner.tc_name for inner in queue.inner)}


def ce_threshold_words(delay_ns: int | None) -> str:
    """Return the argument of tc for the delay above which every packet is marked."""
    return "" if delay_ns is None else f" ce_threshold {duration(delay_ns)}"


def ecn_word(on: bool) -> str:
    """Return the argument of tc for marking instead of dropping."""
    return "ecn" if on else "noecn"
