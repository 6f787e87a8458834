"""What a hop does to packets: the loss and the delay of a link as a netem, and their changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairc.cell.frames import FRAME_BYTES, MTU, frame_bytes
from fairc.compiler import plan
from fairc.dsl.model import Direction, Network

from .dynamics import is_steady, most_bps, most_delay_ns

MIN_NETEM_PACKETS = 1000
JITTER_REACH = 4  # netem's tables end at four times the jitter


@dataclass(frozen=True, slots=True)
class Densest:
    """The capacity that a hop needs: the fastest link of the network, in frames of the smallest
    MTU.

    A path's smallest MTU may be that of another link, and its packets are no larger on this one.
    """

    rate_bps: int
    frame_bytes: int

    @classmethod
    def of(cls, network: Network) -> Densest:
        """Return that of a network, which may have no link at all."""
        directions = [way for link in network.links for way in (link.forward, link.backward)]
        mtu = min((way.mtu for way in directions), default=MTU)
        return cls(max(map(most_bps, directions), default=0), frame_bytes(mtu))


def netem_packets(rate_bps: int, delay_ns: int, frame: int = FRAME_BYTES) -> int:
    """Return netem's limit: 2 x rate x delay in frames, at least 1000 (measurement.md, rule 2)."""
    return max(MIN_NETEM_PACKETS, -(-2 * rate_bps * delay_ns // (8 * frame * 10**9)))


def is_impaired(way: Direction) -> bool:
    """Whether a direction of a link ever delays, loses or duplicates packets."""
    state = way.impairment
    return bool(state.delay_ns or state.loss or state.duplicate or state.repair or way.changes)


def is_changed(way: Direction) -> bool:
    """Whether a hop does anything to the packets of a direction but transmit them."""
    return is_impaired(way) or way.ecn != "none" or way.dscp is not None


def transmits(way: Direction) -> bool:
    """Whether a hop transmits the frames of a link, in addition to losing and delaying them."""
    alone = way.medium is None and way.impairment.repair is None
    return way.transmit != "bucket" and is_steady(way) and alone


def _held_ns(way: Direction) -> int:
    """Return how long packets may come later than at the rate of a link, and then at once, ns."""
    medium, repair = way.medium, way.impairment.repair
    waits_ns = medium.longest_ns if medium else 0
    return waits_ns + (repair.tries * repair.wait_ns if repair else 0)


def hop(way: Direction, densest: Densest) -> tuple[plan.Impairment | None, tuple[plan.Change, ...]]:
    """Return what a hop does to the packets of a link at first (None: nothing), and its changes,
    still without seeds.

    Its limit never changes. An unshaped link is assumed to be as fast as the fastest one.
    """
    rate_bps = way.rate_bps if transmits(way) else None
    if rate_bps is None and not is_impaired(way):
        return None, ()
    limit_packets = netem_packets(
        most_bps(way) or densest.rate_bps,
        most_delay_ns(way) + way.impairment.jitter_ns * JITTER_REACH + _held_ns(way),
        densest.frame_bytes,
    )
    first, *later = [replace(state, limit_packets=limit_packets) for state in way.impairments]
    return replace(first, rate_bps=rate_bps), tuple(
        replace(change, impairment=state) for change, state in zip(way.changes, later, strict=True)
    )
