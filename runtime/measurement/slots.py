"""Bytes per time slot: apportioned by serialisation time, so a packet across a border is split."""

from __future__ import annotations

import numpy as np

from fairc.runtime.arrays import Floats


def edges(slot_s: float, end_s: float) -> Floats:
    """Return the borders of the slots from 0 that cover `end_s`, shape (slots + 1,); at least one.

    Borders are multiples of the slot, each rounded once, so that they do not drift.
    """
    count = max(1, int(np.ceil(end_s / slot_s - 1e-9)))
    return np.arange(count + 1, dtype=np.float64) * slot_s


def apportion(start_s: Floats, length_s: Floats, amount: Floats, edges_s: Floats) -> Floats:
    """Spread each amount evenly over its own time and sum it up between edges.

    start_s, length_s, amount: shape (packets,); length 0 is a step at its time. edges_s: shape
    (slots + 1,), increasing. What lies outside the edges is not counted; what lies inside is
    counted exactly once. Returns shape (slots,). Source: measurement.md, rule 16.
    """
    count = len(edges_s) - 1
    total = np.zeros(count)
    first = np.searchsorted(edges_s, start_s, side="right") - 1
    last = np.searchsorted(edges_s, start_s + length_s, side="left") - 1
    last = np.maximum(last, first)
    instant = length_s <= 0
    inverse = np.divide(1.0, length_s, out=np.zeros(len(length_s)), where=~instant)
    # A packet touches few slots: one pass for each of them, over the packets that reach that far.
    for further in range(int((last - first).max(initial=-1)) + 1):
        slot = first + further
        here = (slot <= last) & (slot >= 0) & (slot < count)
        slot, start, length = slot[here], start_s[here], length_s[here]
        overlap = np.minimum(start + length, edges_s[slot + 1]) - np.maximum(start, edges_s[slot])
        share = np.where(instant[here], 1.0, overlap * inverse[here])
        total += np.bincount(slot, share * amount[here], minlength=count)
    return total
