"""`pep NAME { ... }` in a topology: a pair of proxies that split TCP connections (RFC 3135)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairc.dsl import model
from fairc.dsl.blocks import Block
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Use
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Symbol
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.expressions.instances import label
from fairc.dsl.text import syntax
from fairc.dsl.traffic.transports import kernel_control
from fairc.words.blocks import pep as keys
from fairc.words.peps import CCA, CONNECTIONS, NONE, WINDOW

from .devices import require_router


def peps(
    devices: Sequence[tuple[syntax.Device, Scope]],
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
) -> tuple[model.Pep, ...]:
    """Return the pairs of proxies of a topology; `mode = none` makes none.

    Raises CompileError with everything wrong: keys and values, nodes that are not routers or that
    no link connects, names and nodes that are used twice.
    """
    gather = Gather()
    found: list[model.Pep] = []
    for device, scope in devices:
        with gather.attempt():
            pep = _pep(device, nodes, links, scope)
            if pep is not None:
                _unlike(pep, found)
                found.append(pep)
    gather.finish()
    return tuple(found)


def _pep(
    device: syntax.Device,
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
    scope: Scope,
) -> model.Pep | None:
    block = Block(device.name.span, device.settings.items, keys.PEP, "a `pep`")
    gather = Gather()
    with gather.attempt():
        block.checked()
    settings = block.read(scope, gather)
    for key in (keys.TERMINAL, keys.GATEWAY):
        with gather.attempt():
            name = settings.given(key)
            if name is not None:
                require_router(name.name, block.settings[key.name].value.span, nodes, "proxies run")
    gather.finish()
    terminal, gateway = settings[keys.TERMINAL].name, settings[keys.GATEWAY].name
    if not any({link.a, link.b} == {terminal, gateway} for link in links):
        fail(
            "no-pep-link",
            f"no link connects `{terminal}` and `{gateway}`",
            block.settings["gateway"].value.span,
            help="a `pep` splits connections at both ends of one link",
        )
    mode = settings[keys.MODE]
    if keys.MODE not in settings:
        mode = replace(mode, span=device.span)
    if mode.entry is NONE:
        return None
    return replace(_split(mode, device, terminal, gateway), name=label(device.name, scope))


def _split(use: Use[Entry], device: syntax.Device, terminal: str, gateway: str) -> model.Pep:
    cca = use.given(CCA) or Symbol(CCA.default, device.span)
    control = kernel_control("tcp", cca, use.span, "proxies split TCP connections")
    if control.own is not None:
        fail(
            "impossible-pair",
            "proxies use the kernel's CCAs",
            control.span,
            help="custom CCAs are for flows: `cca = bpf(...)`",
        )
    assert control.cca is not None
    return model.Pep(
        name=device.name.text,
        terminal=terminal,
        gateway=gateway,
        cca=control.cca,
        cca_parameters=control.parameters,
        connections=use[CONNECTIONS].whole,
        window=use.given(WINDOW) or replace(WINDOW.fallback, span=use.span),
        span=device.name.span,
    )


def _unlike(pep: model.Pep, others: Sequence[model.Pep]) -> None:
    """Refuse a name or a node that another pair already has."""
    for other in others:
        labels = (Label(other.span, "the other one"),)
        if pep.name == other.name:
            fail("duplicate-name", f"two `pep`s are called `{pep.name}`", pep.span, labels=labels)
        shared = {pep.terminal, pep.gateway} & {other.terminal, other.gateway}
        for node in sorted(shared):
            fail(
                "duplicate-pep",
                f"`{node}` is an end of two `pep`s",
                pep.span,
                labels=labels,
                help="put a router between them",
            )
