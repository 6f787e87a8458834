"""Queues: their limits in bytes or packets, from the sizes as written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from functools import partial

from fairc.cell.modules import KernelModule
from fairc.compiler import plan
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, TIME
from fairc.dsl.core.values import Mixture, Quantity, Size
from fairc.dsl.model import Direction, Queue
from fairc.mechanisms.queues.discipline import SIZE, Limit, LinkQueue, together
from fairc.mechanisms.queues.registry import QUEUES
from fairc.words.kernel_modules import variant

from .report import Report
from .routing import RoutedPath
from .wiring import Egress, Wiring


def size_queues(
    wiring: Wiring,
    paths: Iterable[RoutedPath],
    everything: Iterable[RoutedPath],
    report: Report,
) -> dict[Egress, plan.Queue]:
    """Return the queue of every egress that has a rate; one without has none.

    paths: those that flows take first; everything: and later, for links that none of these cross.
    """
    crossing = _crossing(paths)
    crossing = defaultdict(set, _crossing(everything) | crossing)
    shaped = [egress for egress in wiring if egress.part == "queue"]
    queues = {each: _resolve(report, each.way, crossing[each.link]) for each in shaped}
    return _with_variants({egress: q for egress, q in queues.items() if q is not None})


def _with_variants(queues: dict[Egress, plan.Queue]) -> dict[Egress, plan.Queue]:
    """Return queues whose kernel modules have names of their own: several of one name are numbered,
    because parameters belong to a module and a kernel has one discipline of each name.
    """
    known: dict[str, KernelModule] = {}
    found = dict(queues)
    for egress, queue in queues.items():
        if queue.own_module is None:
            continue
        name, module = queue.own_module
        names = (name, *(variant(name, number) for number in range(2, len(queues) + 2)))
        chosen = next(each for each in names if known.setdefault(each, module) == module)
        found[egress] = queue.registered_as(chosen)
    return found


def _crossing(paths: Iterable[RoutedPath]) -> dict[int, set[int]]:
    """Return the base RTTs of the paths that cross each link, ns."""
    found: dict[int, set[int]] = defaultdict(set)
    for path in paths:
        for egress in (*path.data, *path.acks):
            found[egress.link].add(path.base_rtt_ns)
    return found


def bdp_bytes(rate_bps: int, rtt_ns: int) -> int:
    """Return the bandwidth-delay product, whole bytes: rate x RTT / 8."""
    return rate_bps * rtt_ns // (8 * 10**9)


def _resolve(report: Report, way: Direction, rtts_ns: set[int]) -> plan.Queue | None:
    """Return the queue of one egress, or None if there is none or it cannot be built."""
    if way.rate_bps is None:
        if way.queue.span != way.span:  # a default queue carries the span of its direction
            report.reject(
                "queue-without-rate",
                "a queue needs a rate: this link is not shaped, so nothing ever waits",
                way.queue.span,
                help="give the link a `rate`, or leave the queue out",
            )
        return None
    return _built(report, way, way.queue, way.rate_bps, rtts_ns)


def _built(
    report: Report, way: Direction, written: Queue, rate_bps: int, rtts_ns: set[int]
) -> plan.Queue | None:
    """Return a queue of one egress, and those of its bands, or None if it cannot be built."""
    made = {
        point: _built(report, way, band, rate_bps, rtts_ns) for point, band in written.bands.items()
    }
    bands = {point: queue for point, queue in made.items() if queue}
    if len(bands) < len(made):
        return None
    if bands:
        limit = together(bands.values(), way.frame_bytes)
        size_bytes = partial(_bytes, way=way, rate_bps=rate_bps)
        return _lowered(
            report, LinkQueue(written, limit, rate_bps, size_bytes, way.mtu, bands, way.framing)
        )
    options = written.options.values()
    sizes = (written.size, *(o for o in options if isinstance(o, Quantity | Mixture)))
    of_path = next((size for size in sizes if BDP in size.dimensions), None)
    rtt_ns = 0
    if of_path is not None and rtts_ns:
        longest_ns = _longest_rtt(report, way, rtts_ns, of_path.span)
        if longest_ns is None:
            return None
        rtt_ns = longest_ns
    elif of_path is not None and of_path is not written.size:
        _warn_idle(report, of_path.span, "the default is used")
    limit = _limit(report, way, written.size, rate_bps, rtt_ns)
    size_bytes = partial(_bytes, way=way, rate_bps=rate_bps, rtt_ns=rtt_ns)
    return _lowered(
        report, LinkQueue(written, limit, rate_bps, size_bytes, way.mtu, framing=way.framing)
    )


def _lowered(report: Report, given: LinkQueue) -> plan.Queue:
    """Return a queue of the plan; report what is doubted about it."""
    discipline = QUEUES[given.written.kind]
    queue = discipline.lower(given)
    for warning in discipline.warnings(given, queue):
        report(warning)
    return queue


def _limit(report: Report, way: Direction, size: Size, rate_bps: int, rtt_ns: int) -> Limit:
    """Return the size of a queue in bytes or packets; rtt_ns: of a BDP, 0 where no flow crosses."""
    if isinstance(size, Quantity) and size.dimension == PACKETS:
        _check(report, way, size, size.whole * way.frame_bytes)
        return Limit(limit_packets=size.whole)
    if BDP in size.dimensions and not rtt_ns:
        return _of_idle_link(report, size)
    limit = _bytes(size, way, rate_bps, rtt_ns)
    _check(report, way, size, limit)
    return Limit(limit_bytes=limit)


def _bytes(size: Size, way: Direction, rate_bps: int, rtt_ns: int = 0) -> int:
    """Return a size in whole bytes, packets being full frames; rtt_ns: of a BDP."""
    units = {
        DATA: Fraction(1),
        PACKETS: Fraction(8 * way.frame_bytes),
        TIME: Fraction(rate_bps),
        BDP: Fraction(rate_bps * rtt_ns, 10**9),
    }
    return int(size.bits(units) / 8)


def _of_idle_link(report: Report, size: Size) -> Limit:
    """Return the default queue for a link that no flow crosses, where `bdp` means nothing."""
    default = SIZE.fallback
    assert isinstance(default, Quantity)
    idle_packets = default.whole
    _warn_idle(report, size.span, f"{idle_packets} packets are used")
    return Limit(limit_packets=idle_packets)


def _warn_idle(report: Report, at: Span, note: str) -> None:
    report.warn(
        "idle-link", "no flow crosses this link, so its queue has no size in `bdp`", at, note=note
    )


def _longest_rtt(report: Report, way: Direction, rtts_ns: set[int], at: Span) -> int | None:
    """Return the RTT that `bdp` means on a link, ns; report when it is zero, or one of several."""
    longest_ns = max(rtts_ns, default=0)
    if longest_ns == 0:
        report.reject(
            "bdp-without-rtt",
            "a size in `bdp` is meaningless here: the base RTT is zero",
            at,
            help="give the path a delay, or the size in bytes, packets or time",
        )
        return None
    if len(rtts_ns) > 1:
        report.warn(
            "unequal-rtts",
            "flows of unequal base RTT cross this link: `bdp` uses the longest",
            at,
            f"base RTTs: {', '.join(f'{ns / 1e6:g} ms' for ns in sorted(rtts_ns))}",
            "for an exact size, write bytes, packets or a time",
            about=way.span,
        )
    return longest_ns


def _check(report: Report, way: Direction, size: Size, limit_bytes: int) -> None:
    """Refuse a queue that no full frame fits into; warn under two.

    The front end has warned already where the size does not depend on the path.
    """
    if limit_bytes < way.frame_bytes:
        report.reject(
            "useless-queue",
            "this queue cannot hold a single full packet",
            size.span,
            "every packet sent while the link is busy would be lost",
            "make it two packets or more",
            note=f"{limit_bytes} bytes, a packet is {way.frame_bytes}",
        )
    elif limit_bytes < 2 * way.frame_bytes and BDP in size.dimensions:
        report.warn(
            "small-queue",
            "this queue holds less than two full packets",
            size.span,
            "a burst of two packets always loses one, whatever the CCA does",
            note=f"about {limit_bytes / way.frame_bytes:.2g} packets of {way.frame_bytes} bytes",
        )
