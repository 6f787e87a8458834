"""The declaration of NATs: `rebind` at these times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entries, Entry, Parameter, Use
from fairc.dsl.core.kinds import A_POSITIVE_TIME, AnyName
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.values import Quantity
from fairc.dsl.model import LinkDevice, Misplaced
from fairc.mechanisms.devices.device import DeviceEntry

from .cell import MOST_TIMES

TIMES: Parameter[Quantity] = Parameter(
    "times",
    A_POSITIVE_TIME,
    "after the start of the cell, when every connection gets its other port",
    required=True,
    repeated=True,
)

NONE = Entry("none", "No NAT", runs=True)

NATS: Registry[Entry] = Registry(
    "NAT",
    "nat",
    [
        NONE,
        Entry(
            "rebind",
            "Ports of connections from behind the router, which change at these times",
            (TIMES,),
            runs=True,
        ),
    ],
)

A_NAT = Entries(NATS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Nat(LinkDevice):
    """A NAT between a router and one of its neighbours, which is outside.

    times_ns: when ports change, ns after the start of the cell, in order.
    """

    noun = "nat"
    tunnelled = Misplaced("nat-in-tunnel", "put it on a link in front of the tunnel")

    times_ns: tuple[int, ...]

    @property
    def last_ns(self) -> int:
        """The time at which ports change for the last time."""
        return self.times_ns[-1]


def _read(use: Use[Entry], name: str = "") -> Nat | None:
    """Return the NAT that a link is given, or None for `none`."""
    if use.entry is NONE:
        return None
    found: dict[int, Quantity] = {}
    if len(use.repeated) > MOST_TIMES:
        fail(
            "too-many",
            f"a NAT changes ports at most {MOST_TIMES} times in a cell",
            use.repeated[MOST_TIMES].span,
            f"one of {len(use.repeated)}",
            help="leave some out, or spread them over several experiments",
        )
    for time in use.repeated:
        first = found.setdefault(time.ns, time)
        if first is not time:
            fail(
                "duplicate-argument",
                "ports change twice at this time",
                time.span,
                labels=(Label(first.span, "given here first"),),
                help="leave one of them out",
            )
    return Nat(name=name, times_ns=tuple(sorted(found)), span=use.span)


AT = Parameter("at", AnyName("a router"), "router that translates what it sends", required=True)
TO = Parameter("to", AnyName("a node"), "to this neighbour, which is outside", required=True)
MODE = Parameter("mode", A_NAT, "when its ports change", required=True)

DECLARATION = DeviceEntry(
    noun="nat",
    summary="Hides hosts behind ports of a router, which change",
    example="link home -> isp { nat = rebind(5s) }",
    modes=NATS,
    key=Parameter("nat", A_NAT, "NAT of the router that sends over this link", "none"),
    block=Registry[Parameter[Any]]("key of nat", "key", [AT, TO, MODE]),
    at=AT,
    to=TO,
    mode=MODE,
    read=_read,
    no_link=Misplaced("no-nat-link", "a NAT is between a router and one of its neighbours"),
    twice=Misplaced("duplicate-nat", "keep one of them"),
    between_proxies=Misplaced("nat-beside-pep", "put the NAT on another link"),
    does="translate",
    is_done="translated",
)
