"""The keys of `flow NAME { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Entries, Parameter
from fairc.dsl.core.kinds import (
    A_NUMBER_OF,
    A_PACKET_COUNT,
    A_RATE,
    A_SWITCH,
    A_TIME,
    AN_ECN,
    AnyName,
)
from fairc.dsl.core.registry import Registry
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.words.ccas import AnyCca
from fairc.words.distributions import A_RANDOM_TIME
from fairc.words.dscp import A_CODE_POINT
from fairc.words.sizes import A_LEAST_TIMEOUT, A_WINDOW, AN_UNSENT_SIZE
from fairc.words.transports import TRANSPORTS

USERS = Parameter("users", AnyName("users"), "runs on each of them")
FROM = Parameter("from", AnyName("a node"), "node that sends the data", "server")
TO = Parameter("to", AnyName("a node"), "node that receives the data", "client")
COUNT = Parameter(
    "count",
    A_NUMBER_OF,
    "parallel connections, each with the whole workload; 0: the flow is absent",
    "1",
)
OVER = Parameter("over", Entries(TRANSPORTS), "transport", otherwise="the CCA's, tcp first")
VIA = Parameter(
    "via",
    AnyName("a router"),
    "its packets pass this router, both ways",
    otherwise="the shortest path",
)
CCA = Parameter("cca", AnyCca(), "congestion control algorithm; none over udp")
START = Parameter(
    "start", A_RANDOM_TIME, "start, from the start of the cell", otherwise="0 plus a seeded offset"
)
STOP = Parameter("stop", A_TIME, "end, from the start of the cell")
WORKLOAD = Parameter("workload", Entries(WORKLOADS), "what the flow transfers", required=True)
RATE = Parameter(
    "rate", A_RATE, "limit of the sending rate (IP bytes)", otherwise="none; udp needs one"
)
RTT = Parameter(
    "rtt", A_RANDOM_TIME, "extra round-trip time of this flow; a distribution: drawn for it", "0s"
)
INITIAL_WINDOW = Parameter(
    "initial_window",
    A_PACKET_COUNT,
    "initial congestion window",
    otherwise="10pkt; 32pkt for `load`",
)
WINDOW = Parameter("window", A_WINDOW, "limit of the receive window", otherwise="none")
ECN = Parameter(
    "ecn",
    AN_ECN,
    "Explicit Congestion Notification; `accurate`: AccECN; QUIC always counts marks",
    "off",
)
SACK = Parameter("sack", A_SWITCH, "selective acknowledgements", "on")
PACING = Parameter(
    "pacing", A_SWITCH, "spread packets over the round trip", otherwise="off; on for bbr and quic"
)
FAST_OPEN = Parameter("fast_open", A_SWITCH, "TCP Fast Open", "off")
IDLE_RESTART = Parameter(
    "idle_restart",
    A_SWITCH,
    "reduce the congestion window after an idle time",
    otherwise="on over tcp, off over quic",
)

MIN_RTO = Parameter(
    "min_rto",
    A_LEAST_TIMEOUT,
    "TCP's retransmission timeout is at least this over the round trip, in whole ms",
    otherwise="200ms",
)
NOTSENT_LOWAT = Parameter(
    "notsent_lowat",
    AN_UNSENT_SIZE,
    "what waits in a socket of TCP beyond its congestion window is refilled below this",
    otherwise="128KiB; none for `onoff` and `video`",
)
DSCP = Parameter("dscp", A_CODE_POINT, "Diffserv code point of its packets, both ways", "cs0")

_SIZE = "what a flow transfers is its workload: `workload = file(1MB)`"

FLOW: Registry[Parameter[Any]] = Registry(
    "flow key",
    "key",
    [
        USERS,
        FROM,
        TO,
        COUNT,
        VIA,
        OVER,
        CCA,
        START,
        STOP,
        WORKLOAD,
        RATE,
        RTT,
        INITIAL_WINDOW,
        WINDOW,
        ECN,
        SACK,
        PACING,
        FAST_OPEN,
        IDLE_RESTART,
        MIN_RTO,
        NOTSENT_LOWAT,
        DSCP,
    ],
    misplaced={
        "bytes": _SIZE,
        "direction": "an upload is `from = client  to = server`; downloads need neither",
        "scheduler": "Linux's own scheduler of paths is used; `over = mptcp(...)` has its options",
        "size": _SIZE,
        "subflows": "`over = mptcp` opens a subflow on each path between the two hosts",
    },
)
