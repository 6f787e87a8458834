"""Pass `freeze`: turn nodes and cables into parts of the plan, shared by all repetitions."""

from __future__ import annotations

from dataclasses import dataclass, replace

from fairc.cell.frames import FRAME_BYTES, MTU, frame_bytes
from fairc.compiler import plan
from fairc.dsl.model import Direction

from .draft import Draft, DraftNode, End, Place
from .dynamics import most_bps, most_delay_ns, rate_changes, ways
from .transmitters import carried_rate_bps, transmitter

MIN_NETEM_PACKETS = 1000
JITTER_REACH = 4  # netem's tables end at four times the jitter


def freeze(draft: Draft) -> None:
    """Write the drafts of nodes and cables as parts of the plan, still without seeds."""
    bottlenecks = {flow.bottleneck.place for flow in draft.flows if flow.bottleneck}
    # There may be no link at all.
    ends = [end for node in draft.nodes.values() for end in node.ends]
    fastest_bps = max((most_bps(end.shaped) for end in ends if end.shaped), default=0)
    densest = Densest(fastest_bps, frame_bytes(min((end.mtu for end in ends), default=MTU)))
    draft.frozen_nodes = tuple(
        _node(draft, node, bottlenecks, densest) for node in draft.nodes.values()
    )
    draft.frozen_cables = tuple(plan.Cable(a.place, b.place) for a, b in draft.cables)


def netem_packets(rate_bps: int, delay_ns: int, frame: int = FRAME_BYTES) -> int:
    """Return netem's limit: 2 x rate x delay in frames, at least 1000 (measurement.md, rule 2)."""
    return max(MIN_NETEM_PACKETS, -(-2 * rate_bps * delay_ns // (8 * frame * 10**9)))


@dataclass(frozen=True, slots=True)
class Densest:
    """The capacity that a hop needs: the fastest link of the network, in frames of the smallest
    MTU.

    A path's smallest MTU may be that of another link, and its packets are no larger on this one.
    """

    rate_bps: int
    frame_bytes: int


def _node(draft: Draft, node: DraftNode, bottlenecks: set[Place], densest: Densest) -> plan.Node:
    return plan.Node(
        name=node.name,
        kind=node.kind,
        interfaces=tuple(_interface(draft, end, bottlenecks, densest) for end in node.ends),
        routes=tuple(node.routes),
    )


def _interface(draft: Draft, end: End, bottlenecks: set[Place], densest: Densest) -> plan.Interface:
    changes, repeat_ns = _changes(end, densest)
    shaper = None
    if end.rate_bps:
        shaper = plan.Shaper(end.rate_bps, transmitter(draft, end, bottlenecks))
    return plan.Interface(
        name=end.name,
        address=f"{end.address}/30",
        mtu=end.mtu,
        shaper=shaper,
        queue=draft.queues.get(end.place),
        impairment=_hop(end, densest),
        bottleneck=end.place in bottlenecks,
        changes=changes,
        repeat_ns=repeat_ns,
        source=end.source,
    )


def _changes(end: End, densest: Densest) -> tuple[tuple[plan.Change, ...], int | None]:
    """Return the changes of an interface, and the period with which they repeat."""
    if end.shaped is not None and end.rate_bps:
        return rate_changes(end.shaped)
    if end.impaired is None:
        return (), None
    lasting = _lasting(end.impaired, densest)
    return tuple(
        plan.Change(
            at_ns=at_ns,
            impairment=_impairment(way if is_up else replace(way, loss=1.0, bursts=None), *lasting),
        )
        for at_ns, way, is_up in ways(end.impaired)
    ), None


def _in_order(way: Direction) -> bool:
    """Whether packets must be kept in order: where delays vary, unless they may overtake."""
    if way.jitter is not None:
        return not way.jitter.overtake
    return any(change.delay_ns is not None for change in way.changes)


def _hop(end: End, densest: Densest) -> plan.Impairment | None:
    """Describe what a hop does to packets that leave it by `end`, if it does anything."""
    rate_bps = carried_rate_bps(end)
    way = end.impaired
    if way is None:
        if end.carried is None or rate_bps is None:
            return None
        way = end.carried
    return replace(_impairment(way, *_lasting(way, densest)), rate_bps=rate_bps)


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


def _impairment(way: Direction, limit_packets: int, in_order: bool) -> plan.Impairment:
    """Describe what a hop does."""
    jitter = way.jitter
    return plan.Impairment(
        delay_ns=way.delay_ns,
        loss=way.loss,
        bursts=way.bursts,
        limit_packets=limit_packets,
        seed=None,
        jitter_ns=jitter.deviation_ns if jitter else 0,
        jitter_distribution=jitter.distribution if jitter else "uniform",
        in_order=in_order,
        reorder=way.reorder,
        duplicate=way.duplicate,
    )
