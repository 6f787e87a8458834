"""`reorder`: packets that skip the delay of a link, and overtake others."""

from __future__ import annotations

from fairc.dsl.core.entries import Either, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_SHARE, A_PROBABILITY, Quantities
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import NUMBER
from fairc.dsl.core.values import Quantity

from .losses.loss import CORRELATION, refuse_correlation

SHARE = Parameter(
    "share", A_POSITIVE_SHARE, "share of packets that skip the delay, of those that may", "100%"
)
GAP = Parameter(
    "gap",
    Quantities((NUMBER,), low=1, high=2**31 - 1, whole=True),
    "at most one of this many consecutive packets skips the delay",
    "1",
)

REORDERINGS: Registry[Entry] = Registry(
    "reordering",
    "reordering",
    [
        Entry(
            "reorder",
            "Packets that skip the delay of the link, at most one of `gap` consecutive ones",
            (SHARE, GAP, CORRELATION),
            runs=True,
        )
    ],
)

A_REORDERING = Either(A_PROBABILITY, REORDERINGS, "a percentage or `reorder(...)`", bare=False)


def reordering(given: Quantity | Use[Entry]) -> tuple[Quantity, int]:
    """Return the share of packets that skip the delay, of those that may, and the gap.

    Raises CompileError.
    """
    if isinstance(given, Quantity):
        return given, 1
    refuse_correlation(given.given(CORRELATION))
    share, gap = given[SHARE], given[GAP].whole
    if share.number == 1 and gap == 1:
        fail(
            "out-of-range",
            "all packets would skip the delay",
            given.span,
            help="give a `gap`, a smaller share, or the link a smaller delay",
        )
    return share, gap
