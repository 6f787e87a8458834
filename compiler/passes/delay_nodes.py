"""Delay nodes: the loss and the delay of a link as a netem, and their changes."""

from __future__ import annotations

from dataclasses import replace

from fairc.cell.frames import SMALLEST_FRAME_BYTES
from fairc.cell.links import JITTER_REACH, TRANSMITTER_PACKETS
from fairc.compiler import plan
from fairc.dsl.model import Direction

from .dynamics import is_steady, most_bps

MIN_NETEM_PACKETS = 1000


def netem_packets(rate_bps: int, delay_ns: int) -> int:
    """Return netem's limit, which must never be reached (measurement.md, rule 2): 2 x rate x delay
    in the smallest frames, at least 1000.

    netem allocates nothing for its limit. rate_bps: 0 where the link has none, and sources alone
    bound what is on the way.
    """
    if not rate_bps:
        return TRANSMITTER_PACKETS
    frame_bits = 8 * SMALLEST_FRAME_BYTES
    return max(MIN_NETEM_PACKETS, -(-2 * rate_bps * delay_ns // (frame_bits * 10**9)))


def is_impaired(way: Direction) -> bool:
    """Whether a direction of a link ever does anything to packets but transmit them."""
    state = way.impairment
    random = state.loss or state.duplicate or state.effects
    return bool(state.delay_ns or random or state.repair or way.changes)


def is_changed(way: Direction) -> bool:
    """Whether a hop does anything to the packets of a direction but transmit them."""
    peaks = way.burst is not None and way.burst.peak_bps is not None
    return (
        is_impaired(way) or way.ecn != "none" or way.dscp is not None or bool(way.chosen) or peaks
    )


def transmits(way: Direction) -> bool:
    """Whether a hop transmits the frames of a link, in addition to losing and delaying them."""
    alone = way.medium is None and way.impairment.repair is None
    return way.transmit != "bucket" and is_steady(way) and alone


def _held_ns(way: Direction) -> int:
    """Return how long packets may come later than at the rate of a link, and then at once, ns."""
    medium, repair = way.medium, way.impairment.repair
    waits_ns = medium.planned.longest_ns if medium else 0
    return waits_ns + (repair.longest_ns if repair else 0)


def netem_of(way: Direction) -> tuple[plan.Impairment | None, tuple[plan.Change, ...]]:
    """Return what a hop does to the packets of a link at first (None: nothing), and its changes,
    still without seeds.

    Its limit never changes.
    """
    rate_bps = way.rate_bps if transmits(way) else None
    if way.burst is not None:
        rate_bps = way.burst.peak_bps
    if rate_bps is None and not is_impaired(way):
        return None, ()
    limit_packets = netem_packets(
        most_bps(way),
        max(state.delay_ns + state.jitter_ns * JITTER_REACH for state in way.impairments)
        + _held_ns(way),
    )
    first, *later = [replace(state, limit_packets=limit_packets) for state in way.impairments]
    return replace(first, rate_bps=rate_bps), tuple(
        replace(change, impairment=state) for change, state in zip(way.changes, later, strict=True)
    )
