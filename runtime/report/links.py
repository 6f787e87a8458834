"""Names of links by their ends, and the capacity over time of a link that changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fairc.compiler.plan import Cell, Interface, Node, interfaces_of
from fairc.dsl.model.names import labels_of_nodes
from fairc.runtime.formatting import one_line

if TYPE_CHECKING:
    from fairc.runtime.arrays import Floats

NS = 1e-9


def named(scene: Cell, place: str) -> str:
    """Name the link that leaves `node/interface` by its ends, `r1 → r2`: delay hops are part of a
    link.

    The place itself, where the cell has no such interface.
    """
    node, _, interface = place.partition("/")
    nodes = {n.name: n for n in scene.nodes}
    labels = labels_of_nodes(scene)
    across = {
        here: there
        for cable in scene.cables
        for here, there in ((cable.a, cable.b), (cable.b, cable.a))
    }
    if node not in nodes or (node, interface) not in across:
        return one_line(place)
    begin, back = node, interface
    for _ in nodes:
        if nodes[begin].kind != "hop" or not (other := _other(nodes[begin], back)):
            break
        begin, back = across.get((begin, other), (begin, back))
    end, arrived = across[node, interface]
    for _ in nodes:
        if nodes[end].kind != "hop" or not (other := _other(nodes[end], arrived)):
            break
        end, arrived = across.get((end, other), (end, arrived))
    return f"{one_line(labels[begin])} → {one_line(labels[end])}"


def _other(hop: Node, interface: str) -> str:
    """Return the interface on the other side of a delay hop."""
    return next((i.name for i in hop.interfaces if i.name != interface), "")


def changing(scene: Cell) -> Interface | None:
    """Return the only bottleneck of a cell, if its rate changes."""
    found = [each for each in interfaces_of(scene).values() if each.bottleneck]
    if len(found) != 1 or found[0].shaper is None:
        return None
    if any(change.entering for change in found[0].changes):
        return None  # each cell has its own time
    return found[0] if any(c.rate_bps is not None for c in found[0].changes) else None


def capacity(link: Interface, edges_s: Floats) -> Floats:
    """Return the mean rate of a link in each bin, bit/s on the wire.

    edges_s: of the bins, ascending, from the cell's epoch, s; shape (bins + 1,).
    """
    assert link.shaper is not None
    end = float(edges_s[-1])
    times, rates = [0.0], [float(link.shaper.rate_bps)]
    steps = [
        (c.at_ns, float(c.rate_bps))
        for c in link.changes
        if c.rate_bps is not None and not c.is_rest
    ]
    turn = 0
    while turn == 0 or (link.repeat_ns and turn * link.repeat_ns * NS < end):
        for at_ns, rate in steps:
            times.append((at_ns + turn * (link.repeat_ns or 0)) * NS)
            rates.append(rate)
        turn += 1
    starts = np.array(times)
    sent = np.concatenate([[0.0], np.cumsum(np.diff(starts) * rates[:-1])])

    def until(t: Floats) -> Floats:
        at = np.clip(np.searchsorted(starts, t, side="right") - 1, 0, None)
        so_far: Floats = sent[at] + (t - starts[at]) * np.array(rates)[at]
        return so_far

    mean: Floats = np.diff(until(np.asarray(edges_s, float))) / np.diff(edges_s)
    return mean
