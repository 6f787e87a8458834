"""The words of topologies: policers, performance-enhancing proxies, presets."""

from __future__ import annotations

from fairc.dsl.core.entries import Entries, Entry, Parameter
from fairc.dsl.core.kinds import A_PACKET_RATE, A_RATE, A_TIME, Quantities, Words
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.units import BDP, DATA, NUMBER, PACKETS

from .cca_words import AnyCca
from .network_words import A_LINK_RATE, A_LOSS, A_QUEUE
from .packet_sizes import A_MTU

P = Parameter

A_DEPTH = Quantities((PACKETS,), low=1)
HARSHNESS = Words("harshness", ("soft", "mild", "strict"))
FEEDBACK = Words("feedback", ("none", "classic", "accurate"))
CHARGE = Words("charge", ("forwarded", "arrived"))

POLICERS: Registry[Entry] = Registry(
    "policer",
    "policer",
    [
        Entry("none", "No policing", runs=True),
        Entry(
            "conex",
            "Congestion policing: a token bucket for the congestion that a user causes",
            (
                P("rate", A_PACKET_RATE, "fill rate of the bucket", required=True),
                P("depth", A_DEPTH, "depth of the bucket, at least a packet", required=True),
                P("harshness", HARSHNESS, "how much an empty bucket drops", "mild"),
                P("feedback", FEEDBACK, "which ECN marks senders re-expose, beside losses", "none"),
                P("charge", CHARGE, "when a re-echo takes its token", "forwarded"),
            ),
            runs=True,
        ),
    ],
)

A_POLICER = Entries(POLICERS)

A_POOL = Quantities((NUMBER,), low=1, high=1000, whole=True)
A_PEP_WINDOW = Quantities((BDP, DATA), open_low=True)

PEPS: Registry[Entry] = Registry(
    "PEP mode",
    "pep",
    [
        Entry("none", "No proxy", runs=True),
        Entry(
            "split",
            "Two proxies split every TCP connection in three, one at each end of the link",
            (
                P("cca", AnyCca(), "CCA of the connections between the proxies", "cubic"),
                P("connections", A_POOL, "how many of them are kept open for clients to come", "8"),
                P("window", A_PEP_WINDOW, "with which each begins, without slow start", "1bdp"),
            ),
            runs=True,
        ),
    ],
)

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
                P("pep", Entries(PEPS), "split TCP connections at both ends of the link", "none"),
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
