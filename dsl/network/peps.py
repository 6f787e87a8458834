"""`pep NAME { ... }` in a topology: a pair of proxies that split TCP connections (RFC 3135)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Entry, Use
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.values import Symbol
from fairc.dsl.traffic.transports import kernel_control
from fairc.words.blocks import pep as keys
from fairc.words.peps import CCA, CONNECTIONS, NONE, WINDOW

from .devices import Device, Layer, devices, require_router


def peps(
    layers: Sequence[Layer],
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
) -> tuple[model.Pep, ...]:
    """Return the pairs of proxies of a topology, with the changes of each `with`; `mode = none`
    makes none.

    Raises CompileError with everything wrong: keys and values, nodes that are not routers or that
    no link connects, names and nodes that are used twice.
    """
    gather = Gather()
    found: list[model.Pep] = []
    for device in devices(layers, "pep", keys.PEP, "a `pep`"):
        with gather.attempt():
            pep = _pep(device, nodes, links)
            if pep is not None:
                _unlike(pep, found)
                found.append(pep)
    gather.finish()
    return tuple(found)


def _pep(
    device: Device,
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
) -> model.Pep | None:
    settings, gather = device.settings, Gather()
    block = settings.block
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
        mode = replace(mode, span=device.statement)
    return None if mode.entry is NONE else _split(mode, device, terminal, gateway)


def _split(use: Use[Entry], device: Device, terminal: str, gateway: str) -> model.Pep:
    cca = use.given(CCA) or Symbol(CCA.default, device.statement)
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
        name=device.name,
        terminal=terminal,
        gateway=gateway,
        cca=control.cca,
        cca_parameters=control.parameters,
        connections=use[CONNECTIONS].whole,
        window=use.given(WINDOW) or replace(WINDOW.fallback, span=use.span),
        span=device.span,
    )


def _unlike(pep: model.Pep, others: Sequence[model.Pep]) -> None:
    """Refuse a name or a node that another pair already has."""
    for other in others:
        labels = () if other.span == pep.span else (Label(other.span, "the other one"),)
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
