"""Links: rate, delay and losses, their changes, and the lines of tc for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from .batch import duration, line, percent, word
from .effects import AnyEffect
from .frames import ETHERNET_BYTES, MTU
from .framing import ETHERNET, UNLESS_ETHERNET, Framing
from .medium import AnyMedium, AnyRepair
from .numbers import (
    Buffer,
    CodePoint,
    MtuBytes,
    Packets,
    Probability,
    Rate,
    Seed,
    Small,
    SpanNs,
    TimeNs,
)
from .part import UNLESS_ABSENT, UNLESS_EMPTY, UNLESS_OFF, UNLESS_USUAL, Part, unless
from .queues import AnyQueue, queue_bytes, queue_lines
from .text import FlowName, InterfaceAddress, InterfaceName, Line, Word

# A kernel in real time wakes a shaper up to 100 us late now and then, and what its bucket cannot
# hold until then is lost: 50 Mbit/s became 49.1 with a slack of 20 us, and 49.93 with this one.
REAL_TIME_SLACK_NS = 100_000
EMULATED_SLACK_NS = 20_000
"""On a clock that advances by the instructions that an emulated processor executes."""
VIRTUAL_SLACK_NS = 1_000
"""On a clock that advances only while nothing computes, but for a nanosecond at each reading of the
time.
"""

TRANSMITTER_PACKETS = 1_000_000
"""The limit of a netem that transmits what a shaper lets pass, or that delays a host's packets:
never reached.
"""

# With a rate of its own netem sends no packet before the one that came ahead of it; this one is so
# high that a full frame takes 12 ns.
IN_ORDER_BPS = 1_000_000_000_000


JITTER_REACH = 4
"""The largest number in netem's tables of distributions, in multiples of the jitter (16 bits with a
sign, of which 8192 are 1)."""


@dataclass(frozen=True, slots=True)
class Shaper(Part):
    """The rate of a link, bit/s of frames, at the interface that has its queue.

    It lets a frame begin when the one ahead of it has been sent. transmitter: what keeps each frame
    for its length / rate: the netem of the `hop` behind the queue, a netem `below` the interface,
    or `here` a netem that takes the place of shaper and queue (and drops nothing, or the cell is
    invalid), or the `medium` that takes the shaper's place and sends aggregates. None: a token
    bucket of one frame and a slack for late timers (`transmit = bucket`), behind which frames take
    no time.
    medium: left out where frames leave one by one.
    depth_bytes: what that bucket holds, of frames; peak_bps: the rate at which the hop behind it
    transmits a burst. Both are left out where the file does not set them.
    burst_bytes: in plans of versions whose links were all such buckets; left out in others.
    """

    rate_bps: Rate
    transmitter: Literal["hop", "below", "here", "medium"] | None = field(
        default=None, metadata=UNLESS_ABSENT
    )
    burst_bytes: Buffer | None = field(default=None, metadata=UNLESS_ABSENT)
    medium: AnyMedium | None = field(default=None, metadata=UNLESS_ABSENT)
    depth_bytes: Buffer | None = field(default=None, metadata=UNLESS_ABSENT)
    peak_bps: Rate | None = field(default=None, metadata=UNLESS_ABSENT)

    def __post_init__(self) -> None:
        """Raise ValueError unless a medium is there where it transmits, and a depth at a bucket."""
        if self.depth_bytes is not None and self.transmitter is not None:
            raise ValueError("a shaper with a depth is a token bucket")
        if (self.transmitter == "medium") != (self.medium is not None):
            raise ValueError("a shaper has a medium if that transmits")


def bucket_bytes(rate_bps: int, frame_bytes: int, slack_ns: int) -> int:
    """Return the size of a token bucket: one frame, and what the link sends in the slack.

    A bucket of exactly one frame loses the tokens of every microsecond that the kernel's timer is
    late: at 100 Mbit/s it served 98.3 Mbit/s. The first 20 us never pay for a second full frame.
    """
    slack_ns = max(slack_ns, EMULATED_SLACK_NS)
    first = min(bytes_in(EMULATED_SLACK_NS, rate_bps), frame_bytes - 1)
    return frame_bytes + first + bytes_in(slack_ns - EMULATED_SLACK_NS, rate_bps)


@dataclass(frozen=True, slots=True)
class GilbertElliott(Part):
    """Losses in bursts: a Markov chain of a good and a bad state, one step per packet.

    p: probability of going from good to bad; r: from bad to good, p + r > 0; h, k: probability that
    a packet passes in the bad and in the good state (Elliott, Bell System Technical Journal 42,
    1963).
    """

    p: Probability
    r: Probability
    h: Probability
    k: Probability

    @property
    def loss(self) -> float:
        """The stationary loss probability: (p (1 - h) + r (1 - k)) / (p + r)."""
        return (self.p * (1 - self.h) + self.r * (1 - self.k)) / (self.p + self.r)


PacketKind = Literal["ce", "ect", "syn", "handshake"]


@dataclass(frozen=True, slots=True)
class ChosenLoss(Part):
    """Packets that a link loses, all of them.

    of: `ce`: those with the mark; `ect`: all that are ECN-capable, marked ones as well; `syn`:
    those that open connections of TCP, and their answers; `handshake`: these, and those of QUIC's
    handshake (Initial and Handshake packets of version 1, RFC 9000, 17.2); `any`. above_bytes: only
    IP packets that are longer. numbers: instead, those of TCP and UDP with these numbers, from 1,
    ascending; left out where there are none.
    """

    of: Literal["any"] | PacketKind = "any"
    above_bytes: MtuBytes | None = None
    numbers: tuple[Small, ...] = field(default=(), metadata=UNLESS_EMPTY)

    @property
    def filters(self) -> tuple[str, ...]:
        """Its filters of tc, without what comes before the classifier.

        A policer without a rate drops what is longer than its MTU; others meet the next filter. Its
        MTU counts the header of Ethernet, also where packets arrive (Linux, net/sched/act_police.c,
        tcf_police_mtu_check).
        """
        if self.numbers:
            return tuple(_numbered(self.numbers))
        most = 1 if self.above_bytes is None else self.above_bytes + ETHERNET_BYTES
        action = f"action police mtu {most} conform-exceed drop/continue"
        found = ("matchall",) if self.of == "any" else PACKET_KINDS[self.of][1]
        return tuple(f"{classifier} {action}" for classifier in found)


TOKEN_BYTES = 65_535
"""What a packet takes at least of a bucket that counts packets: `overhead` of a policer."""
BUCKET_BYTES = 75_000
"""What such a bucket holds: one packet of at most 9000 bytes, and not two."""
BUCKET_RATE_BPS = 2224
"""Its rate: the kernel has a bucket as 32 bits of 64 ns, 270 s at this rate."""
COUNTED_NS = 8 * (2 * TOKEN_BYTES - BUCKET_BYTES) * 10**9 // BUCKET_RATE_BPS
"""After what time such a bucket would let a second packet pass, ns."""


def _numbered(numbers: Sequence[int]) -> Iterator[str]:
    """Yield the filters that drop packets by their number: a bucket for each packet up to the last.

    A packet takes the first bucket that is still full, and has its fate; others meet the next one,
    and whoever finds none passes. Pings, which go ahead of the flows, do not count.
    """
    yield "flower ip_proto icmp action police mtu 65535 conform-exceed drop/ok"
    bucket = (
        f"matchall action police rate {BUCKET_RATE_BPS}bit burst {BUCKET_BYTES} mtu 65535"
        f" overhead {TOKEN_BYTES} conform-exceed continue"
    )
    for number in range(1, numbers[-1] + 1):
        yield f"{bucket}/{'drop' if number in numbers else 'ok'}"


_SYN = "flower ip_proto tcp tcp_flags 0x2/0x2"
_LONG_HEADER = (
    "u32 match u32 0x00110000 0x00ff0000 at 8 match u32 0x80000000 0x90ffffff at 28"
    " match u32 0x01000000 0xff000000 at 32"
)
"""UDP; a long header of type 0 or 2, fixed bit or not (RFC 9287); version 1. No packet here has IP
options.
"""

PACKET_KINDS: dict[PacketKind, tuple[str, tuple[str, ...]]] = {
    "ce": ("that have the mark", ("flower ip_tos 0x3/0x3",)),
    "ect": ("that are ECN-capable", ("flower ip_tos 0x1/0x1", "flower ip_tos 0x2/0x2")),
    "syn": ("that open connections of TCP", (_SYN,)),
    "handshake": ("that open connections of TCP or QUIC", (_SYN, _LONG_HEADER)),
}
"""What packets of each kind are, and the classifiers of tc that find them."""


JitterDistribution = Literal["uniform", "normal", "pareto", "paretonormal", "wifi"]
Jitter = tuple[int, JitterDistribution, float]
"""What of an impairment is its jitter: in ns, its distribution, and its share."""


@dataclass(frozen=True, slots=True)
class Impairment(Part):
    """A netem at an interface: it delays, loses and transmits packets.

    delay_ns: one-way delay, ns. loss: probability that a transmission is lost; independently of
    others, or the stationary loss of the chain `bursts`. limit_packets: netem's own
    queue, at least 2 x rate x delay. seed: of netem's only random stream, which losses, jitter,
    reordering and duplicates draw from; None where nothing is random.
    jitter_ns: the delay of each packet varies by it: `uniform` in delay_ns -+ jitter_ns, else
    jitter_ns times a number from netem's table of the distribution; negative delays become zero.
    jitter_share: of `wifi`, the packets that are sent again until nobody else sends; else left out.
    in_order: a packet never overtakes another one; one with less delay waits for those before it.
    reorder: probability that a packet skips the delay and overtakes packets in flight; gap: it can
    only if this many less one before it did not, left out where it is 1.
    duplicate: probability that a packet is sent twice; the copy can also be lost.
    effects: on packets that are not lost, in this order; left out where there are none.
    rate_bps: of the link whose frames it transmits, one after the other, before their delay; left
    out where that is done elsewhere.
    repair: of lost transmissions; then nothing else is random, and its discipline takes the place
    of netem.
    """

    delay_ns: TimeNs = 0
    loss: Probability = 0.0
    bursts: GilbertElliott | None = None
    limit_packets: Packets = 1000
    seed: Seed | None = None
    jitter_ns: TimeNs = 0
    jitter_distribution: JitterDistribution = "uniform"
    in_order: bool = False
    reorder: Probability = 0.0
    duplicate: Probability = 0.0
    rate_bps: Rate | None = field(default=None, metadata=UNLESS_ABSENT)
    repair: AnyRepair | None = field(default=None, metadata=UNLESS_ABSENT)
    gap: Small = field(default=1, metadata=unless(1))
    jitter_share: Probability = field(default=0.0, metadata=unless(0.0))
    effects: tuple[AnyEffect, ...] = field(default=(), metadata=UNLESS_EMPTY)

    def __post_init__(self) -> None:
        """Raise ValueError for repair beside what it does not go with."""
        beside = self.jitter_ns or self.reorder or self.duplicate or self.bursts or self.rate_bps
        if self.repair is not None and beside:
            raise ValueError("repair goes with independent losses and a fixed delay alone")

    @property
    def dropped(self) -> float:
        """The probability that a packet is dropped, repaired or not."""
        return self.loss if self.repair is None else self.repair.lost(self.loss)

    @property
    def lost(self) -> float:
        """The probability that a packet is dropped or damaged."""
        return self.dropped + (1 - self.dropped) * self.damaged

    @property
    def damaged(self) -> float:
        """The probability that a packet that is not dropped is damaged."""
        found = 0.0
        for effect in self.effects:
            found += (1 - found) * effect.damaged
        return found

    @property
    def jitter(self) -> Jitter:
        """Its jitter."""
        return self.jitter_ns, self.jitter_distribution, self.jitter_share

    def varied(self, jitter: Jitter) -> Impairment:
        """Return it with another jitter."""
        span_ns, distribution, share = jitter
        return replace(
            self, jitter_ns=span_ns, jitter_distribution=distribution, jitter_share=share
        )

    @property
    def least_delay_ns(self) -> int:
        """The least that a delay may be around which its jitter varies, ns."""
        return 0 if self.jitter_distribution == "wifi" else self.jitter_ns

    @property
    def skipping(self) -> float:
        """The share of packets that skip the delay."""
        return 1 / (self.gap - 1 + 1 / self.reorder) if self.reorder else 0.0

    @property
    def random(self) -> bool:
        """Whether anything here is drawn at random."""
        return bool(self.loss or self.jitter_ns or self.reorder or self.duplicate or self.effects)

    def words(self) -> str:
        """Return netem and its arguments: first the loss, then the delay, on a packet's way."""
        if self.repair is not None:
            return self.repair.words(self.limit_packets, self.delay_ns, self.loss, self.seed)
        words = f"netem limit {self.limit_packets}"
        if self.delay_ns or self.in_order:
            words += f" delay {duration(self.delay_ns)}"
        if self.jitter_ns:
            words += f" {duration(self.jitter_ns)}"
            if self.jitter_distribution != "uniform":  # which is netem's without a table
                words += f" distribution {self.jitter_distribution}"
            if self.jitter_distribution == "wifi":
                words += f" {percent(self.jitter_share)}%"
        if self.reorder:
            words += f" reorder {percent(self.reorder)}%"
            if self.gap > 1:
                words += f" gap {self.gap}"
        if self.bursts is not None:
            words += f" loss {_gemodel(self.bursts)}"
        elif self.loss:
            words += f" loss random {percent(self.loss)}%"
        if self.duplicate:
            words += f" duplicate {percent(self.duplicate)}%"
        for effect in self.effects:
            words += f" {effect.words}"
        rate_bps = IN_ORDER_BPS if self.in_order and self.rate_bps is None else self.rate_bps
        if rate_bps is not None:
            words += f" rate {rate_bps}bit"
        if self.seed is not None:
            words += f" seed {self.seed}"
        return words


def _gemodel(chain: GilbertElliott) -> str:
    """Return `gemodel p r 1-h 1-k`: tc-netem(8) takes losses where the model has passes."""
    shares = (chain.p, chain.r, 1 - chain.h, 1 - chain.k)
    return "gemodel " + " ".join(f"{percent(share)}%" for share in shares)


Rewriting = Literal["bleach", "mark"]

REWRITING: dict[Rewriting, str] = {
    "bleach": "pedit munge ip dsfield set 0 retain 3 pipe action csum ip",
    "mark": "skbmod ecn",
}
"""The actions of tc that change the two bits of ECN (RFC 3168) in a packet's header."""


def remark(code_point: int) -> str:
    """Return the actions of tc that give a packet a code point, and leave the bits of ECN alone."""
    return f"pedit munge ip dsfield set {code_point << 2} retain 252 pipe action csum ip"


@dataclass(frozen=True, slots=True)
class Entering(Part):
    """The controller of a flow enters a state: its server's log shows it for the first time."""

    flow: FlowName
    state: Word


@dataclass(frozen=True, slots=True)
class Change(Part):
    """A change at at_ns after the cell's epoch, to a shaper's rate or to an impairment.

    rate_bps: > 0; a link that stops has the rate at which one full frame takes the whole stop.
    is_rest: whether it is a later part of a stop, so that a frame that begins now ends with the
    stop; the link carries no more for that. Left out where it is not.
    impairment: all of its fields, with its own seed.
    entering: what it waits for from at_ns on; left out where it comes at at_ns. The runtime learns
    the time, and gives what runs a cell a plan with it.
    """

    at_ns: TimeNs
    rate_bps: Rate | None = None
    is_rest: bool = field(default=False, metadata=UNLESS_OFF)
    impairment: Impairment | None = None
    entering: Entering | None = field(default=None, metadata=UNLESS_ABSENT)

    @property
    def in_force(self) -> int | Impairment:
        """What holds from then on: a rate in bit/s, or an impairment."""
        if self.impairment is not None:
            return self.impairment
        assert self.rate_bps is not None, "a change of the one or the other"
        return self.rate_bps


@dataclass(frozen=True, slots=True)
class Interface(Part):
    """One end of a cable, and what packets meet that leave by it: a shaper and its queue, or a
    netem.

    name: Linux interface name, at most 15 characters.
    address: IPv4 address with prefix length, `10.0.0.1/30`.
    mtu: the largest IP packet, the same at both ends of a cable; left out where it is 1500.
    shaper, queue: on its egress; impairment: instead of them, on a delay hop.
    bottleneck: whether data can wait here: it is the slowest link of some flow's path, or one that
    may become slower than what comes to it, or the file names its queue.
    changes: of shaper or impairment, in order of time; repeat_ns: the period with which they
    repeat. Before the first one, the shaper's rate and the impairment apply.
    arriving_ecn: what is done to the ECN of packets that arrive by it: `bleach` makes them not
    ECN-capable, marked ones as well; `mark` marks all that can be marked.
    arriving_dscp: the code point (Diffserv) that all of them get. arriving_losses: which of them
    are lost before that. All are left out where there is nothing.
    framing: how long packets are on the wire of the link; left out where it is Linux's own.
    source: `file:line` of the statement that it comes from.
    """

    name: InterfaceName
    address: InterfaceAddress
    mtu: MtuBytes = field(default=MTU, metadata=UNLESS_USUAL, kw_only=True)
    shaper: Shaper | None = None
    queue: AnyQueue | None = None
    impairment: Impairment | None = None
    bottleneck: bool = False
    changes: tuple[Change, ...] = ()
    repeat_ns: SpanNs | None = None
    arriving_ecn: Rewriting | None = field(default=None, metadata=UNLESS_ABSENT)
    arriving_dscp: CodePoint | None = field(default=None, metadata=UNLESS_ABSENT)
    source: Line = ""
    arriving_losses: tuple[ChosenLoss, ...] = field(default=(), metadata=UNLESS_EMPTY)
    framing: Framing = field(default=ETHERNET, metadata=UNLESS_ETHERNET)

    @property
    def ip(self) -> str:
        """Its address alone."""
        return self.address.partition("/")[0]

    @property
    def frame_bytes(self) -> int:
        """A full packet as it is sent, bytes."""
        return self.framing.bytes(self.mtu)

    @property
    def table(self) -> str:
        """The words of tc that make a qdisc count packets as they are on the wire, in front of its
        name.
        """
        return self.framing.table_words(self.mtu)

    @property
    def initial(self) -> int | Impairment | None:
        """What holds before any change: a rate in bit/s, or an impairment."""
        return self.impairment if self.shaper is None else self.shaper.rate_bps

    @property
    def netem(self) -> Impairment | None:
        """The netem at its root, if there is one: the impairment, or what stands for shaper and
        queue.

        In the latter what is in service counts, and not in the queue.
        """
        if self.shaper is None or self.shaper.transmitter != "here":
            return self.impairment
        assert self.queue is not None and self.queue.limit_packets is not None
        return Impairment(limit_packets=self.queue.limit_packets + 1, rate_bps=self.shaper.rate_bps)


def lower_name(upper: str) -> str:
    """Return the name of the interface below `h-eth0` or `eth0`: `h-nic0`, `nic0`."""
    head, _, number = upper.rpartition("eth")
    return f"{head}nic{number}"


def egress_lines(interface: Interface, slack_ns: int, epoch_ns: int | None = None) -> list[str]:
    """Return the lines of `tc -batch` that make what packets meet that leave by an interface.

    slack_ns: how late the clock's timers may be, ns. epoch_ns: when the cell begins, ns after 1970.
    """
    device = f"qdisc add dev {word(interface.name)}"
    made, shaper, queue, netem = list[str](), interface.shaper, interface.queue, interface.netem
    root = f"{device} root handle 1: {interface.table}"
    if netem is not None:
        made.append(f"{root}{netem.words()}")
    elif shaper is not None and shaper.medium is not None and queue is not None:
        words = shaper.medium.words(shaper.rate_bps, interface.frame_bytes, epoch_ns)
        made.append(f"{device} root handle 1: {words}")
        made += queue_lines(interface.name, queue, shaper.rate_bps)
    elif shaper is not None and queue is not None:
        changing = any(change.rate_bps is not None for change in interface.changes)
        if shaper.transmitter is None and not changing:
            bucket = shaper.depth_bytes or bucket_bytes(
                shaper.rate_bps, interface.frame_bytes, slack_ns
            )
            most = queue_bytes(queue, interface.frame_bytes)
            made.append(
                f"{device} root handle 1: tbf rate {shaper.rate_bps}bit burst {bucket} limit {most}"
            )
        else:
            made.append(f"{root}htb default 1")
            made.append(_rate_line("add", interface, shaper.rate_bps, slack_ns))
        made += queue_lines(interface.name, queue, shaper.rate_bps)
    return [line(text) for text in made]


def ingress_lines(interface: Interface, of_devices: Sequence[str] = ()) -> list[str]:
    """Return the lines of `tc -batch` that make what is done to packets that arrive by an
    interface. of_devices: the filters of devices there.
    """
    name, filters = word(interface.name), [*arriving_filters(interface), *of_devices]
    if not filters:
        return []
    return [
        line(f"qdisc add dev {name} clsact"),
        *(
            line(f"filter add dev {name} ingress protocol ip prio {number} {text}")
            for number, text in enumerate(filters, 1)
        ),
    ]


def arriving_filters(interface: Interface) -> list[str]:
    """Return the classifiers with their actions for packets that arrive by an interface, in
    order.
    """
    found = [text for chosen in interface.arriving_losses for text in chosen.filters]
    if actions := arriving_actions(interface):
        found.append(f"matchall action {actions}")
    return found


def arriving_actions(interface: Interface) -> str:
    """Return the actions of tc for packets that arrive by an interface; nothing: there are none."""
    actions = [] if interface.arriving_ecn is None else [REWRITING[interface.arriving_ecn]]
    if interface.arriving_dscp is not None:
        actions.append(remark(interface.arriving_dscp))
    return " pipe action ".join(actions)


def lower_lines(interface: Interface, netems: Sequence[Impairment]) -> list[str]:
    """Return the lines of `tc -batch` for what is below an interface; a packet passes the netems in
    order. The first one counts its bytes for both.
    """
    places = (f"root handle 1: {interface.table}", "parent 1:1 handle 2: ")
    return [
        line(f"qdisc add dev {lower_name(interface.name)} {place}{netem.words()}")
        for place, netem in zip(places, netems, strict=False)
    ]


def change_lines(
    interface: Interface,
    now: int | Impairment,
    before: int | Impairment | None,
    slack_ns: int,
    below: int,
) -> list[str]:
    """Return the lines of `tc -batch` that carry out a change; before: what held until then.

    below: how many netems are below the interface, of which the last one transmits.
    Where a rate falls the shaper goes first, and where it rises the transmitter: no frame ever
    waits between them.
    """
    if isinstance(now, Impairment):
        return [line(f"qdisc change dev {interface.name} root handle 1: {now.words()}")]
    assert interface.shaper is not None and isinstance(before, int), "what has a rate has a shaper"
    if interface.shaper.medium is not None:
        words = interface.shaper.medium.rate_words(now)
        return [line(f"qdisc change dev {interface.name} root handle 1: {words}")]
    lines = [line(_rate_line("change", interface, now, slack_ns))]
    if interface.shaper.transmitter is not None:
        # A change without a size table would take it away.
        place = "parent 1:1 handle 2: " if below > 1 else f"root handle 1: {interface.table}"
        words = transmitter(now).words()
        lines.append(line(f"qdisc change dev {lower_name(interface.name)} {place}{words}"))
    return lines if now < before else lines[::-1]


def transmitter(rate_bps: int) -> Impairment:
    """Return a netem that does nothing but transmit."""
    return Impairment(limit_packets=TRANSMITTER_PACKETS, rate_bps=rate_bps)


def _rate_line(verb: str, interface: Interface, rate_bps: int, slack_ns: int) -> str:
    """Return the line that gives a shaper its rate.

    A token bucket (tbf) looks at a frame before its time has come, so an AQM decides one frame
    early, and it is full again whenever it is changed; this one (htb) takes a frame when the one
    ahead of it is paid for. So its burst is the slack for late timers alone. tc would derive the
    quantum from the rate: there is only one class.
    """
    bucket = interface.shaper is not None and interface.shaper.transmitter is None
    slack_ns = max(slack_ns, EMULATED_SLACK_NS) if bucket else slack_ns
    # tc has whole bytes, and one of them may be more than such a slack; this line is for the
    # endpoints' program.
    burst = (
        f"{slack_ns}ns" if slack_ns <= VIRTUAL_SLACK_NS else max(1, bytes_in(slack_ns, rate_bps))
    )
    return (
        f"class {verb} dev {interface.name} parent 1: classid 1:1 htb rate {rate_bps}bit"
        f" ceil {rate_bps}bit burst {burst} cburst {burst} quantum {interface.frame_bytes}"
    )


def bytes_in(time_ns: int, rate_bps: int) -> int:
    """Return how many bytes a rate in bit/s is in a time in ns, rounded down."""
    return rate_bps * time_ns // (8 * 10**9)
