"""Bottlenecks: where data can wait, and be dropped.

The bottleneck of a flow is the slowest egress of its path as the cell begins. There are others: a
link that changes, one that several flows fill together, and one that is no faster than the link in
front of it. Behind a single link of the same rate, though, a frame waits for the rest of a larger
one at most: packets come no closer together than they leave, unless their delay varies. Nothing
waits for long in a queue to which data come more slowly than it sends; but a queue that the file
names is there to be seen, and may drop what comes at once behind jitter, or too little of it, or by
an AQM for which a single packet of a slow link lasts too long.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

from fairc.cell.frames import SMALLEST_FRAME_BYTES
from fairc.cell.framing import Framing

from .dynamics import is_steady, least_bps, most_bps, most_loss
from .routing import RoutedPath, Traffic, headers
from .wiring import Egress, Wiring


def find_bottlenecks(wiring: Wiring, traffic: Traffic) -> dict[Egress, None]:
    """Return every bottleneck: of each path, then others that data pass, in their order.

    Not at hosts, and not at proxies, whose own sockets wait for their link.
    """
    paths = [path for _, path in traffic]
    found = dict.fromkeys(path.bottleneck for path in paths if path.bottleneck)
    first = {end for pair in wiring.network.proxies for end in pair.ends}
    first |= {node for node, kind in wiring.kinds.items() if kind == "host"}
    coming: dict[Egress, _Arrivals] = {}
    ways = [way for path in paths for way in (path.data, path.acks)]
    for path in paths:
        added = headers(path.data, wiring)
        for number, egress in enumerate(path.data):
            if egress.rate_bps and egress.node not in first:
                coming.setdefault(egress, _Arrivals(egress.way.framing, egress.way.mtu)).add(
                    _before(path, number, first), added, number
                )
    return found | dict.fromkeys(
        egress
        for egress, arrivals in coming.items()
        if egress.way.queue.span != egress.way.span  # a default queue has that of its direction
        or arrivals.most_bps > least_bps(egress.way)
        or (arrivals.most_bps == least_bps(egress.way) and not _is_idle(egress, ways))
    )


def _is_idle(egress: Egress, ways: Iterable[Sequence[Egress]]) -> bool:
    """Return whether a link as fast as what is in front of it has nothing to show: all packets come
    from one link, as far apart as they left it, and it neither changes nor loses any.
    """
    links: set[Egress] = set()
    for way in ways:
        if egress in way:
            end = way.index(egress)
            last = max((n for n in range(end) if way[n].rate_bps), default=None)
            if last is None or not all(_keeps_gaps(each) for each in way[last : end + 1]):
                return False
            links.add(way[last])
    return len(links) == 1 and not most_loss(egress.way)


def _keeps_gaps(egress: Egress) -> bool:
    """Return whether packets keep their distances: there is one rate, and one delay."""
    way = egress.way
    whole = way.transmit != "bucket" and way.medium is None and way.impairment.repair is None
    return whole and is_steady(way)


def _before(path: RoutedPath, number: int, first: set[str]) -> list[tuple[int, Egress]]:
    """Return the egresses with a rate in front of one on a path, from where its packets were last
    sent by a host or a proxy, and their numbers on it.
    """
    begin = max(n for n in range(number) if path.data[n].node in first)
    shaped = ((n, path.data[n]) for n in range(begin, number))
    return [(n, egress) for n, egress in shaped if egress.rate_bps]


class _Arrivals:
    """How fast data may come to an egress: over each link in front of it as fast as that ever
    sends, and no faster than the slowest links behind which they come there.

    framing, mtu: of the egress: packets may grow there.
    """

    def __init__(self, framing: Framing, mtu: int) -> None:
        self._framing, self._mtu = framing, mtu
        self._slowest: dict[Egress | None, dict[Egress | None, float]] = defaultdict(dict)
        self._last: dict[Egress | None, float] = {}

    def add(self, before: Sequence[tuple[int, Egress]], added: Sequence[int], number: int) -> None:
        """Add those of a path.

        before: what has a rate in front of it on this path. added: how much tunnels add to a packet
        at each of its egresses, bytes; the smallest packets grow most. number: its own.
        """
        if not before:
            self._slowest[None][None] = self._last[None] = math.inf
            return
        carried: dict[Egress, float] = {}
        for n, egress in before:
            growth = max(0, added[number] - added[n]) / SMALLEST_FRAME_BYTES
            framed = self._framing.growth(egress.way.framing, self._mtu)
            carried[egress] = most_bps(egress.way) * (1 + growth) * framed
        last = before[-1][1]
        slowest = min(reversed(carried), key=lambda egress: carried[egress])
        self._slowest[last][slowest] = carried[slowest]
        self._last[last] = max(carried[last], self._last.get(last, 0))

    @property
    def most_bps(self) -> float:
        """The highest rate at which they may come, bit/s."""
        return sum(
            min(self._last[last], sum(slowest.values())) for last, slowest in self._slowest.items()
        )
