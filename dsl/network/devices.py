"""Devices of a topology (proxies, tunnels, ...): their settings, and the nodes that they name."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from fairc.dsl import model
from fairc.dsl.blocks import Block, Settings
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.entries import Parameter
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.registry import Registry, listed, refuse_unknown, suggest
from fairc.dsl.core.source import Span
from fairc.dsl.expressions.evaluate import Scope
from fairc.dsl.expressions.instances import label, scopes
from fairc.dsl.model.names import base
from fairc.dsl.text import syntax

Layer = tuple[syntax.Body, Scope]
"""A topology's body, or what a `with` changes, and where its names are looked up."""


@dataclass(frozen=True)
class Device:
    """A device by its name, with what a topology says of it and each `with` in turn.

    span: of its name where it is declared. statement: its declaration.
    """

    name: str
    settings: Settings
    span: Span
    statement: Span


def devices(
    layers: Sequence[Layer], kind: str, keys: Registry[Parameter[Any]], what: str
) -> list[Device]:
    """Return the devices of one kind; two of one name in a topology are two.

    what: one of them, as in `a pep`. Raises CompileError with everything wrong in their keys and
    values.
    """
    gather = Gather()
    found: list[Device] = []
    for body, scope in layers:
        below = {device.name: number for number, device in enumerate(found)}
        changed: dict[str, Span] = {}
        for element in _elements(body, kind):
            with gather.attempt():
                for inner in scopes(element, scope):
                    name, span = label(element.name, inner), element.name.span
                    block = Block(span, element.settings.items, keys, what)
                    settings = block.read(inner, gather)
                    if name in changed:
                        _refuse_second(name, kind, span, changed[name])
                    if name in below:
                        changed[name] = span
                        old = found[below[name]]
                        found[below[name]] = replace(old, settings=old.settings.amended(settings))
                    else:
                        found.append(Device(name, settings, span, element.span))
                        _check_keys(found[-1], kind, below, gather)
    for device in found:
        gather.found.extend(device.settings.block.problems)
    gather.finish()
    return found


def _elements(body: syntax.Body, kind: str) -> Iterable[syntax.Device]:
    return (e for e in body.elements if isinstance(e, syntax.Device) and e.kind == kind)


def _check_keys(device: Device, kind: str, below: Iterable[str], gather: Gather) -> None:
    """Collect keys that a new device lacks; below: those that a `with` could have meant."""
    block = device.settings.block
    for key in block.keys:
        if key.required and key.name not in block.settings:
            near = suggest(device.name, below)
            with gather.attempt():
                fail(
                    "missing-key",
                    f"{block.what} needs `{key.name}`",
                    device.span,
                    note=f"did you mean `{near}`?" if near else f"`{key.name}` is missing",
                    help=f"this `with` declares a new one: the topology has"
                    f" {', '.join(f'`{kind} {name}`' for name in below)}"
                    if below
                    else f"give {key.kind.phrase}: {key.summary}",
                )


def _refuse_second(name: str, kind: str, at: Span, first: Span) -> None:
    fail(
        "duplicate-name",
        f"two `{kind}`s are called `{name}`",
        at,
        labels=() if first == at else (Label(first, "the other one"),),
    )


def require_node(name: str, span: Span, nodes: Mapping[str, model.Node]) -> None:
    """Raise CompileError unless the topology has a node of this name."""
    if name not in nodes:
        refuse_node(name, nodes, span)


def refuse_node(name: str, nodes: Collection[str], span: Span) -> NoReturn:
    """Raise CompileError for a name that no node has; nodes with an index are told."""
    several = [node for node in nodes if base(node) == base(name) != node]
    if several:
        index = name.removeprefix(base(name))
        fail(
            "unknown-node",
            f"`{base(name)}` has no index `{index[1:-1]}`"
            if index
            else f"`{name}` is several nodes: this must be one of them",
            span,
            help=f"there are {listed(several)}",
        )
    refuse_unknown("node", "node", name, nodes, span)


def require_router(name: str, span: Span, nodes: Mapping[str, model.Node], what: str) -> None:
    """Raise CompileError unless a node is a router; what: subject and verb, such as
    `proxies run`.
    """
    require_node(name, span, nodes)
    if nodes[name].kind != "router":
        fail(
            "wrong-type",
            f"`{name}` is not a router, and {what} on routers only",
            span,
            labels=(Label(nodes[name].span, "a node: flows start and end here"),),
            help="put a router between it and the link",
        )
