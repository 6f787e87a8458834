"""Links: rate, delay and losses of each direction, and how they change over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from fairc.cell.frames import MTU, frame_bytes
from fairc.cell.framing import ETHERNET, Framing
from fairc.cell.links import Change, ChosenLoss, Entering, GilbertElliott, Impairment, Jitter
from fairc.cell.medium import Medium
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Size

from .requests import Input
from .workloads import Distribution

if TYPE_CHECKING:
    from .flows import Flow


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue: its registry name, its size, and those of its other arguments that are given.

    options: parameter -> its value, as its kind takes it. bands: code point -> the queue of packets
    with it, the first that is served first; of most queues none.
    """

    kind: str
    size: Size
    span: Span
    options: Mapping[str, object] = field(default_factory=dict)
    bands: Mapping[int, Queue] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[Queue, ...]:
        """Itself, and the queues of its bands."""
        return (self, *self.bands.values())


Transmit = Literal["frames", "bucket"]
Ecn = Literal["none", "bleach", "mark"]


@dataclass(frozen=True, slots=True)
class Trace:
    """A rate over time: how often each bin offers a chance to send one packet of 1500 bytes.

    Bins follow each other from the start of the cell, and repeat after period_ns. The last one
    ends with the period, and may be shorter.
    """

    file: Input
    period_ns: int
    every_ns: int
    chances: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """A value of a link over time, in steps: (ns after the start of the cell, bit/s, ns or a
    probability).

    length_ns: of the recording. period_ns: after which it begins again; None: the last value stays.
    mean: over the recording, of time.
    """

    file: Input
    span: Span
    steps: tuple[tuple[int, float], ...]
    length_ns: int
    period_ns: int | None
    mean: float


@dataclass(frozen=True, slots=True)
class Recordings:
    """The attributes of a link that follow a recording; None: it does not."""

    rate: Recording | None = None
    delay: Recording | None = None
    loss: Recording | None = None

    @property
    def all(self) -> tuple[Recording, ...]:
        """Those that there are."""
        return tuple(one for one in (self.rate, self.delay, self.loss) if one is not None)


@dataclass(frozen=True, slots=True)
class Misplaced:
    """A place where a device cannot stand: the code of the diagnostic, and its help."""

    code: str
    help: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDevice:
    """A device in front of the queue of one direction of a link, at a node of its own;
    mechanisms/devices has each.

    noun: what it is called, also in the name of its node. tunnelled: where it
    stands in a tunnel, which hides TCP's headers; None: it reads none.
    name: empty: that of its place.
    """

    noun: ClassVar[str]
    tunnelled: ClassVar[Misplaced | None] = None

    name: str
    span: Span

    @property
    def limit_bps(self) -> int | None:
        """The rate at which packets may pass it, bit/s of frames; None: any."""
        return None

    @property
    def last_ns(self) -> int:
        """The time of its last change, ns after the start of the cell; 0: it has none."""
        return 0

    @property
    def reads_back(self) -> bool:
        """Whether it reads what leaves the queue, and what comes back, as well."""
        return False

    def prepared(self, flows: Sequence[Flow]) -> list[Flow]:
        """Return the flows as it needs them. Raises CompileError for one that cannot be so."""
        return [*flows]


@dataclass(frozen=True, slots=True)
class Event:
    """New values of a link from begin_ns on, ns after the start of the cell; None: unchanged.

    length_ns: how long they hold; None: until others follow.
    period_ns: the time from one beginning to the next; None: it happens once, or `pause` says.
    pause: from begin_ns, and from each end, to the next beginning, s; length: instead of length_ns,
    s. Each time draws anew.
    apart: whether each direction of a link draws its own.
    ramp_ns: how long the values take to get there from what they were.
    rate: bit/s, 0: packets wait; delay: s; loss, reorder: probabilities. Each time draws anew.
    bursts: the chain whose stationary loss the loss is.
    jitter: what the delay varies by, as of `words.jitter.varying`.
    is_up: whether packets get across; if not, they are lost.
    entering: what it waits for from begin_ns on; None: it begins then.
    """

    begin_ns: int
    span: Span
    length_ns: int | None = None
    period_ns: int | None = None
    pause: Distribution | None = None
    length: Distribution | None = None
    apart: bool = False
    ramp_ns: int = 0
    rate: Distribution | None = None
    delay: Distribution | None = None
    loss: Distribution | None = None
    reorder: Distribution | None = None
    bursts: GilbertElliott | None = None
    jitter: Jitter | None = None
    is_up: bool | None = None
    entering: Entering | None = None

    @property
    def drawn(self) -> tuple[Distribution, ...]:
        """The distributions of its values."""
        every = (self.pause, self.length, self.rate, self.delay, self.loss, self.reorder)
        return tuple(one for one in every if one is not None)


@dataclass(frozen=True, slots=True)
class Burst:
    """What a shaper's bucket holds, bytes of frames, and the rate at which that is sent, bit/s;
    None: in no time.
    """

    depth_bytes: int
    peak_bps: int | None


@dataclass(frozen=True, slots=True)
class LinkMedium:
    """A medium that transmits in place of a shaper; mechanisms/links has each.

    planned: its part of the plan, still without a seed.
    keys: those of the link that ask for it.
    span: where it is said.
    reads: what it does with the headers of packets, which a tunnel hides, and what may be written
    instead; None: it reads none.
    """

    planned: Medium
    keys: tuple[str, ...]
    span: Span
    reads: tuple[str, Misplaced] | None = None


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link. A packet meets its queue and rate, then loss, then delay.

    rate_bps: bit/s on the wire, > 0, or None for a link that is not shaped.
    impairment: its delay and losses, without the limit and the seed of a netem.
    recordings: what it follows; rate_bps is then their mean, delay and loss their first values.
    events: how it varies over time, as written.
    rates: changes of the rate that follow from them until the end of a cell, in chronological
    order; 0 bit/s: packets wait.
    changes: those of the impairment, likewise; a link that is down loses everything.
    ups: when it goes down (False), and comes up again.
    trace: what the rate follows; rate_bps is then its mean.
    mtu: the largest IP packet, bytes; the same both ways.
    device: in front of the queue; None: there is none.
    transmit: `frames`: each frame takes its length / rate; `bucket`: a token bucket of one frame
    lets them pass, and they take no time. burst: what that holds; None: one frame.
    ecn: what a middlebox behind the queue does to the bits of ECN; ecn_given: where that is said.
    dscp: the code point that every packet gets there; None: it keeps its own. chosen: packets that
    are lost there, all of them.
    medium: what transmits in place of a shaper; None: it has a shaper.
    framing: how long packets are on its wire.
    """

    rate_bps: int | None
    impairment: Impairment
    queue: Queue
    span: Span
    recordings: Recordings = Recordings()
    events: tuple[Event, ...] = ()
    rates: tuple[Change, ...] = ()
    changes: tuple[Change, ...] = ()
    ups: tuple[tuple[int, bool], ...] = ()
    trace: Trace | None = None
    mtu: int = MTU
    device: LinkDevice | None = None
    transmit: Transmit = "frames"
    burst: Burst | None = None
    ecn: Ecn = "none"
    ecn_given: Span | None = None
    dscp: int | None = None
    chosen: tuple[ChosenLoss, ...] = ()
    medium: LinkMedium | None = None
    framing: Framing = ETHERNET

    @property
    def planned_medium(self) -> Medium | None:
        """The part of the plan that is its medium, still without a seed."""
        return None if self.medium is None else self.medium.planned

    @property
    def impairments(self) -> list[Impairment]:
        """Its impairments at first, and after each change."""
        later = [change.impairment for change in self.changes]
        return [self.impairment, *(state for state in later if state is not None)]

    @property
    def delay_ns(self) -> int:
        """The one-way delay before any change, ns."""
        return self.impairment.delay_ns

    @property
    def packet_bps(self) -> int:
        """Its rate for full packets, bit/s of them in frames of Linux; 0 without a rate."""
        return (self.rate_bps or 0) * frame_bytes(self.mtu) // self.frame_bytes

    @property
    def frame_bytes(self) -> int:
        """A full packet as it is sent, bytes."""
        return self.framing.bytes(self.mtu)
