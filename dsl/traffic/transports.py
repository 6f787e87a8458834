"""Transports of flows, with their CCAs, all parameters of these, and options.

A pair that can never exist, whatever is implemented, is an error `impossible-pair`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from fairc.cell.model import TransportOptions
from fairc.dsl import model
from fairc.dsl.blocks import Settings
from fairc.dsl.core.entries import Entry, Parameter, Use, bind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Quantity, Symbol
from fairc.words.blocks import flow as keys
from fairc.words.ccas import BPF, CCAS, CCAS_OVER, TCP_CCAS, Setting
from fairc.words.ccas.bpf import NAME, OBJECT, own_cca
from fairc.words.sizes import whole_bytes
from fairc.words.transports import QLOG, image_of
from fairc.words.workloads import WORKLOADS, WorkloadEntry

SWITCHES = (keys.SACK, keys.PACING, keys.FAST_OPEN)
"""Switches of a flow; `hosts` has keys of the same names."""

IMAGE_KEYS = frozenset({"users", "from", "to", "count", "over", "start", "workload", "rtt", "cca"})
"""Keys of a flow that need nothing from its programs; `cca` is refused elsewhere.

A third-party image (by the contract of quic-interop-runner) decides by itself what the others
decide for fairc's own stack: fairc could not know whether it honours them.
"""

Cca = Symbol | Applied


@dataclass(frozen=True)
class Control:
    """A transport with its CCA, written at `span`.

    qlog: whether QUIC writes one.
    own: a CCA of the user's own.
    image: of another QUIC stack.
    """

    transport: model.Transport
    cca: str | None
    parameters: Mapping[str, Setting]
    span: Span
    qlog: bool = False
    own: model.OwnCca | None = None
    image: str | None = None

    @property
    def paces(self) -> bool:
        """Whether it uses a CCA of the kernel that always paces."""
        name = self.cca or ""
        return self.transport in ("tcp", "web") and name in TCP_CCAS and TCP_CCAS[name].paces


def control_of(over: Use[Entry] | None, cca: Cca | None, flow: Span) -> Control:
    """Return the transport and the CCA of a flow, with its parameters.

    over, cca: as written; flow: the flow's name. Raises CompileError.
    """
    image = image_of(over)
    if image is not None:
        if cca is not None:
            _impossible("an image brings its own congestion control", cca.span, "leave `cca` out")
        return Control("quic", None, {}, image.span, image=image.value)
    transport, qlog = _transport(over, cca)
    if transport == "udp":
        if cca is not None:
            _impossible("UDP has no congestion control", cca.span, "leave out `cca` or `over`")
        return Control("udp", None, {}, flow)
    if transport == "tcp":
        return kernel_control("tcp", cca, flow)
    given = _given(cca, "quic", flow)
    return Control("quic", given.name, quic_settings(given, None), given.span, qlog)


def kernel_control(
    transport: model.Transport, cca: Cca | None, flow: Span, needed: str | None = None
) -> Control:
    """Return a transport over the kernel's TCP with its CCA.

    needed: why the CCA must exist over TCP, if the file has no choice. Raises CompileError.
    """
    given = _given(cca, "tcp", flow, needed)
    use = bind(CCAS_OVER["tcp"], given, "`cca`")
    if use.entry is BPF:
        own = own_cca(use[OBJECT], use.given(NAME), given.span)
        return Control(transport, own.name, {}, given.span, own=own)
    return Control(transport, given.name, use.entry.given(use), given.span)


def quic_settings(cca: Cca | None, needed: str | None) -> dict[str, Setting]:
    """Return all parameters of a CCA over QUIC, defaults included. needed: as for `kernel_control`.

    Raises CompileError.
    """
    assert cca is not None
    use = bind(CCAS_OVER["quic"], _given(cca, "quic", cca.span, needed), "`cca`")
    settings = use.entry.complete(use.entry.given(use))
    if settings.get("hystart") is True and settings.get("slow_start") == "hystartpp":
        fail(
            "conflicting-parameters",
            "`hystart` and `slow_start: hystartpp` both end slow start",
            cca.span,
            help="keep one of them; docs/learn/congestion.md says how they differ",
        )
    return settings


def _given(cca: Cca | None, transport: str, flow: Span, needed: str | None = None) -> Cca:
    """Return the CCA, whose name and parameters exist over a transport. Raises CompileError."""
    registry = CCAS_OVER[transport]
    if cca is None:
        fail(
            "missing-key",
            f"a flow over {transport.upper()} needs `cca`",
            flow,
            note="`cca` is missing",
            help=f"known: {', '.join(registry.names())}",
        )
    if cca.name not in registry:
        CCAS.get(cca.name, cca.span)
        elsewhere = ", ".join(
            f"`over = {t}`" for t, those in CCAS_OVER.items() if cca.name in those
        )
        choice = f"choose one of: {', '.join(registry.names())}"
        _impossible(
            f"`{cca.name}` is not available over {transport.upper()}",
            cca.span,
            f"{needed}: {choice}" if needed else f"write {elsewhere}, or {choice}",
        )
    _parameters_exist(cca, transport, needed)
    return cca


def options_of(
    control: Control,
    own: Settings,
    hosts: Settings,
    workload: WorkloadEntry,
    window: Quantity | None,
) -> TransportOptions:
    """Return the options of a flow: its own, else those of `hosts`, else the defaults.

    window: the receive window that the flow's workload sets. Raises CompileError.
    """
    if control.image is not None:
        return TransportOptions()  # `check_image` has refused what is given
    sack, pacing, fast_open = (_switch(key, control, own, hosts) for key in SWITCHES)
    ecn, accurate_ecn = _ecn(control, own, hosts)
    packets = own.given(keys.INITIAL_WINDOW) or hosts.given(keys.INITIAL_WINDOW)
    initial = workload.initial_window_packets if packets is None else packets.whole
    cap = control.parameters.get("max_window_packets", initial)
    assert not isinstance(cap, str)
    if initial > cap:
        fail(
            "out-of-range",
            f"the initial window is larger than the largest one, {cap:g} packets",
            packets.span if packets else control.span,
            f"{initial} packets",
            help="reduce `initial_window`, or increase `max_window`",
        )
    return TransportOptions(
        initial_window_packets=initial,
        receive_window_bytes=bytes_of(window or own.given(keys.WINDOW)),
        ecn=ecn,
        accurate_ecn=accurate_ecn,
        sack=sack,
        pacing=pacing,
        fast_open=fast_open,
    )


def check_workload(
    control: Control, workload: Use[WorkloadEntry], rate: Quantity | None, flow: Span
) -> None:
    """Refuse a workload that its transport cannot carry. Raises CompileError."""
    entry = workload.entry
    if control.transport == "udp":
        if not entry.over_udp:
            over = sorted(other.name for other in WORKLOADS if other.over_udp)
            _impossible(
                f"`{entry.name}` needs a reliable transport, and UDP is unreliable",
                workload.span,
                f"over UDP: {', '.join(over)}",
            )
        if rate is None and not entry.has_rate:
            fail(
                "missing-key",
                "a flow over UDP needs `rate`: nothing else limits it",
                flow,
                note="`rate` is missing",
                help="for example `rate = 1Mbit/s`",
            )
    elif entry.only_over_udp:
        _impossible(
            f"`{entry.name}` cannot run over {control.transport.upper()}",
            workload.span,
            "write `over = udp`, and leave `cca` out",
        )
    if rate is not None and entry.has_rate:
        fail(
            "duplicate-key",
            f"`{entry.name}` sets its own rate",
            rate.span,
            help="leave the flow's `rate` out",
        )


def check_image(workload: Use[WorkloadEntry], settings: Settings) -> None:
    """Refuse options that third-party images do not support. Raises CompileError."""
    gather = Gather()
    with gather.attempt():
        if not workload.entry.by_images:
            fail(
                "impossible-pair",
                f"`{workload.entry.name}` is not supported for third-party images",
                workload.span,
                help="they download files: `workload = file(10MB)`",
            )
    with gather.attempt():
        count = settings[keys.COUNT]
        if count.number != 1:
            fail(
                "impossible-pair",
                "a third-party image opens one connection",
                count.span,
                help="leave `count` out; for more connections, write flows with separate servers",
            )
    for name, setting in settings.block.settings.items():
        with gather.attempt():
            if name not in IMAGE_KEYS:
                fail(
                    "impossible-pair",
                    f"`{name}` is not supported for third-party images",
                    setting.span,
                    help="leave it out: the interface of images has no such option",
                )
    gather.finish()


def _transport(over: Use[Entry] | None, cca: Cca | None) -> tuple[model.Transport, bool]:
    """Return the transport, and whether it writes a qlog."""
    if over is not None:
        return _NAMES[over.entry.name], over[QLOG] if QLOG in over.entry.parameters else False
    if cca is not None and cca.name not in CCAS_OVER["tcp"]:
        return "quic", False
    return "tcp", False


_NAMES: Mapping[str, model.Transport] = {"tcp": "tcp", "quic": "quic", "udp": "udp"}


def _parameters_exist(cca: Cca, transport: str, needed: str | None) -> None:
    """Refuse a parameter that the CCA has only over another transport."""
    here = {p.name for p in CCAS_OVER[transport].get(cca.name, cca.span).parameters}
    for argument in cca.arguments if isinstance(cca, Applied) else ():
        if argument.key is None or argument.key in here:
            continue
        for other, registry in CCAS_OVER.items():
            there = next((entry for entry in registry if entry.name == cca.name), None)
            if there and argument.key in {p.name for p in there.parameters}:
                _impossible(
                    f"`{cca.name}` over {transport.upper()} has no `{argument.key}`",
                    argument.key_span or cca.span,
                    needed
                    or f"`{argument.key}` is a parameter of `{cca.name}` with `over = {other}`",
                )


def _ecn(control: Control, own: Settings, hosts: Settings) -> tuple[bool, bool]:
    """Return whether a flow uses ECN, and whether its receivers count marks (AccECN)."""
    fixed = _FIXED.get((control.transport, keys.ECN.name))
    settings = own if keys.ECN in own or fixed else hosts
    value = settings.given(keys.ECN) or "off"
    if value == "off":
        return False, False
    over, span = control.transport.upper(), settings.values[keys.ECN.name].span
    if fixed:
        _impossible(
            f"`ecn = {value}` is not available over {over}", span, fixed[1] + "; leave it out"
        )
    if value == "accurate" and control.transport == "quic" and settings is own:
        _impossible(
            f"`ecn = accurate` is not available over {over}",
            span,
            "QUIC acknowledgements always count marks: write `ecn = on`",
        )
    return True, value == "accurate" and control.transport in ("tcp", "web")


def _switch(key: Parameter[bool], control: Control, own: Settings, hosts: Settings) -> bool:
    """Return one switch. If the transport leaves no choice, any other value is refused."""
    fixed = _FIXED.get((control.transport, key.name))
    if key is keys.PACING and control.paces:
        fixed = (True, f"`{control.cca}` paces by itself")
    settings = own if key in own or fixed else hosts
    value = settings.given(key)
    if value is None:
        return fixed[0] if fixed else key is keys.SACK
    if fixed and value != fixed[0]:
        over = control.transport.upper()
        _impossible(
            f"`{key.name} = {'on' if value else 'off'}` is not available over {over}",
            settings.values[key.name].span,
            fixed[1] + "; leave it out",
        )
    return value


_FIXED: Mapping[tuple[str, str], tuple[bool, str]] = {
    ("quic", "sack"): (True, "QUIC acknowledgements always carry ranges"),
    ("quic", "pacing"): (True, "this QUIC stack always paces"),
    ("quic", "fast_open"): (False, "TCP Fast Open is for TCP only"),
    ("udp", "ecn"): (False, "nothing reacts to marks there"),
    ("udp", "sack"): (False, "there are no acknowledgements"),
    ("udp", "pacing"): (False, "packets are sent at the rate of the workload"),
    ("udp", "fast_open"): (False, "TCP Fast Open is for TCP only"),
}
"""(transport, switch) -> the value it always has, and why. Defaults of `hosts` do not touch it."""


def bytes_of(size: Quantity | None) -> int | None:
    """Return a size in bytes, if there is one. Raises CompileError."""
    return None if size is None else whole_bytes(size)


def _impossible(message: str, span: Span, help: str) -> NoReturn:
    fail("impossible-pair", message, span, help=help)
