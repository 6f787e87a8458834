"""The keys of `hosts { ... }`."""

from __future__ import annotations

from typing import Any

from fairc.dsl.core.entries import Entries, Parameter
from fairc.dsl.core.kinds import A_PACKET_COUNT, A_SWITCH, AN_ECN, Words
from fairc.dsl.core.registry import Registry
from fairc.words.ccas.custom_kernels import AnyKernel
from fairc.words.processing import A_PROCESSING, A_SYSCALL_COST
from fairc.words.sizes import A_BUFFER, A_LEAST_TIMEOUT, AN_UNSENT_SIZE
from fairc.words.transports import TRANSPORTS

OFFLOAD = Parameter(
    "offload",
    Words("state", ("off", "on")),
    "TCP hands several segments at once to its interface, which sends them back to back",
    "off",
)
TCP_METRICS_SAVE = Parameter(
    "tcp_metrics_save",
    Words("state", ("off", "on")),
    "keep what TCP has learnt of a host for later connections: ssthresh, RTT, reordering",
    "off",
)
SEND_BUFFER = Parameter(
    "send_buffer", A_BUFFER, "send buffer of each connection", otherwise="limits nothing"
)
RECEIVE_BUFFER = Parameter(
    "receive_buffer",
    A_BUFFER,
    "receive buffer of each connection",
    otherwise="over TCP at least eight times the BDP and the queue, else limits nothing",
)
OVER = Parameter(
    "over", Entries(TRANSPORTS), "default of the flows", otherwise="the CCA's, tcp first"
)
INITIAL_WINDOW = Parameter(
    "initial_window", A_PACKET_COUNT, "default of the flows", otherwise="10pkt; 32pkt for `load`"
)
ECN = Parameter("ecn", AN_ECN, "default of the flows", "off")
SACK = Parameter("sack", A_SWITCH, "default of the flows", "on")
PACING = Parameter("pacing", A_SWITCH, "default of the flows", otherwise="off; on for bbr and quic")
FAST_OPEN = Parameter("fast_open", A_SWITCH, "default of the flows", "off")
IDLE_RESTART = Parameter(
    "idle_restart", A_SWITCH, "default of the flows", otherwise="on over tcp, off over quic"
)
MIN_RTO = Parameter("min_rto", A_LEAST_TIMEOUT, "default of the flows over tcp", otherwise="200ms")
NOTSENT_LOWAT = Parameter(
    "notsent_lowat",
    AN_UNSENT_SIZE,
    "default of the flows over tcp",
    otherwise="128KiB; none for `onoff` and `video`",
)
PMTU = Parameter(
    "pmtu",
    Words("value of `pmtu`", ("known", "discover")),
    "how senders get to know the path's MTU: by their routes, or from packets that get lost",
    "known",
)
PROCESSING = Parameter(
    "processing",
    A_PROCESSING,
    "time a host takes for each packet it sends; also varies the gaps of constant-rate sources",
    otherwise="uniform(0us, 10us) where computing takes no time, else off",
)
SYSCALL_COST = Parameter(
    "syscall_cost",
    A_SYSCALL_COST,
    "virtual time of each system call (uml)",
    otherwise="1us with Chromium or third-party programs, else nothing",
)
KERNEL = Parameter(
    "kernel",
    AnyKernel(),
    "kernel of the hosts: one that `fairc image build --name NAME` has built (uml)",
    otherwise="the engine's",
)

HOSTS: Registry[Parameter[Any]] = Registry(
    "host option",
    "key",
    [
        OFFLOAD,
        TCP_METRICS_SAVE,
        SEND_BUFFER,
        RECEIVE_BUFFER,
        OVER,
        INITIAL_WINDOW,
        ECN,
        SACK,
        PACING,
        FAST_OPEN,
        IDLE_RESTART,
        MIN_RTO,
        NOTSENT_LOWAT,
        PMTU,
        PROCESSING,
        SYSCALL_COST,
        KERNEL,
    ],
    misplaced=dict.fromkeys(
        ("mss", "mtu"),
        "links and presets have an `mtu`: `bottleneck(rate: 10Mbit/s, mtu: 1400B)`; TCP's segments"
        " follow from it",
    ),
)
