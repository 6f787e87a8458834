"""Arguments of `tc` for every queue and every impairment, each parameter written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fairc.compiler import plan
from fairc.compiler.passes.freeze import SHAPER_SLACK_NS
from fairc.compiler.passes.queues import queue_bytes

# A kernel in real time wakes a shaper up to 100 us late now and then, and what its bucket cannot hold
# until then is lost: 50 Mbit/s became 49.1 with the plan's slack of 20 us, and 49.93 with this beside it.
LATE_NS = 80_000


def interface_lines(interface: plan.Interface, late_ns: int = LATE_NS) -> Iterator[str]:
    """Yield the lines of `tc -batch` that make an interface's shaper and queue, or its netem.

    late_ns: how late the clock's timers may be beyond the plan's slack, ns; 0 in virtual time.
    """
    device = f"qdisc add dev {interface.name}"
    shaper, queue = interface.shaper, interface.queue
    if shaper is not None and queue is not None:
        if any(change.rate_bps for change in interface.changes):
            yield f"{device} root handle 1: htb default 1"
            yield rate_line(interface, shaper.rate_bps, "add", late_ns)
            yield from _queue_lines(interface.name, queue, shaper.rate_bps)
            return
        burst_bytes = shaper.burst_bytes + _bytes_in(late_ns, shaper.rate_bps)
        bucket = f"rate {shaper.rate_bps}bit burst {burst_bytes}"
        most = queue_bytes(queue, interface.frame_bytes)
        yield f"{device} root handle 1: tbf {bucket} limit {most}"
        yield from _queue_lines(interface.name, queue, shaper.rate_bps)
    if interface.impairment is not None:
        yield f"{device} root handle 1: {netem_words(interface.impairment)}"


def _queue_lines(name: str, queue: plan.Queue, rate_bps: int) -> Iterator[str]:
    """Yield the lines that make the queue beneath a shaper; rate_bps: of the shaper."""
    at = f"dev {name} parent 1:1 handle 2:"
    if queue.kind == "red":
        yield f"qdisc add {at} gred setup vqs 1 default 0"
        yield f"qdisc change {at} {queue_words(queue, rate_bps)}"
    else:
        yield f"qdisc add {at} {queue_words(queue, rate_bps)}"


def rate_line(interface: plan.Interface, rate_bps: int, verb: str, late_ns: int = LATE_NS) -> str:
    """Return the line that gives the shaper of a link that changes a rate.

    A token bucket (tbf) is full again whenever it is changed; this one (htb) keeps what the frame
    in service still has to pay. It sends the next one as soon as that is paid, so its burst is the
    slack for late timers alone. tc would derive the quantum from the rate: there is only one class.
    """
    slack_bytes = max(1, _bytes_in(SHAPER_SLACK_NS + late_ns, rate_bps))
    return (
        f"class {verb} dev {interface.name} parent 1: classid 1:1 htb rate {rate_bps}bit"
        f" ceil {rate_bps}bit burst {slack_bytes} cburst {slack_bytes}"
        f" quantum {interface.frame_bytes}"
    )


def _bytes_in(time_ns: int, rate_bps: int) -> int:
    return rate_bps * time_ns // (8 * 10**9)


def change_line(interface: plan.Interface, change: plan.Change, late_ns: int = LATE_NS) -> str:
    """Return the line of `tc -batch` that carries out a change."""
    if change.rate_bps is not None:
        return rate_line(interface, change.rate_bps, "change", late_ns)
    assert change.impairment is not None
    words = netem_words(change.impairment)
    return f"qdisc change dev {interface.name} root handle 1: {words}"


def queue_words(queue: plan.Queue, rate_bps: int) -> str:
    """Return the name of a queueing discipline and its arguments; rate_bps: of its shaper."""
    return f"{qdisc(queue)} {_WORDS[queue.kind](queue, rate_bps)}"


def qdisc(queue: plan.Queue) -> str:
    """Return the name that tc and the kernel have for a queue's discipline."""
    if queue.kind == "fifo":
        return "bfifo" if queue.limit_bytes is not None else "pfifo"
    return "gred" if queue.kind == "red" else queue.kind


def _fifo(queue: plan.Fifo, rate_bps: int) -> str:
    return f"limit {queue.limit_packets if queue.limit_bytes is None else queue.limit_bytes}"


def _red(queue: plan.Red, rate_bps: int) -> str:
    """Return Linux's `gred` with one queue: RED that notices when the link falls idle.

    Linux's `red` counts a link as idle from when it is asked for a packet and has none. Shapers look first
    (peek) and never ask, so beneath one the average stays as it was while nothing waits, and goes down by
    the packet alone: it went on to drop on an empty link for seconds. `gred` counts from the last packet.
    """
    return (
        f"vq 0 limit {queue.limit_bytes} min {queue.min_bytes} max {queue.max_bytes}"
        f" avpkt {queue.average_packet_bytes} burst {queue.burst_packets}"
        f" probability {queue.probability:.10f} bandwidth {rate_bps}bit{' ecn' * queue.ecn}"
    )


def _codel(queue: plan.CoDel, rate_bps: int) -> str:
    return (
        f"limit {queue.limit_packets} target {duration(queue.target_ns)}"
        f" interval {duration(queue.interval_ns)} {_ecn(queue.ecn)}"
    )


def _fq_codel(queue: plan.FqCoDel, rate_bps: int) -> str:
    return (
        f"limit {queue.limit_packets} flows {queue.flows} quantum {queue.quantum_bytes}"
        f" target {duration(queue.target_ns)} interval {duration(queue.interval_ns)}"
        f" memory_limit {queue.memory_bytes} drop_batch {queue.drop_batch} {_ecn(queue.ecn)}"
    )


def _pie(queue: plan.Pie, rate_bps: int) -> str:
    return (
        f"limit {queue.limit_packets} target {duration(queue.target_ns)}"
        f" tupdate {duration(queue.update_ns)} alpha {queue.alpha} beta {queue.beta}"
        f" {_ecn(queue.ecn)} nobytemode no_dq_rate_estimator"
    )


def _fq_pie(queue: plan.FqPie, rate_bps: int) -> str:
    return (
        f"limit {queue.limit_packets} flows {queue.flows} target {duration(queue.target_ns)}"
        f" tupdate {duration(queue.update_ns)} alpha {queue.alpha} beta {queue.beta}"
        f" quantum {queue.quantum_bytes} memory_limit {queue.memory_bytes}"
        f" ecn_prob {queue.ecn_percent} {_ecn(queue.ecn)} nobytemode no_dq_rate_estimator"
    )


def _fq(queue: plan.Fq, rate_bps: int) -> str:
    return (
        f"limit {queue.limit_packets} flow_limit {queue.flow_limit_packets}"
        f" quantum {queue.quantum_bytes} initial_quantum {queue.initial_quantum_bytes}"
        f" buckets {queue.buckets} orphan_mask {queue.buckets - 1} nopacing"
    )


def _sfq(queue: plan.Sfq, rate_bps: int) -> str:
    return (
        f"limit {queue.limit_packets} flows {queue.flows} divisor {queue.divisor}"
        f" depth {queue.depth_packets} quantum {queue.quantum_bytes} perturb {queue.perturb_s}"
    )


def _cake(queue: plan.Cake, rate_bps: int) -> str:
    return (
        f"unlimited besteffort flows nowash no-ack-filter no-split-gso raw overhead 0"
        f" rtt {duration(queue.rtt_ns)} memlimit {queue.memory_bytes}"
    )


def _dualpi2(queue: plan.DualPi2, rate_bps: int) -> str:
    """Return the arguments as `tc` of an iproute2 that has it takes them; gains in Hz."""
    step = f"{queue.step_packets}p" if queue.step_ns is None else duration(queue.step_ns)
    return (
        f"limit {queue.limit_packets} memlimit {queue.memory_bytes} target {duration(queue.target_ns)}"
        f" tupdate {duration(queue.update_ns)} alpha {queue.alpha / 256:.6f} beta {queue.beta / 256:.6f}"
        f" step_thresh {step} min_qlen_step 0 coupling_factor {queue.coupling}"
        f" {_OVERLOAD[queue.overload]} drop_{queue.drop} classic_protection {queue.protection_percent}"
        f" {_L4S[queue.l4s]} no_split_gso"
    )


_OVERLOAD = {"drop": "drop_on_overload", "overflow": "overflow"}
_L4S = {"ect1": "l4s_ect", "any": "any_ect"}

_WORDS: Mapping[str, Callable[[Any, int], str]] = {
    "fifo": _fifo,
    "red": _red,
    "codel": _codel,
    "fq_codel": _fq_codel,
    "pie": _pie,
    "fq_pie": _fq_pie,
    "fq": _fq,
    "sfq": _sfq,
    "cake": _cake,
    "dualpi2": _dualpi2,
}

BEYOND_TC = frozenset({"dualpi2"})
"""Disciplines that the `tc` of Debian 13 does not know: the endpoints' program adds them, and reads them back."""


def is_beyond_tc(line: str) -> bool:
    """Whether a line of `interface_lines` is for the endpoints' program."""
    return not BEYOND_TC.isdisjoint(line.split(" "))


# With a rate of its own netem sends no packet before the one that came ahead of it; this one is so
# high that a full frame takes 12 ns.
IN_ORDER_RATE = "1000gbit"


def netem_words(impairment: plan.Impairment) -> str:
    """Return the arguments of netem: first the loss, then the delay, on a packet's way."""
    words = f"netem limit {impairment.limit_packets}"
    if impairment.delay_ns or impairment.in_order:
        words += f" delay {duration(impairment.delay_ns)}"
    if impairment.jitter_ns:
        words += f" {duration(impairment.jitter_ns)}"
        if impairment.jitter_distribution != "uniform":  # which is netem's without a table
            words += f" distribution {impairment.jitter_distribution}"
    if impairment.reorder:
        words += f" reorder {percent(impairment.reorder)}%"
    if impairment.bursts is not None:
        words += f" loss {_gemodel(impairment.bursts)}"
    elif impairment.loss:
        words += f" loss random {percent(impairment.loss)}%"
    if impairment.duplicate:
        words += f" duplicate {percent(impairment.duplicate)}%"
    if impairment.in_order:
        words += f" rate {IN_ORDER_RATE}"
    if impairment.seed is not None:
        words += f" seed {impairment.seed}"
    return words


def _gemodel(chain: plan.GilbertElliott) -> str:
    """Return `gemodel p r 1-h 1-k`: tc-netem(8) takes losses where the model has passes."""
    shares = (chain.p, chain.r, 1 - chain.h, 1 - chain.k)
    return "gemodel " + " ".join(f"{percent(share)}%" for share in shares)


def duration(ns: int) -> str:
    """Write a duration exactly, in the largest unit that tc knows."""
    for unit, size in (("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"


def percent(probability: float) -> str:
    """Write a probability in percent, without an exponent."""
    return f"{100 * probability:.10f}".rstrip("0").rstrip(".")


def _ecn(on: bool) -> str:
    return "ecn" if on else "noecn"
