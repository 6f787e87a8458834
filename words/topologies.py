"""The topologies that ship with fairc; each is a `.fexp` file."""

from __future__ import annotations

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_RATE, A_TIME
from fairc.dsl.core.registry import Registry

from .losses import A_LOSS
from .packet_sizes import A_MTU
from .peps import A_PEP
from .policers import A_POLICER
from .queues import A_QUEUE
from .trace import A_LINK_RATE

P = Parameter

_RATE = P("rate", A_RATE, "rate of the bottleneck on the wire, both ways", "max(up, down)")
_RTT = P("rtt", A_TIME, "base round trip of the path, without queueing", "0ms")
_LOSS = P("loss", A_LOSS, "random loss in the data direction, after the queue", "0%")
_QUEUE = P("queue", A_QUEUE, "buffer of the bottleneck in the data direction", "fifo(1000pkt)")
_UP = P("up", A_RATE, "rate from client to server", "rate")
_DOWN = P("down", A_RATE, "rate from server to client", "rate")
_ACCESS = P("access", A_RATE, "rate of the access links", "max(100Mbit/s, 10 * rate)")
_MTU = P("mtu", A_MTU, "largest IP packet, on every link", "1500B")
_BDP = P("queue", A_QUEUE, "buffer of the link in the data direction", "fifo(1bdp)")


def _mobile(name: str, summary: str) -> Entry:
    return Entry(
        name,
        summary,
        (
            P("down", A_LINK_RATE, "rate from server to client", "5Mbit/s"),
            P("up", A_LINK_RATE, "rate from client to server", "2.5Mbit/s"),
            P("rtt", A_TIME, "base round trip of the path, without queueing", "80ms"),
            *(_LOSS, _BDP, _MTU),
        ),
        runs=True,
    )


TOPOLOGIES: Registry[Entry] = Registry(
    "topology",
    "topology",
    [
        Entry(
            "bottleneck",
            "A server and a client behind one bottleneck",
            (_RATE, _RTT, _LOSS, _QUEUE, _UP, _DOWN, _ACCESS, _MTU),
            runs=True,
        ),
        Entry(
            "access",
            "Users behind one shared link, each with a server",
            (
                *(_RATE, _RTT, _LOSS, _QUEUE, _UP, _DOWN, _ACCESS),
                P("policer", A_POLICER, "policer in front of the queue", "none"),
                _MTU,
            ),
            runs=True,
        ),
        Entry(
            "geo",
            "A geostationary satellite link",
            (
                P("pep", A_PEP, "split TCP connections at both ends of the link", "none"),
                P("down", A_RATE, "rate from server to client", "25Mbit/s"),
                P("up", A_RATE, "rate from client to server", "5Mbit/s"),
                P("rtt", A_TIME, "base round trip from server to client", "750ms"),
                *(_LOSS, _BDP),
                P("home", A_TIME, "round trip between client and terminal", "1ms"),
                P("ground", A_TIME, "round trip between gateway and server", "30ms"),
                _MTU,
            ),
            runs=True,
        ),
        _mobile("4g", "A mobile access network"),
        _mobile("lte", "The same as `4g`"),
        Entry(
            "parking_lot",
            "Three bottlenecks in a row, each with cross traffic of its own",
            (
                P("rate", A_RATE, "rate of each bottleneck", "10Mbit/s"),
                P("hop", A_TIME, "one-way delay of each bottleneck's link", "10ms"),
                P("loss", A_LOSS, "random loss of each hop in the data direction", "0%"),
                P("queue", A_QUEUE, "buffer of each hop in the data direction", "fifo(1bdp)"),
                P("access", A_RATE, "rate of the hosts' links", "max(100Mbit/s, 10 * rate)"),
                _MTU,
            ),
            runs=True,
        ),
    ],
)
