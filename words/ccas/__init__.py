"""The CCAs by transport.

cca     their declaration, and that of their parameters
kernel  those of Linux; quic: those of the endpoints, listed in `quic.json`
bpf     user-defined ones: BPF objects; module: kernel modules in C
resume  what an earlier connection learnt
custom_kernels  what custom kernels have
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fairc.dsl.core.kinds import refuse
from fairc.dsl.core.problems import fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Symbol, Value

from . import custom_kernels
from .bpf import BPF as BPF
from .cca import Cca as Cca
from .cca import CcaParameter as CcaParameter
from .cca import Setting as Setting
from .kernel import KERNEL
from .module import MODULE as MODULE
from .quic import QUIC

TCP_CCAS: Registry[Cca] = Registry("CCA over TCP", "cca", [*KERNEL, BPF, MODULE])

QUIC_CCAS: Registry[Cca] = Registry("CCA over QUIC", "cca", QUIC)

CCAS_OVER: Mapping[str, Registry[Cca]] = {"tcp": TCP_CCAS, "quic": QUIC_CCAS}
"""The CCAs by transport; if none is given, a flow takes the first one that has its CCA."""

CCAS: Registry[Cca] = Registry(
    "CCA",
    "cca",
    {entry.name: entry for registry in (QUIC_CCAS, TCP_CCAS) for entry in registry}.values(),
    misplaced={
        **{
            name: f"it is a transport: `over = {name}  cca = cubic`"
            for name in ("tcp", "mptcp", "quic")
        },
        "udp": "it is a transport without a CCA: `over = udp  rate = 1Mbit/s`",
    },
)
"""Every CCA, whatever it runs over."""

ABSENT: Mapping[str, tuple[str, str]] = {
    "compound": (
        "Linux has no Compound TCP: a patch was never merged",
        (
            "the closest is `illinois`, which also grows by loss and delay; or use your own with"
            " `bpf(...)` or `module(...)`"
        ),
    ),
    **dict.fromkeys(
        ("balia", "lia", "olia", "wvegas"),
        (
            "Linux couples no subflows; the out-of-tree MPTCP kernel (multipath-tcp.org) did",
            "over MPTCP each subflow has a CCA of its own: `over = mptcp  cca = reno`",
        ),
    ),
}
"""CCAs that studies name but that are not available here: why, and what is closest."""


@dataclass(frozen=True)
class AnyCca:
    """The kind "a CCA"; its arguments are checked when the transport is known."""

    phrase: str = "a CCA"

    def take(self, value: Value, use: str, at: Span | None = None) -> Symbol | Applied:
        """Return the CCA. Raises CompileError unless some transport has it."""
        if not isinstance(value, Symbol | Applied):
            refuse(self, value, use, at)
        span = value.name_span
        if value.name not in CCAS and custom_kernels.with_cca(value.name):
            return value  # for a flow over TCP, which knows its kernel
        if value.name in ABSENT:
            why, nearest = ABSENT[value.name]
            fail("unknown-cca", f"there is no CCA `{value.name}`", span, notes=(why,), help=nearest)
        CCAS.get(value.name, span)
        return value
