"""A topology in one line: the way from server to client, then every other link."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from fairc.dsl.text import syntax

Ways = Mapping[tuple[str, str], str]
"""Two nodes -> the arrow between them as it is drawn from the first to the second."""

REVERSED = {"--": "--", "->": "<-", "<-": "->"}


def drawing(topology: syntax.Topology) -> str:
    """Return a topology in one line, `server -- gateway -> terminal -- client`.

    `--` is a link that is described for both directions at once, `->` one of which each direction
    is described for itself, in the direction of the first of them.
    """
    arrows: dict[tuple[str, str], str] = {}
    links: list[tuple[str, str]] = []
    for element in topology.body.elements:
        for ends in element.ends if isinstance(element, syntax.Link) else ():
            a, b = ends.left.span.text, ends.right.span.text
            if (a, b) not in arrows:
                links.append((a, b))
                arrows[a, b], arrows[b, a] = ends.arrow, REVERSED[ends.arrow]
    main = _way("server", "client", arrows)
    steps = list(pairwise(main))
    chain = "".join((*main[:1], *(f" {arrows[step]} {step[1]}" for step in steps)))
    others = [f"{a} {arrows[a, b]} {b}" for a, b in links if {(a, b), (b, a)}.isdisjoint(steps)]
    return ", ".join(filter(None, (chain, *others)))


def _way(origin: str, destination: str, arrows: Ways) -> list[str]:
    """Return the nodes of a shortest way from one node to another; none if there is no way."""
    before: dict[str, str] = {origin: ""}
    waiting = [origin]
    for node in waiting:
        for a, b in arrows:
            if a == node and b not in before:
                before[b] = node
                waiting.append(b)
    way = [destination] if destination in before else []
    while way and before[way[0]]:
        way.insert(0, before[way[0]])
    return way
