"""Pairs of proxies of a topology, which split TCP connections (RFC 3135)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Use
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Symbol
from fairc.dsl.traffic.transports import kernel_stack
from fairc.mechanisms.devices.device import ProxiesEntry
from fairc.mechanisms.devices.registry import PROXIES

from .devices import Device, Layer, devices, require_router


def proxies(
    layers: Sequence[Layer],
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
) -> tuple[model.Proxies, ...]:
    """Return the pairs of proxies of a topology, with the changes of each `with`; `mode = none`
    makes none.

    Raises CompileError with everything wrong: keys and values, nodes that are not routers or that
    no link connects, names and nodes that are used twice.
    """
    gather = Gather()
    pairs: list[model.Proxies] = []
    for entry in PROXIES:
        for device in devices(layers, entry.noun, entry.block, f"a `{entry.noun}`"):
            with gather.attempt():
                pair = _pair(entry, device, nodes, links)
                if pair is not None:
                    _refuse_second(entry, pair, pairs)
                    pairs.append(pair)
    gather.finish()
    return tuple(pairs)


def _pair(
    entry: ProxiesEntry,
    device: Device,
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
) -> model.Proxies | None:
    settings, gather = device.settings, Gather()
    block = settings.block
    for key in (entry.terminal, entry.gateway):
        with gather.attempt():
            name = settings.given(key)
            if name is not None:
                require_router(name.name, block.settings[key.name].value.span, nodes, "proxies run")
    gather.finish()
    terminal, gateway = settings[entry.terminal].name, settings[entry.gateway].name
    if not any({link.a, link.b} == {terminal, gateway} for link in links):
        fail(
            entry.no_link.code,
            f"no link connects `{terminal}` and `{gateway}`",
            block.settings[entry.gateway.name].value.span,
            help=entry.no_link.help,
        )
    mode = settings[entry.mode]
    if entry.mode not in settings:
        mode = replace(mode, span=device.statement)
    return None if mode.entry is entry.none else _split(entry, mode, device, terminal, gateway)


def _split(
    entry: ProxiesEntry, use: Use[Entry], device: Device, terminal: str, gateway: str
) -> model.Proxies:
    cca = use.given(entry.cca) or Symbol(entry.cca.default, device.statement)
    stack = kernel_stack("tcp", cca, use.span, "proxies split TCP connections")
    if stack.cca_object or stack.cca_module:
        fail(
            "impossible-pair",
            "proxies use the kernel's CCAs",
            cca.span,
            help="custom CCAs are for flows: `cca = bpf(...)`",
        )
    assert stack.cca is not None
    pair = model.Proxies(
        kind=entry.noun,
        name=device.name,
        terminal=terminal,
        gateway=gateway,
        cca=stack.cca,
        cca_parameters=stack.cca_parameters,
        span=device.span,
    )
    return entry.read(use, pair)


def _refuse_second(
    entry: ProxiesEntry, pair: model.Proxies, others: Sequence[model.Proxies]
) -> None:
    """Refuse a name or a node that another pair already has."""
    for other in others:
        labels = () if other.span == pair.span else (Label(other.span, "the other one"),)
        if pair.name == other.name:
            message = f"two `{entry.noun}`s are called `{pair.name}`"
            fail("duplicate-name", message, pair.span, labels=labels)
        for node in sorted({*pair.ends} & {*other.ends}):
            fail(
                entry.twice.code,
                f"`{node}` is an end of two `{entry.noun}`s",
                pair.span,
                labels=labels,
                help=entry.twice.help,
            )
