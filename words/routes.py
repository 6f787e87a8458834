"""`routes`: which path flows take where several are equal."""

from __future__ import annotations

from fairc.dsl.core.entries import Entry, Parameter, Use
from fairc.dsl.core.kinds import Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.model.network import Hashed

_HASHED: Words[Hashed] = Words("input of a hash", ("ports", "hosts"))
HASH = Parameter(
    "hash",
    _HASHED,
    "`ports`: of each flow, the addresses and the ports of its connection; `hosts`: the addresses"
    " alone, so all flows between two hosts go one way",
    "ports",
)
ECMP = Entry(
    "ecmp",
    "Each router spreads flows over its equal next hops by a hash (equal-cost multipath)",
    (HASH,),
    runs=True,
)
ROUTINGS: Registry[Entry] = Registry(
    "routing",
    "routing",
    [
        Entry(
            "shortest",
            "All take one way: of the fewest links, then the least delay, then the first declared",
            runs=True,
        ),
        ECMP,
    ],
)


def hashed(use: Use[Entry]) -> Hashed | None:
    """Return what is hashed; None: nothing, there is one way."""
    if use.entry is not ECMP:
        return None
    found: Hashed = use[HASH]
    return found
