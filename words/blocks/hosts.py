"""The keys of `hosts { ... }`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairc.dsl.core.entries import Entries, Parameter
from fairc.dsl.core.kinds import A_PACKET_COUNT, A_SWITCH, AN_ECN, Quantities, Words, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import TIME
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value
from fairc.words.ccas.custom_kernels import AnyKernel
from fairc.words.distributions import A_RANDOM_TIME, HIGH, LOW, UNIFORM
from fairc.words.sizes import A_BUFFER, A_LEAST_TIMEOUT, AN_UNSENT_SIZE
from fairc.words.transports import TRANSPORTS

_OFF = "off"
LEAST_NS = 2
MOST_NS = 4_000_000_000  # the kernel's netem keeps half of it as a signed 32-bit number of ns
A_SYSCALL_COST = Quantities((TIME,), low=Fraction(1, 10**9), high=Fraction(1, 10**4))
"""Cost of each system call; above 0.1 ms programs could not start in time."""
_HELP = "write `uniform(0us, 10us)` with another limit, or `off`"


@dataclass(frozen=True)
class Processing:
    """`off`, or `uniform` from zero to a limit."""

    @property
    def phrase(self) -> str:
        """Describe both."""
        return "`off` or `uniform(0us, 10us)`"

    def take(self, value: Value, use: str, at: Span | None = None) -> int:
        """Return the limit, ns; 0: off. Raises CompileError unless the value is one of these."""
        if isinstance(value, Symbol) and value.name == _OFF:
            return 0
        if not isinstance(value, Applied):
            refuse(self, value, use, at, _HELP)
        given = A_RANDOM_TIME.take(value, use, at)
        if isinstance(given, Quantity) or given.entry is not UNIFORM:
            fail("bad-processing", f"{use} must be {self.phrase}", value.span, help=_HELP)
        low, high = given[LOW], given[HIGH]
        if low.number != 0:
            fail(
                "bad-processing",
                f"{use} must begin at zero",
                low.span,
                note=f"this is {low.canonical}",
                help="for a constant extra time, use a `delay` on the host's link",
            )
        if not LEAST_NS <= high.ns <= MOST_NS:
            fail(
                "bad-processing",
                f"{use} must end between {LEAST_NS} ns and {MOST_NS // 10**9} s",
                high.span,
                note=f"this is {high.canonical}",
                help="write `off` where hosts take no time" if high.number == 0 else None,
            )
        return high.ns


A_PROCESSING = Processing()


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
