"""What a link does to packets: rate, delay, losses, and how they change; the lines of tc for it."""

from __future__ import annotations

from dataclasses import dataclass

from .batch import duration, line, percent, word
from .queues import Queue, queue_bytes, queue_lines

MTU = 1500
ETHERNET_BYTES = 14

# A kernel in real time wakes a shaper up to 100 us late now and then, and what its bucket cannot hold
# until then is lost: 50 Mbit/s became 49.1 with the slack of 20 us alone, and 49.93 with this as well.
LATE_NS = 80_000
SLACK_NS = 20_000
"""By how much the timers of a virtual clock may be late: a shaper's burst is one frame and this much."""

# With a rate of its own netem sends no packet before the one that came ahead of it; this one is so
# high that a full frame takes 12 ns.
IN_ORDER_RATE = "1000gbit"


@dataclass(frozen=True)
class Shaper:
    """A token bucket: rate of frames, bit/s. burst_bytes: where timers are exact; None: the usual one."""

    rate_bps: int
    burst_bytes: int | None = None


def usual_burst_bytes(rate_bps: int, frame_bytes: int) -> int:
    """Return a token bucket's size: one frame, and what the link sends in 20 us, under two frames.

    A bucket of exactly one frame loses the tokens of every microsecond that the kernel's timer is
    late: at 100 Mbit/s it served 98.3 Mbit/s. The slack never pays for a second full frame.
    """
    return frame_bytes + min(_bytes_in(SLACK_NS, rate_bps), frame_bytes - 1)


@dataclass(frozen=True)
class GilbertElliott:
    """Losses in bursts: a Markov chain of a good and a bad state, one step per packet.

    p: probability of going from good to bad; r: from bad to good; h, k: probability that a packet
    passes in the bad and in the good state (Elliott, Bell System Technical Journal 42, 1963).
    """

    p: float
    r: float
    h: float
    k: float


@dataclass(frozen=True)
class Netem:
    """A delay (one way) and losses. jitter_ns: the delay varies by it, `uniform` in delay_ns -+ jitter_ns.

    in_order: no packet overtakes another one. reorder: probability that a packet skips the delay.
    bursts: losses by this chain, else independently with probability `loss`. seed: of all that is random.
    """

    delay_ns: int = 0
    limit_packets: int = 1000
    loss: float = 0.0
    seed: int | None = None
    bursts: GilbertElliott | None = None
    jitter_ns: int = 0
    jitter_distribution: str = "uniform"
    in_order: bool = False
    reorder: float = 0.0
    duplicate: float = 0.0

    def words(self) -> str:
        """Return netem and its arguments: first the loss, then the delay, on a packet's way."""
        words = f"netem limit {self.limit_packets}"
        if self.delay_ns or self.in_order:
            words += f" delay {duration(self.delay_ns)}"
        if self.jitter_ns:
            words += f" {duration(self.jitter_ns)}"
            if self.jitter_distribution != "uniform":  # which is netem's without a table
                words += f" distribution {self.jitter_distribution}"
        if self.reorder:
            words += f" reorder {percent(self.reorder)}%"
        if self.bursts is not None:
            words += f" loss {_gemodel(self.bursts)}"
        elif self.loss:
            words += f" loss random {percent(self.loss)}%"
        if self.duplicate:
            words += f" duplicate {percent(self.duplicate)}%"
        if self.in_order:
            words += f" rate {IN_ORDER_RATE}"
        if self.seed is not None:
            words += f" seed {self.seed}"
        return words


def _gemodel(chain: GilbertElliott) -> str:
    """Return `gemodel p r 1-h 1-k`: tc-netem(8) takes losses where the model has passes."""
    shares = (chain.p, chain.r, 1 - chain.h, 1 - chain.k)
    return "gemodel " + " ".join(f"{percent(share)}%" for share in shares)


@dataclass(frozen=True)
class Egress:
    """What packets that leave a node by an interface meet: a shaper and its queue, or a netem.

    bottleneck: whether it is the slowest link of some flow's data path. changes: (ns after the epoch,
    rate in bit/s or netem) that hold from then on; repeat_ns: they come again after that.
    """

    node: str
    interface: str
    shaper: Shaper | None = None
    queue: Queue | None = None
    netem: Netem | None = None
    bottleneck: bool = False
    changes: tuple[tuple[int, int | Netem], ...] = ()
    repeat_ns: int | None = None


def egress_lines(egress: Egress, frame_bytes: int, late_ns: int) -> list[str]:
    """Return the lines of `tc -batch` that make it.

    frame_bytes: of a full packet. late_ns: how late the clock's timers may be beyond the slack, ns.
    """
    device = f"qdisc add dev {word(egress.interface)}"
    made, shaper, queue = list[str](), egress.shaper, egress.queue
    if shaper is not None and queue is not None:
        if any(isinstance(change, int) for _, change in egress.changes):
            made.append(f"{device} root handle 1: htb default 1")
            made.append(_rate_line("add", egress.interface, shaper.rate_bps, frame_bytes, late_ns))
        else:
            burst_bytes = shaper.burst_bytes or usual_burst_bytes(shaper.rate_bps, frame_bytes)
            burst_bytes += _bytes_in(late_ns, shaper.rate_bps)
            bucket = f"rate {shaper.rate_bps}bit burst {burst_bytes}"
            most = queue_bytes(queue, frame_bytes)
            made.append(f"{device} root handle 1: tbf {bucket} limit {most}")
        made += queue_lines(egress.interface, queue, shaper.rate_bps)
    if egress.netem is not None:
        made.append(f"{device} root handle 1: {egress.netem.words()}")
    return [line(text) for text in made]


def change_line(egress: Egress, change: int | Netem, frame_bytes: int, late_ns: int) -> str:
    """Return the line of `tc -batch` that carries out a change."""
    if isinstance(change, Netem):
        return line(f"qdisc change dev {egress.interface} root handle 1: {change.words()}")
    return line(_rate_line("change", egress.interface, change, frame_bytes, late_ns))


def _rate_line(verb: str, interface: str, rate_bps: int, frame_bytes: int, late_ns: int) -> str:
    """Return the line that gives the shaper of a link that changes a rate.

    A token bucket (tbf) is full again whenever it is changed; this one (htb) keeps what the frame
    in service still has to pay. It sends the next one as soon as that is paid, so its burst is the
    slack for late timers alone. tc would derive the quantum from the rate: there is only one class.
    """
    slack_bytes = max(1, _bytes_in(SLACK_NS + late_ns, rate_bps))
    return (
        f"class {verb} dev {interface} parent 1: classid 1:1 htb rate {rate_bps}bit"
        f" ceil {rate_bps}bit burst {slack_bytes} cburst {slack_bytes}"
        f" quantum {frame_bytes}"
    )


def _bytes_in(time_ns: int, rate_bps: int) -> int:
    return rate_bps * time_ns // (8 * 10**9)
