"""What a hop does to packets: the loss and the delay of a link as a netem, and their changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairc.cell.frames import FRAME_BYTES, MTU, frame_bytes
from fairc.compiler import plan
from fairc.dsl.model import Direction, Network

from .dynamics import is_steady, most_bps, most_delay_ns, ways

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
    return bool(
        way.delay_ns
        or way.loss
        or way.duplicate
        or any(
            change.delay_ns is not None or change.loss is not None or change.is_up is not None
            for change in way.changes
        )
    )


def transmits(way: Direction) -> bool:
    """Whether a hop transmits the frames of a link, in addition to losing and delaying them."""
    return way.transmit != "bucket" and is_steady(way)


def impairment_of_hop(way: Direction, densest: Densest) -> plan.Impairment | None:
    """Return what a hop does to the packets of a link at first, still without a seed; None:
    nothing.
    """
    rate_bps = way.rate_bps if transmits(way) else None
    if rate_bps is None and not is_impaired(way):
        return None
    return _impairment(way, *_lasting(way, densest), rate_bps)


def changes_of_hop(way: Direction, densest: Densest) -> tuple[plan.Change, ...]:
    """Return what a hop does to the packets of a link after each change."""
    lasting = _lasting(way, densest) if way.changes else (0, False)
    return tuple(
        plan.Change(
            at_ns=at_ns,
            impairment=_impairment(
                state if is_up else replace(state, loss=1.0, bursts=None), *lasting
            ),
        )
        for at_ns, state, is_up in ways(way)
    )


def _lasting(way: Direction, densest: Densest) -> tuple[int, bool]:
    """Return what no change of a hop changes: its limit in packets, and whether it keeps them in
    order.

    An unshaped link is assumed to be as fast as the fastest one.
    """
    limit = netem_packets(
        most_bps(way) or densest.rate_bps,
        most_delay_ns(way) + (way.jitter.deviation_ns * JITTER_REACH if way.jitter else 0),
        densest.frame_bytes,
    )
    return limit, _in_order(way)


def _in_order(way: Direction) -> bool:
    """Whether packets must be kept in order: where delays vary, unless they may overtake."""
    if way.jitter is not None:
        return not way.jitter.overtake
    return any(change.delay_ns is not None for change in way.changes)


def _impairment(
    way: Direction, limit_packets: int, in_order: bool, rate_bps: int | None = None
) -> plan.Impairment:
    jitter = way.jitter
    return plan.Impairment(
        delay_ns=way.delay_ns,
        loss=way.loss,
        bursts=way.bursts,
        limit_packets=limit_packets,
        jitter_ns=jitter.deviation_ns if jitter else 0,
        jitter_distribution=jitter.distribution if jitter else "uniform",
        in_order=in_order,
        reorder=way.reorder,
        duplicate=way.duplicate,
        rate_bps=rate_bps,
    )
