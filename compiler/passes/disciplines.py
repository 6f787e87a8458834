"""The queueing disciplines: from a queue as written, its limit known, to its part of the plan.

Parameters that are not written are those of the AQM's authors and of Linux (tc-red(8),
tc-codel(8), ...), whatever the rate (measurement.md, rule 5), unless `scaled` is on; what makes no
sense at the rate is warned about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from fairc.compiler import plan
from fairc.dsl.core.diagnostics import Diagnostic, Severity
from fairc.dsl.model import MTU, Queue, Size

from .frames import FRAME_BYTES, frame_bytes, memory_bytes

Option = Size | Fraction | bool

# What Linux takes in memory for each 1514 bytes of a frame, at most: they and the structures around
# them. fq_codel and fq_pie limit that as well; it is kept out of their way.
MEMORY_PER_PACKET = 8192
MIN_MEMORY_BYTES = 32 * 2**20
# tc holds the probability of RED as a 32-bit fraction: 1 is not one of them.
MAX_PROBABILITY = 1 - 2**-32


@dataclass(frozen=True, slots=True)
class Given:
    """What a discipline is built from.

    limit: exactly one of bytes and packets. rate_bps, mtu: of the link, > 0. size_bytes: turns
    another size of the same queue into bytes.
    """

    written: Queue
    limit: plan.Fifo
    rate_bps: int
    size_bytes: Callable[[Size], int]
    mtu: int = MTU

    @property
    def frame_bytes(self) -> int:
        """A full packet of the link on the wire."""
        return frame_bytes(self.mtu)

    @property
    def packets(self) -> int:
        """The limit in packets: a size in bytes in full frames, rounded up."""
        if self.limit.limit_packets is not None:
            return self.limit.limit_packets
        return -(-(self.limit.limit_bytes or 0) // self.frame_bytes)

    @property
    def bytes(self) -> int:
        """The limit in bytes: packets are full frames."""
        if self.limit.limit_bytes is not None:
            return self.limit.limit_bytes
        return (self.limit.limit_packets or 0) * self.frame_bytes

    def ns(self, name: str, default_ms: int) -> int:
        """Return a time, ns; in whole microseconds, the unit of tc."""
        value = self.written.options.get(name, Fraction(default_ms, 1000))
        assert isinstance(value, Fraction)
        return max(1, round(value * 10**6)) * 1000

    def number(self, name: str, default: int) -> int:
        """Return a whole number."""
        value = self.written.options.get(name, Fraction(default))
        assert isinstance(value, Fraction)
        return round(value)

    def switch(self, name: str, default: bool) -> bool:
        """Return whether something is on."""
        return bool(self.written.options.get(name, default))

    def threshold(self, name: str) -> int | None:
        """Return a threshold in bytes, or None where it is not given."""
        value = self.written.options.get(name)
        if value is None:
            return None
        assert isinstance(value, Size)
        if value.unit == "limit":
            return int(value.amount * self.bytes)
        return self.size_bytes(value)

    def target_ns(self, default_ms: int) -> int:
        """Return the delay to aim at, ns; where `scaled`, at least 1.5 full frames' time.

        RFC 8290, section 5.2.2: at least the time of one full packet at the link's speed.
        """
        target_ns = self.ns("target", default_ms)
        if self.switch("scaled", False):
            frames_us = -(-3 * self.frame_bytes * 8 * 10**6 // (2 * self.rate_bps))
            target_ns = max(target_ns, frames_us * 1000)
        return target_ns

    def interval_ns(self) -> int:
        """Return CoDel's interval, ns; where `scaled`, at least 20 targets, as 100 ms to 5 ms."""
        interval_ns = self.ns("interval", 100)
        if self.switch("scaled", False):
            interval_ns = max(interval_ns, 20 * self.target_ns(5))
        return interval_ns


def build(given: Given) -> plan.Queue:
    """Return the queue of the plan."""
    return DISCIPLINES[given.written.kind](given)


def _red(given: Given) -> plan.Red:
    """Defaults of tc-red(8): max a quarter of the limit, min a third of max, probability 2 %."""
    most = given.threshold("max") or max(1, given.bytes // 4)
    least = given.threshold("min") or max(1, most // 3)
    probability = given.written.options.get("pmax", Fraction(1, 50))
    assert isinstance(probability, Fraction)
    return plan.Red(
        limit_bytes=given.bytes,
        min_bytes=least,
        max_bytes=most,
        average_packet_bytes=given.frame_bytes,
        # tc-red(8): (min + min + max) / (3 * avpkt); less than min / avpkt tc refuses.
        burst_packets=-(-(2 * least + most) // (3 * given.frame_bytes)) + 1,
        probability=min(float(probability), MAX_PROBABILITY),
        ecn=given.switch("ecn", False),
    )


def _codel(given: Given) -> plan.CoDel:
    return plan.CoDel(
        limit_packets=given.packets,
        target_ns=given.target_ns(5),
        interval_ns=given.interval_ns(),
        ecn=given.switch("ecn", False),
    )


def _fq_codel(given: Given) -> plan.FqCoDel:
    return plan.FqCoDel(
        limit_packets=given.packets,
        target_ns=given.target_ns(5),
        interval_ns=given.interval_ns(),
        flows=given.number("flows", 1024),
        quantum_bytes=given.frame_bytes,
        memory_bytes=_memory(given),
        drop_batch=64,
        ecn=given.switch("ecn", True),
    )


def _pie(given: Given) -> plan.Pie:
    return plan.Pie(
        limit_packets=given.packets,
        target_ns=given.target_ns(15),
        update_ns=15_000_000,
        alpha=2,
        beta=20,
        ecn=given.switch("ecn", False),
    )


def _fq_pie(given: Given) -> plan.FqPie:
    return plan.FqPie(
        limit_packets=given.packets,
        target_ns=given.target_ns(15),
        update_ns=15_000_000,
        alpha=2,
        beta=20,
        flows=given.number("flows", 1024),
        quantum_bytes=given.frame_bytes,
        memory_bytes=_memory(given),
        ecn_percent=10,
        ecn=given.switch("ecn", False),
    )


def _fq(given: Given) -> plan.Fq:
    return plan.Fq(
        limit_packets=given.packets,
        flow_limit_packets=given.number("flow_limit", 100),
        quantum_bytes=2 * given.frame_bytes,
        initial_quantum_bytes=10 * given.frame_bytes,
        buckets=1024,
    )


def _sfq(given: Given) -> plan.Sfq:
    return plan.Sfq(
        limit_packets=given.packets,
        flows=128,
        divisor=1024,
        depth_packets=127,
        quantum_bytes=given.frame_bytes,
        perturb_s=0,
    )


def _cake(given: Given) -> plan.Cake:
    return plan.Cake(
        limit_packets=given.packets,
        rtt_ns=given.ns("rtt", 100),
        memory_bytes=given.packets * memory_bytes(given.mtu),
    )


def _memory(given: Given) -> int:
    each = MEMORY_PER_PACKET * -(-given.frame_bytes // FRAME_BYTES)
    return max(MIN_MEMORY_BYTES, given.packets * each)


DISCIPLINES: Mapping[str, Callable[[Given], plan.Queue]] = {
    "fifo": lambda given: given.limit,
    "red": _red,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "fq": _fq,
    "sfq": _sfq,
    "cake": _cake,
}


def doubts(given: Given, queue: plan.Queue) -> Iterator[Diagnostic]:
    """Yield what is wrong with a queue's parameters, and what makes no sense at its rate."""
    frame_ns = given.frame_bytes * 8 * 10**9 // given.rate_bps
    target_ns = queue_target_ns(queue)
    if target_ns is not None and frame_ns > target_ns:
        times = f"a full frame takes {frame_ns / 1e6:g} ms, the target is {target_ns / 1e6:g} ms"
        yield Diagnostic(
            code="target-below-packet",
            message=f"at this rate one packet lasts longer than the target of `{queue.kind}`",
            span=given.written.span,
            notes=(f"{times}: the queue can never meet it",),
            help="write `scaled: on`, or a target of more than one frame's time",
            severity=Severity.WARNING,
        )
    if isinstance(queue, plan.Red):
        yield from _doubts_of_red(given, queue)


def queue_target_ns(queue: plan.Queue) -> int | None:
    """Return the standing delay that an AQM aims at, ns; None for a queue that aims at none."""
    if isinstance(queue, plan.CoDel | plan.FqCoDel | plan.Pie | plan.FqPie):
        return queue.target_ns
    if isinstance(queue, plan.Cake):
        return queue.rtt_ns // 20
    return None


def _doubts_of_red(given: Given, queue: plan.Red) -> Iterator[Diagnostic]:
    span = given.written.span
    if queue.min_bytes >= queue.max_bytes:
        yield Diagnostic(
            code="thresholds-crossed",
            message="`min` of `red` must be below `max`",
            span=span,
            notes=(f"min is {queue.min_bytes} bytes, max is {queue.max_bytes} bytes",),
        )
    elif queue.max_bytes > given.bytes:
        yield Diagnostic(
            code="thresholds-crossed",
            message="`max` of `red` is beyond the limit, so the queue is full before it is reached",
            span=span,
            notes=(f"max is {queue.max_bytes} bytes, the limit {given.bytes} bytes",),
            severity=Severity.WARNING,
        )
    if queue.min_bytes < given.frame_bytes:
        yield Diagnostic(
            code="threshold-below-packet",
            message="`min` of `red` is less than one packet",
            span=span,
            notes=(f"{queue.min_bytes} bytes: dropping begins when anything waits",),
            help="make `min`, or the limit, larger",
            severity=Severity.WARNING,
        )
