"""Transports of flows, with their CCAs, all parameters of these, and options.

A pair that can never exist, whatever is implemented, is an error `impossible-pair`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NoReturn

from fairc.cell.model import TransportOptions
from fairc.dsl import model
from fairc.dsl.blocks import Settings
from fairc.dsl.core.diagnostics import Diagnostic, warning
from fairc.dsl.core.entries import Entry, Parameter, Use, bind
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry
from fairc.dsl.core.source import Span
from fairc.dsl.core.values import Applied, Quantity, Size, Symbol, Text
from fairc.mechanisms.workloads.registry import WORKLOADS
from fairc.mechanisms.workloads.workload import WorkloadEntry
from fairc.words.blocks import flow as keys
from fairc.words.blocks import hosts as host_keys
from fairc.words.blocks.hosts import SEND_BUFFER
from fairc.words.ccas import BPF, CCAS, CCAS_OVER, MODULE, TCP_CCAS, Setting
from fairc.words.ccas import Cca as CcaWords
from fairc.words.ccas.bpf import NAME, OBJECT, own_object
from fairc.words.ccas.custom_kernels import KernelWords, with_cca
from fairc.words.ccas.module import own_module
from fairc.words.ccas.resume import RESUME, window_of
from fairc.words.sizes import whole_bytes
from fairc.words.transports import BACKUP, IDLE_TIMEOUT, PATHS, QLOG, image_of, is_tar

MS = 10**6  # ns
SWITCHES = (keys.SACK, keys.PACING, keys.FAST_OPEN)
"""Switches of a flow; `hosts` has keys of the same names."""

IMAGE_KEYS = frozenset(
    {"users", "from", "to", "count", "over", "start", "workload", "rtt", "cca", "dscp"}
)
"""Keys of a flow that need nothing from its programs; `cca` is refused elsewhere.

A third-party image (by the contract of quic-interop-runner) decides by itself what the others
decide for fairc's own stack: fairc could not know whether it honours them.
"""

Cca = Symbol | Applied


def _paces(stack: model.Stack) -> bool:
    """Whether a transport uses a CCA of the kernel that always paces."""
    name = stack.cca or ""
    return stack.transport in ("tcp", "web") and name in TCP_CCAS and TCP_CCAS[name].paces


def stack_of(
    over: Use[Entry] | None, cca: Cca | None, flow: Span, kernel: KernelWords | None
) -> model.Stack:
    """Return the transport and the CCA of a flow, with its parameters.

    over, cca: as written; flow: the flow's name; kernel: of the hosts, None: the standard one.
    Raises CompileError.
    """
    image = image_of(over)
    if image is not None:
        told = _of_image(image, cca)
        name = None if told is None else told.name
        return model.Stack(transport="quic", cca=name, image=image.value)
    transport = _transport(over, cca, kernel)
    if transport == "udp":
        if cca is not None:
            _impossible("UDP has no congestion control", cca.span, "leave out `cca` or `over`")
        return model.Stack(transport="udp")
    if transport == "tcp":
        stack = kernel_stack("tcp", cca, flow, kernel=kernel)
        return replace(stack, multipath=_multipath(over))
    given = _given(cca, "quic", flow)
    settings, resumed = _over_quic(given, None)
    return model.Stack(
        transport="quic",
        cca=given.name,
        cca_parameters=settings,
        qlog=over is not None and over[QLOG],
        idle_timeout_ns=None if over is None else _whole_ms(over.given(IDLE_TIMEOUT)),
        resumed=resumed,
    )


def _of_image(image: Text, cca: Cca | None) -> Symbol | None:
    """Return the CCA that an image is told. Raises CompileError."""
    if cca is not None and not is_tar(image):
        help = "leave `cca` out; an image in a tar may offer some (docs/learn/interop.md)"
        _impossible("an image brings its own congestion control", cca.span, help)
    if isinstance(cca, Applied):
        _impossible("an image takes the name of a CCA alone", cca.span, f"write `{cca.name}`")
    return cca


def moved_by_image(
    over: Use[Entry] | None, file: model.Workload, cca: Cca | None
) -> model.Workload:
    """Return what moves a file: an image in a tar is one of the user's own programs. Raises
    CompileError.
    """
    image = image_of(over)
    if image is None or not is_tar(image):
        return file
    (entry,) = (each for each in WORKLOADS if each.in_tar is not None)
    assert entry.in_tar is not None
    return entry.in_tar(file, image, _of_image(image, cca))


def _whole_ms(time: Quantity | None) -> int | None:
    """Return an idle timeout, ns, as QUIC counts it: in whole milliseconds."""
    return None if time is None else MS * round(time.number * 1000)


def kernel_stack(
    transport: model.Transport,
    cca: Cca | None,
    flow: Span,
    needed: str | None = None,
    kernel: KernelWords | None = None,
) -> model.Stack:
    """Return a transport over the kernel's TCP with its CCA.

    needed: why the CCA must exist over TCP, if the file has no choice. kernel: of the hosts, None:
    the standard one. Raises CompileError.
    """
    given = _given(cca, "tcp", flow, needed, kernel)
    use = bind(_registry("tcp", kernel), given, "`cca`")
    if use.entry is BPF:
        name, content = own_object(use[OBJECT], use.given(NAME))
        return model.Stack(transport=transport, cca=name, cca_object=content)
    if use.entry is MODULE:
        name, module = own_module(use)
        return model.Stack(transport=transport, cca=name, cca_module=module)
    return model.Stack(
        transport=transport,
        cca=given.name,
        cca_parameters=use.entry.given(use),
        options=TransportOptions(
            cca_needs_ecn=use.entry.needs_ecn,
            cca_outgrows_receivers=use.entry.outgrows_receivers,
        ),
    )


def quic_settings(cca: Cca | None, needed: str | None) -> dict[str, Setting]:
    """Return all parameters of a CCA over QUIC, defaults included. needed: as for `kernel_stack`.

    Raises CompileError.
    """
    assert cca is not None
    return _over_quic(cca, needed)[0]


def _over_quic(cca: Cca, needed: str | None) -> tuple[dict[str, Setting], Size | None]:
    """Return the parameters of a CCA over QUIC, and the window with which it resumes."""
    use = bind(CCAS_OVER["quic"], _given(cca, "quic", cca.span, needed), "`cca`")
    settings = use.entry.complete(use.entry.given(use))
    if settings.get("hystart") is True and settings.get("slow_start") == "hystartpp":
        fail(
            "conflicting-parameters",
            "`hystart` and `slow_start: hystartpp` both end slow start",
            cca.span,
            help="keep one of them; docs/learn/congestion.md says how they differ",
        )
    return settings, window_of(use.given(RESUME) if RESUME in use.entry.parameters else None)


def _registry(transport: str, kernel: KernelWords | None) -> Registry[CcaWords]:
    """Return the CCAs over a transport, with a custom kernel or the standard one."""
    return kernel.ccas if kernel and transport == "tcp" else CCAS_OVER[transport]


def _given(
    cca: Cca | None,
    transport: str,
    flow: Span,
    needed: str | None = None,
    kernel: KernelWords | None = None,
) -> Cca:
    """Return the CCA, whose name and parameters exist over a transport. Raises CompileError."""
    registry = _registry(transport, kernel)
    if cca is None:
        fail(
            "missing-key",
            f"a flow over {transport.upper()} needs `cca`",
            flow,
            note="`cca` is missing",
            help=f"known: {', '.join(registry.names())}",
        )
    if cca.name not in registry:
        if transport == "tcp":
            _refuse_elsewhere(cca, kernel)
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
    if cca.name in CCAS_OVER[transport]:
        _parameters_exist(cca, transport, needed)
    return cca


def _refuse_elsewhere(cca: Cca, kernel: KernelWords | None) -> None:
    """Refuse a CCA that the kernel of the hosts lacks and another one has."""
    span = cca.name_span
    here = f"the kernel `{kernel.name}`" if kernel else "the standard kernel"
    those = with_cca(cca.name)
    if those:
        fail(
            "unknown-cca",
            f"{here} has no CCA `{cca.name}`: kernel `{those[0]}` has it",
            span,
            help=f"hosts {{ kernel = {those[0]} }}, for the cells with this CCA",
        )
    if kernel and cca.name in CCAS_OVER["tcp"]:
        fail(
            "unknown-cca",
            f"{here} has no CCA `{cca.name}`",
            span,
            notes=(f"it has: {', '.join(kernel.ccas.names())}",),
            help=f"build it with CONFIG_TCP_CONG_{cca.name.upper()}=y in its --config",
        )


def with_options(
    stack: model.Stack,
    own: Settings,
    hosts: Settings,
    workload: WorkloadEntry,
    window: Quantity | None,
) -> model.Stack:
    """Return a transport with the options of a flow: its own, else those of `hosts`, else the
    defaults.

    window: the receive window that the flow's workload sets. Raises CompileError.
    """
    if stack.image is not None:
        return stack  # `check_image` has refused what is given
    sack, pacing, fast_open = (_switch(key, stack, own, hosts) for key in SWITCHES)
    ecn, accurate_ecn = _ecn(stack, own, hosts)
    restart = _given_switch(keys.IDLE_RESTART, stack, own, hosts)
    least, unsent = (_of_tcp(key, stack, own, hosts) for key in (keys.MIN_RTO, keys.NOTSENT_LOWAT))
    packets = own.given(keys.INITIAL_WINDOW) or hosts.given(keys.INITIAL_WINDOW)
    initial = workload.initial_window_packets if packets is None else packets.whole
    cap = stack.cca_parameters.get("max_window_packets", initial)
    assert not isinstance(cap, str)
    if initial > cap:
        fail(
            "out-of-range",
            f"the initial window is larger than the largest one, {cap:g} packets",
            (packets or own[keys.CCA]).span,
            f"{initial} packets",
            help="reduce `initial_window`, or increase `max_window`",
        )
    options = replace(
        stack.options,
        initial_window_packets=initial,
        receive_window_bytes=bytes_of(window or own.given(keys.WINDOW)),
        ecn=ecn,
        accurate_ecn=accurate_ecn,
        sack=sack,
        pacing=pacing,
        fast_open=fast_open,
        idle_restart=restart,
        min_rto_ms=None if least is None else _least_timeout(least),
        notsent_lowat_bytes=bytes_of(unsent),
        discovers_mtu=_discovers(stack, hosts),
    )
    return replace(stack, options=options)


def _discovers(stack: model.Stack, hosts: Settings) -> bool:
    """Return whether a flow discovers the MTU of its path. Raises CompileError where it cannot."""
    found = hosts[host_keys.PMTU] == "discover"
    if found and stack.transport == "web":
        fail(
            "impossible-pair",
            "page loads know the MTU of their path",
            hosts.values[host_keys.PMTU.name].span,
            help="leave `pmtu` out, or load files",
        )
    return found and stack.transport != "udp"


def pacing_stays(stack: model.Stack, own: Settings) -> Diagnostic | None:
    """Return the warning that a CCA paces although its flow says `pacing = off`, which many files
    sweep over together with CCAs that do not.
    """
    if not _paces(stack) or own.given(keys.PACING) is not False:
        return None
    return warning(
        "pacing-stays",
        f"`{stack.cca}` always paces, even with `pacing = off`",
        own.values[keys.PACING.name].span,
        help=f"leave it out of flows with `{stack.cca}`",
    )


def check_workload(
    stack: model.Stack, workload: Use[WorkloadEntry], rate: Quantity | None, flow: Span
) -> None:
    """Refuse a workload that its transport cannot carry. Raises CompileError."""
    entry = workload.entry
    if stack.transport == "udp":
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
            f"`{entry.name}` cannot run over {stack.transport.upper()}",
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


def _transport(
    over: Use[Entry] | None, cca: Cca | None, kernel: KernelWords | None
) -> model.Transport:
    """Return the transport."""
    if over is not None:
        return _NAMES[over.entry.name]
    if cca is not None and cca.name in CCAS_OVER["quic"]:
        over_tcp = cca.name in CCAS_OVER["tcp"] or cca.name in _registry("tcp", kernel)
        return "tcp" if over_tcp else "quic"
    return "tcp"


_NAMES: Mapping[str, model.Transport] = {
    "tcp": "tcp",
    "mptcp": "tcp",
    "quic": "quic",
    "udp": "udp",
}


def _multipath(over: Use[Entry] | None) -> model.Multipath | None:
    """Return how a flow uses several paths; None: it does not."""
    if over is None or BACKUP not in over.entry.parameters:
        return None
    backup = over.given(BACKUP)
    span = over.span if backup is None else backup.span
    return model.Multipath(
        over[PATHS] == "on_failure", None if backup is None else backup.name, span
    )


NOT_OVER_MPTCP = (
    keys.RATE,
    keys.INITIAL_WINDOW,
    keys.WINDOW,
    keys.PACING,
    keys.FAST_OPEN,
    keys.USERS,
    keys.RTT,
    keys.MIN_RTO,
    keys.NOTSENT_LOWAT,
)
"""Keys of a flow that the kernel does not have for MPTCP, or that are of one path."""


def check_multipath(workload: WorkloadEntry, settings: Settings, hosts: Settings) -> None:
    """Refuse what a flow over MPTCP cannot have. Raises CompileError."""
    gather = Gather()
    for key in NOT_OVER_MPTCP:
        with gather.attempt():
            if key in settings:
                _impossible(
                    f"`{key.name}` is not available over MPTCP",
                    settings.place(key.name),
                    "leave it out: subflows have what TCP has by default",
                )
    with gather.attempt():
        if (buffer := hosts.given(SEND_BUFFER)) is not None:
            _impossible(
                f"`{SEND_BUFFER.name}` is not available over MPTCP",
                buffer.span,
                "leave it out: every subflow would have a buffer of this size, and fill it",
            )
    for key in (host_keys.MIN_RTO, host_keys.NOTSENT_LOWAT):
        with gather.attempt():
            if (default := hosts.given(key)) is not None:
                _impossible(
                    f"`{key.name}` is not available over MPTCP",
                    default.span,
                    "leave it out of `hosts`, and give it to the flows over TCP",
                )
    with gather.attempt():
        if not workload.over_mptcp:
            known = ", ".join(sorted(other.name for other in WORKLOADS if other.over_mptcp))
            use = settings.values[keys.WORKLOAD.name]
            _impossible(
                f"`{workload.name}` cannot run over MPTCP", use.span, f"over MPTCP: {known}"
            )
    gather.finish()


def _parameters_exist(cca: Cca, transport: str, needed: str | None) -> None:
    """Refuse a parameter that the CCA has only over another transport."""
    here = {p.name for p in CCAS_OVER[transport].get(cca.name, cca.span).parameters}
    for argument in cca.arguments:
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


def _ecn(stack: model.Stack, own: Settings, hosts: Settings) -> tuple[bool, bool]:
    """Return whether a flow uses ECN, and whether its receivers count marks (AccECN)."""
    fixed = _FIXED.get((stack.transport, keys.ECN.name))
    settings = own if keys.ECN in own or fixed else hosts
    value = settings.given(keys.ECN) or "off"
    if stack.options.cca_needs_ecn and own.given(keys.ECN) == "off":
        _impossible(
            f"`{stack.cca}` always asks for ECN, even with `ecn = off`",
            own.values[keys.ECN.name].span,
            f"leave `ecn` out: without ECN, Linux replaces `{stack.cca}` by Reno; for that,"
            " write `cca = reno`",
        )
    if value == "off":
        return stack.options.cca_needs_ecn, False
    over, span = stack.transport.upper(), settings.values[keys.ECN.name].span
    if fixed:
        _impossible(
            f"`ecn = {value}` is not available over {over}", span, fixed[1] + "; leave it out"
        )
    # Acknowledgements of QUIC always count marks: there both words mean the same.
    return True, value == "accurate" and stack.transport in ("tcp", "web")


def _of_tcp(
    key: Parameter[Quantity], stack: model.Stack, own: Settings, hosts: Settings
) -> Quantity | None:
    """Return an option of the kernel's TCP, if it is given; `hosts` has it for flows over TCP.

    Raises CompileError where a flow over another transport has it.
    """
    if stack.transport in ("tcp", "web"):
        return own.given(key) or hosts.given(key)
    if (given := own.given(key)) is not None:
        over, why = stack.transport.upper(), _ONLY_TCP[stack.transport, key.name]
        _impossible(
            f"`{key.name}` is not available over {over}", given.span, f"{why}; leave it out"
        )
    return None


def _least_timeout(time: Quantity) -> int:
    """Return a time in ms. Raises CompileError unless it is a whole number of them."""
    if time.ns % MS:
        fail(
            "out-of-range",
            "the kernel's routes have whole milliseconds",
            time.span,
            f"this is {time.canonical}",
            help=f"for example `{time.ns // MS + 1}ms`",
        )
    return time.ns // MS


def _switch(key: Parameter[bool], stack: model.Stack, own: Settings, hosts: Settings) -> bool:
    """Return one switch. If the transport leaves no choice, any other value is refused."""
    if key is keys.PACING and _paces(stack):
        return True  # `pacing_stays` has warned of `off`
    value = _given_switch(key, stack, own, hosts)
    if value is None:
        fixed = _FIXED.get((stack.transport, key.name))
        return fixed[0] if fixed else key is keys.SACK
    return value


def _given_switch(
    key: Parameter[bool], stack: model.Stack, own: Settings, hosts: Settings
) -> bool | None:
    """Return one switch if it is given. If the transport leaves no choice, any other value is
    refused.
    """
    fixed = _FIXED.get((stack.transport, key.name))
    settings = own if key in own or fixed else hosts
    value = settings.given(key)
    if fixed and value is not None and value != fixed[0]:
        over = stack.transport.upper()
        _impossible(
            f"`{key.name} = {'on' if value else 'off'}` is not available over {over}",
            settings.values[key.name].span,
            fixed[1] + "; leave it out",
        )
    return value


_ONLY_TCP: Mapping[tuple[str, str], str] = {
    ("quic", "min_rto"): "probe timeouts of QUIC have no least value (RFC 9002, section 6.2.1)",
    ("quic", "notsent_lowat"): "a QUIC stack holds what it has not sent, not a socket",
    ("udp", "min_rto"): "nothing is sent again",
    ("udp", "notsent_lowat"): "each packet is sent at once",
}
"""(transport, option of TCP) -> why it does not have it."""

_FIXED: Mapping[tuple[str, str], tuple[bool, str]] = {
    ("quic", "sack"): (True, "QUIC acknowledgements always carry ranges"),
    ("quic", "pacing"): (True, "this QUIC stack always paces"),
    ("quic", "fast_open"): (False, "TCP Fast Open is for TCP only"),
    ("udp", "ecn"): (False, "nothing reacts to marks there"),
    ("udp", "sack"): (False, "there are no acknowledgements"),
    ("udp", "pacing"): (False, "packets are sent at the rate of the workload"),
    ("udp", "fast_open"): (False, "TCP Fast Open is for TCP only"),
    ("udp", "idle_restart"): (False, "there is no congestion window"),
}
"""(transport, switch) -> the value it always has, and why. Defaults of `hosts` do not touch it."""


def bytes_of(size: Quantity | None) -> int | None:
    """Return a size in bytes, if there is one. Raises CompileError."""
    return None if size is None else whole_bytes(size)


def _impossible(message: str, span: Span, help: str) -> NoReturn:
    fail("impossible-pair", message, span, help=help)
