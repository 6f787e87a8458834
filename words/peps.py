"""Modes of a pair of proxies (PEP) at the ends of a link."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries, Entry, Parameter
from fairc.dsl.core.kinds import Quantities
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import BDP, DATA, NUMBER

from .ccas import AnyCca
from .sizes import Sizes

CCA = Parameter("cca", AnyCca(), "CCA of the connections between the proxies", "cubic")
CONNECTIONS = Parameter(
    "connections",
    Quantities((NUMBER,), low=1, high=1000, whole=True),
    "number of connections kept open for new clients",
    "8",
)
WINDOW = Parameter(
    "window",
    Sizes(Quantities((BDP, DATA), open_low=True)),
    "window with which each starts, without slow start",
    "1bdp",
)

NONE = Entry("none", "No proxy", runs=True)

PEPS: Registry[Entry] = Registry(
    "PEP mode",
    "pep",
    [
        NONE,
        Entry(
            "split",
            "Two proxies, one at each end of the link, split every TCP connection in three",
            (CCA, CONNECTIONS, WINDOW),
            runs=True,
        ),
    ],
)

A_PEP = Entries(PEPS)
