"""The flows' paths, as far as sizes depend on them: what `bdp` and `pkt` are in a condition."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import BDP, DATA, PACKETS, Dimension


class Bottleneck(NamedTuple):
    """The slowest link of flows, bit/s, its full frame, bits, and the longest base round trip, ns,
    of those that it is the slowest link of.

    span: the first of them.
    """

    rate_bps: int
    frame_bits: int
    rtt_ns: int
    span: Span


def size_units(
    network: model.Network, trips: Sequence[model.Trip], wanted: Collection[Dimension], at: Span
) -> Mapping[Dimension, Fraction]:
    """Return what one bit, packet and BDP are where flows have their bottleneck, bits.

    wanted: the units that are compared, `at` some place. Raises CompileError where they have no
    single meaning there.
    """
    drawn = next((trip for trip in trips if trip.random_rtt), None)
    if BDP in wanted and drawn is not None:
        fail(
            "ambiguous-size",
            "`bdp` has no single size here: the round trip of a flow is drawn in each repetition",
            at,
            labels=(Label(drawn.span, "its `rtt` is drawn"),),
            help="compare bytes or packets",
        )
    if BDP in wanted and network.own:
        fail(
            "ambiguous-size",
            "`bdp` has no single size here: flows have hosts with links of their own",
            at,
            labels=(Label(network.own[0].forward.span, "one of them"),),
            help="compare bytes or packets",
        )
    found = _bottlenecks(network, trips)
    if not found:
        fail(
            "no-bottleneck",
            "sizes of different units are compared, but no link of any flow's path has a rate",
            at,
            help="compare sizes of one unit, or give a link between `server` and `client` a `rate`",
        )
    first = found[0]
    for other in found[1:]:
        unlike = other.frame_bits != first.frame_bits
        if BDP in wanted:
            unlike |= (other.rate_bps, other.rtt_ns) != (first.rate_bps, first.rtt_ns)
        if unlike:
            _refuse(first, other, at)
    units = {DATA: Fraction(1), PACKETS: Fraction(first.frame_bits)}
    if BDP in wanted:
        if not first.rtt_ns:
            fail(
                "bdp-without-rtt",
                "a size in `bdp` is meaningless here: the base RTT is zero",
                at,
                help="give the path a delay, or compare bytes or packets",
            )
        units[BDP] = Fraction(first.rate_bps * first.rtt_ns, 10**9)
    return units


def _refuse(one: Bottleneck, other: Bottleneck, at: Span) -> None:
    def described(each: Bottleneck) -> str:
        rate, rtt = f"{each.rate_bps / 1e6:g} Mbit/s", f"{each.rtt_ns / 1e6:g} ms"
        return f"{rate}, {rtt}, frames of {each.frame_bits // 8} bytes"

    fail(
        "ambiguous-size",
        "`bdp` and `pkt` have no single size here: the flows have different bottlenecks",
        at,
        labels=tuple(Label(each.span, described(each)) for each in (one, other)),
        help="compare bytes: write the rate and the round trip of one path, as in"
        " `buffer < rate * rtt`",
    )


def _bottlenecks(network: model.Network, trips: Sequence[model.Trip]) -> list[Bottleneck]:
    """Return the slowest link of each flow's data, each link once: among equals the one that most
    flows cross, as the compiler chooses it.
    """
    ways = {
        (a, b): way
        for link in network.links
        for a, b, way in ((link.a, link.b, link.forward), (link.b, link.a, link.backward))
    }
    paths = [
        (
            trip,
            _way(network, trip.server, trip.via, trip.client),
            _way(network, trip.client, trip.via, trip.server),
        )
        for trip in trips
    ]
    crossing = [place for _, data, _ in paths for place in data]
    found: dict[tuple[str, str], Bottleneck] = {}
    for trip, data, acks in paths:
        shaped = [(ways[p].packet_bps, -crossing.count(p), p) for p in data if ways[p].rate_bps]
        if not shaped or not acks:
            continue
        *_, place = min(shaped, key=lambda one: one[:2])
        rate_bps = ways[place].rate_bps or 0
        rtt_ns = sum(ways[p].delay_ns for p in (*data, *acks)) + trip.extra_rtt_ns
        known = found.get(place)
        if known is None:
            frame_bits = 8 * ways[place].frame_bytes
            found[place] = Bottleneck(rate_bps, frame_bits, rtt_ns, trip.span)
        elif known.rtt_ns < rtt_ns:
            found[place] = known._replace(rtt_ns=rtt_ns)
    return list(found.values())


def _way(
    network: model.Network, origin: str, via: str | None, destination: str
) -> list[tuple[str, str]]:
    """Return the links from one host to another, past a router if it has to be."""
    if via is None:
        return _path(network, origin, destination)
    return [*_path(network, origin, via), *_path(network, via, destination)]


def _path(network: model.Network, origin: str, destination: str) -> list[tuple[str, str]]:
    """Return the links from one host to another: the fewest, then those of least delay, then those
    declared first; none if there is no way.
    """
    kinds = {node.name: node.kind for node in network.nodes}
    leaving: dict[str, list[tuple[int, str, int]]] = {name: [] for name in kinds}
    for number, link in enumerate(network.links):
        leaving[link.b].append((number, link.a, link.forward.delay_ns))
        leaving[link.a].append((number, link.b, link.backward.delay_ns))
    frontier: list[tuple[int, int, int, int, str, str | None]] = [(0, 0, 0, 0, destination, None)]
    towards: dict[str, str | None] = {}
    counter = 0
    while frontier:
        links, delay_ns, _, _, name, following = heapq.heappop(frontier)
        if name in towards:
            continue
        towards[name] = following
        if kinds.get(name) == "host" and name != destination:
            continue
        for number, before, further_ns in leaving.get(name, ()):
            counter += 1
            entry = (links + 1, delay_ns + further_ns, number, counter, before, name)
            heapq.heappush(frontier, entry)
    path: list[tuple[str, str]] = []
    name = origin
    while name in towards and (following := towards[name]) is not None:
        path.append((name, following))
        name = following
    return path
