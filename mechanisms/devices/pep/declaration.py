"""The declaration of PEPs: a pair of proxies at the ends of a link (RFC 3135)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import AnyName, Quantities
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import BDP, DATA, NUMBER
from fairc.dsl.core.values import Size
from fairc.dsl.model import Misplaced, Proxies
from fairc.mechanisms.devices.device import ProxiesEntry
from fairc.words.ccas import AnyCca
from fairc.words.sizes import Sizes

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

TERMINAL = Parameter(
    "terminal", AnyName("a router"), "router at the clients' end of the link", required=True
)
GATEWAY = Parameter(
    "gateway", AnyName("a router"), "router at the servers' end of it", required=True
)
MODE = Parameter("mode", Entries(PEPS), "what the proxies do", "split")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pep(Proxies):
    """Two proxies that split TCP connections.

    connections: between them, opened in advance.
    window: the initial window of each.
    """

    connections: int
    window: Size


def _read(use: Use[Entry], pair: Proxies) -> Pep:
    """Return a pair that splits."""
    return Pep(
        **{each.name: getattr(pair, each.name) for each in fields(Proxies)},
        connections=use[CONNECTIONS].whole,
        window=use.given(WINDOW) or replace(WINDOW.fallback, span=use.span),
    )


BLOCK: Registry[Parameter[Any]] = Registry("key of pep", "key", [TERMINAL, GATEWAY, MODE])

DECLARATION = ProxiesEntry(
    noun="pep",
    summary="Two proxies that split connections on a link",
    example="pep NAME { terminal = terminal  gateway = gateway  mode = split }",
    modes=PEPS,
    block=BLOCK,
    terminal=TERMINAL,
    gateway=GATEWAY,
    mode=MODE,
    none=NONE,
    cca=CCA,
    read=_read,
    no_link=Misplaced("no-pep-link", "a `pep` splits connections at both ends of one link"),
    twice=Misplaced("duplicate-pep", "put a router between them"),
)
