"""The keys of `tunnel NAME { ... }`: packets in packets, between two routers."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.kinds import AnyName, Quantities, Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import DATA
from fairc.dsl.model.network import TunnelEcn
from fairc.words.packet_sizes import A_MTU

_ECN: Words[TunnelEcn] = Words("value of `ecn`", ("copy", "clear"))

FROM = Parameter("from", AnyName("a router"), "router at one end", required=True)
TO = Parameter("to", AnyName("a router"), "router at the other end", required=True)
HEADER = Parameter(
    "header",
    Quantities((DATA,), low=8 * 20, high=8 * 1000),
    "header of what carries a packet, IPv4's own of 20B included",
    required=True,
)
ECN = Parameter(
    "ecn",
    _ECN,
    "RFC 6040: what carries a packet has its bits of ECN (`copy`), or is not ECN-capable (`clear`)",
    "copy",
)
MTU = Parameter(
    "mtu",
    A_MTU,
    "largest IP packet inside",
    otherwise="what the path leaves",
)

TUNNEL: Registry[Parameter[Any]] = Registry("key of tunnel", "key", [FROM, TO, HEADER, ECN, MTU])
