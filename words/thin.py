"""`acks = thin(n)`: fewer acknowledgements of TCP in front of a link's queue."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import NUMBER

RATIO = Parameter(
    "n",
    Quantities((NUMBER,), low=1, high=1000, whole=True),
    "of so many new acknowledgements of a connection the last passes",
    required=True,
)

ALL = Entry("all", "Every acknowledgement passes", runs=True)

THINNINGS: Registry[Entry] = Registry(
    "thinning",
    "thinning",
    [
        ALL,
        Entry("thin", "Of n new acknowledgements of a connection one passes", (RATIO,), runs=True),
    ],
)

A_THINNING = Entries(THINNINGS)


def thinned(use: Use[Entry]) -> int | None:
    """Return of how many acknowledgements one passes; None: all."""
    return None if use.entry is ALL else use[RATIO].whole
