"""The words of congestion control: which CCAs each transport has, and their parameters.

Parameters of a kernel CCA are those of its module (Linux 6.12, `/sys/module/tcp_NAME/parameters`),
under the kernel's names and in the kernel's units. Left out are those that the kernel reads only
once, when the module is loaded (`bic_scale` of cubic, `window` of cdg; `beta` of cubic, from which
it derives the slope of its friendly region at that moment), and those that it does not show
(`theta`, `win_thresh` of illinois). Defaults are checked against the guest's kernel by a test.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fairc.dsl.core.entries import Entry, Parameter
from fairc.dsl.core.kinds import A_SWITCH, Quantities, Texts, refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.units import NUMBER, PACKETS, TIME
from fairc.dsl.core.values import Applied, Quantity, Symbol, Value

Setting = int | float | bool
"""What a parameter of a CCA is set to, as the kernel or the QUIC stack takes it."""


@dataclass(frozen=True)
class Knob(Parameter[Any]):
    """A parameter of a CCA.

    field: its name in the plan; initial: what holds when it is not given; convert: a checked
    value as the CCA takes it.
    """

    field: str = ""
    initial: Setting = 0
    convert: Callable[[Value], Setting] = lambda value: int(_number(value))


def _number(value: Value) -> float:
    assert isinstance(value, Quantity)
    return float(value.number)


def _is_on(value: Value) -> bool:
    assert isinstance(value, Symbol)
    return value.name == "on"


def _whole(name: str, summary: str, initial: int, low: int, high: int) -> Knob:
    kind = Quantities((NUMBER,), low=low, high=high, whole=True)
    return Knob(name, kind, summary, str(initial), field=name, initial=initial)


def _switch(name: str, summary: str, initial: int) -> Knob:
    """Describe a switch that the kernel keeps as a number."""
    text = "on" if initial else "off"
    return Knob(
        name, A_SWITCH, summary, text, field=name, initial=initial, convert=lambda v: int(_is_on(v))
    )


def _flag(name: str, summary: str, initial: bool) -> Knob:
    """Describe a switch that is one."""
    text = "on" if initial else "off"
    return Knob(name, A_SWITCH, summary, text, field=name, initial=initial, convert=_is_on)


def _real(name: str, summary: str, initial: float, low: str, high: int | str) -> Knob:
    kind = Quantities((NUMBER,), low=Fraction(low), high=Fraction(high))
    return Knob(name, kind, summary, f"{initial:g}", field=name, initial=initial, convert=_number)


_DETECT = "1: by trains of acks, 2: by the delay, 3: by both"
_SSTHRESH = "first slow-start threshold, packets; 0: none"

_KERNEL: Mapping[str, tuple[str, tuple[Knob, ...]]] = {
    "bbr": ("Bottleneck Bandwidth and Round-trip time, version 1", ()),
    "bic": (
        "Binary Increase Congestion control",
        (
            _whole("beta", "window after a loss, in 1/1024 of the one before", 819, 1, 1023),
            _whole("max_increment", "most packets that are added in a round trip", 16, 1, 10_000),
            _whole("low_window", "window up to which it grows as Reno, packets", 14, 0, 10_000),
            _whole("smooth_part", "round trips from Wmax - beta to Wmax", 20, 1, 10_000),
            _switch("fast_convergence", "give way to new flows", 1),
            _whole("initial_ssthresh", _SSTHRESH, 0, 0, 1_000_000),
        ),
    ),
    "cdg": (
        "CAIA Delay-Gradient",
        (
            _whole("backoff_beta", "window after a backoff, in 1/1024", 724, 1, 1023),
            _whole("backoff_factor", "scale of the probability of a backoff", 42, 1, 10_000),
            _whole("hystart_detect", f"HyStart, 0: off, {_DETECT}", 3, 0, 3),
            _whole("use_ineff", "backoffs without effect after which it stops them", 5, 0, 10_000),
            _flag("use_shadow", "keep a shadow window", True),
            _flag("use_tolerance", "tell losses of the link from those of queues", False),
        ),
    ),
    "cubic": (
        "CUBIC (RFC 9438), the default of Linux",
        (
            _switch("hystart", "leave slow start early", 1),
            _whole("hystart_detect", _DETECT, 3, 1, 3),
            _whole("hystart_low_window", "window from which HyStart acts, packets", 16, 0, 10_000),
            _whole("hystart_ack_delta_us", "time between acks of a train", 2000, 1, 1_000_000),
            _switch("fast_convergence", "give way to new flows", 1),
            _switch("tcp_friendliness", "never slower than Reno", 1),
            _whole("initial_ssthresh", _SSTHRESH, 0, 0, 1_000_000),
        ),
    ),
    "dctcp": (
        "Data Center TCP; needs `ecn = accurate`; without ECN it is Reno",
        (
            _whole("dctcp_shift_g", "gain of the estimate of marks is 2 to minus this", 4, 0, 10),
            _whole("dctcp_alpha_on_init", "first estimate, in 1/1024", 1024, 0, 1024),
        ),
    ),
    "highspeed": ("HighSpeed TCP (RFC 3649)", ()),
    "htcp": (
        "Hamilton TCP",
        (
            _switch("use_rtt_scaling", "growth independent of the round-trip time", 1),
            _switch("use_bandwidth_switch", "halve the window when the throughput changes", 1),
        ),
    ),
    "hybla": (
        "TCP Hybla, for satellite links",
        (
            Knob(
                "rtt0",
                Quantities((TIME,), low=Fraction(1, 1000), high=1000),
                "reference round-trip time, whole ms",
                "25ms",
                field="rtt0",
                initial=25,
                convert=lambda value: round(_number(value) * 1000),
            ),
        ),
    ),
    "illinois": ("TCP Illinois", ()),
    "lp": ("TCP Low Priority", ()),
    "nv": (
        "New Vegas",
        (
            _whole("nv_pad", "packets that may wait in queues", 10, 0, 1000),
            _whole("nv_reset_period", "when the least round trip is forgotten, s", 5, 1, 10_000),
            _whole("nv_min_cwnd", "least window without losses, packets", 2, 2, 10_000),
        ),
    ),
    "reno": ("NewReno (RFC 5681)", ()),
    "scalable": ("Scalable TCP", ()),
    "vegas": (
        "TCP Vegas",
        (
            _whole("alpha", "least packets in queues", 2, 0, 1000),
            _whole("beta", "most packets in queues", 4, 0, 1000),
            _whole("gamma", "packets in queues that end slow start", 1, 0, 1000),
        ),
    ),
    "veno": ("TCP Veno", ()),
    "westwood": ("TCP Westwood+", ()),
    "yeah": ("Yet Another Highspeed TCP", ()),
}

_WINDOW_AFTER = "window after a congestion event, of the one before"

_QUIC: Mapping[str, tuple[str, tuple[Knob, ...]]] = {
    "bbr": ("Bottleneck Bandwidth and Round-trip time, version 1", ()),
    "cubic": (
        "CUBIC as Google's QUIC has it (RFC 8312); it may emulate several connections",
        (
            _whole("connections", "number of connections that one emulates", 1, 1, 1000),
            _real("beta", _WINDOW_AFTER, 0.7, "0.01", "0.99"),
            _real("c", "scale of the growth", 0.4, "0.001", 1000),
            Knob(
                "max_window",
                Quantities((PACKETS,), low=2, high=10_000_000, whole=True),
                "largest window",
                "1000pkt",
                field="max_window_packets",
                initial=1000,
            ),
            _flag("hystart", "leave slow start early", False),
        ),
    ),
    "ledbat": (
        "Low Extra Delay Background Transport (RFC 6817)",
        (
            Knob(
                "target",
                Quantities((TIME,), low=Fraction(1, 1000), high=Fraction(1, 10)),
                "delay in queues that it aims at",
                "100ms",
                field="target_ms",
                initial=100.0,
                convert=lambda value: _number(value) * 1000,
            ),
            _real("gain", "growth per round trip at an empty queue, packets", 1.0, "0.01", 1),
            _real("allowed_increase", "packets over what is in flight", 1.0, "0.01", 100),
            _whole("base_history", "memory of the least delay, min", 10, 1, 1000),
            _whole("filter", "samples that the current delay is the least of", 4, 1, 1000),
        ),
    ),
    "pcc": (
        "PCC Vivace (NSDI 2018): the rate of the best utility",
        (
            _real("exponent", "of the rate in the utility", 0.9, "0.01", "0.99"),
            _real("rtt_factor", "weight of the growth of the RTT", 900.0, "0", 10**6),
            _real("loss_factor", "weight of the losses", 11.35, "0", 10**6),
            _real("epsilon", "change of the rate in an experiment", 0.05, "0.001", "0.5"),
            _real("theta", "step along the gradient", 1.0, "0.001", 1000),
            _real("bound", "largest change of the rate at first", 0.05, "0.001", "0.5"),
            _real("bound_step", "by how much that grows", 0.06, "0", "0.5"),
        ),
    ),
    "reno": ("NewReno (RFC 9002)", (_real("beta", _WINDOW_AFTER, 0.5, "0.01", "0.99"),)),
}
"""Over QUIC: summary, and parameters, those of endpoints/src/congestion."""

BPF = Entry(
    "bpf",
    "A CCA of one's own: a BPF struct_ops object, loaded in the guest",
    (
        Parameter("object", Texts(), "its file, beside the experiment", required=True),
        Parameter("name", Texts(), "what it calls itself", "the file's name up to the first dot"),
    ),
    runs=True,
)

TCP_CCAS: Registry[Entry] = Registry(
    "CCA over TCP",
    "cca",
    [*(Entry(name, summary, knobs, runs=True) for name, (summary, knobs) in _KERNEL.items()), BPF],
)

QUIC_CCAS: Registry[Entry] = Registry(
    "CCA over QUIC",
    "cca",
    [Entry(name, words, knobs, runs=True) for name, (words, knobs) in _QUIC.items()],
)

CCAS_OVER: Mapping[str, Registry[Entry]] = {"tcp": TCP_CCAS, "quic": QUIC_CCAS}
"""The CCAs by transport; where none is given, a flow takes the first one that has its CCA."""

CCAS: Registry[Entry] = Registry(
    "CCA",
    "cca",
    {entry.name: entry for words in (QUIC_CCAS, TCP_CCAS) for entry in words}.values(),
)
"""Every CCA, whatever it runs over."""


ABSENT: Mapping[str, tuple[str, str]] = {
    "compound": (
        "Linux has no Compound TCP: a patch was never merged",
        "the nearest of its kind is `illinois`: it grows by losses and delay, too; or `bpf(...)` for your own",
    ),
}
"""CCAs that studies name and nothing here has: why, and what is nearest."""


@dataclass(frozen=True)
class AnyCca:
    """The kind "a CCA"; its arguments are checked when the transport is known."""

    words: str = "a CCA"

    def take(self, value: Value, use: str, at: Span | None = None) -> Symbol | Applied:
        """Raise CompileError unless some transport has this CCA."""
        if not isinstance(value, Symbol | Applied):
            refuse(self, value, use, at)
        span = value.name_span if isinstance(value, Applied) else value.span
        if value.name in ABSENT:
            why, nearest = ABSENT[value.name]
            fail(
                "unknown-cca", f"no CCA is called `{value.name}`", span, notes=(why,), help=nearest
            )
        CCAS.get(value.name, span)
        return value
