"""Policers: `policer = conex(...)` of a link, and `policer NAME { ... }` in a topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.model.names import on_machine
from fairc.words.blocks import policer as keys
from fairc.words.policers import policer_of

from .devices import Device, Layer, devices, require_node, require_router


def place_policers(
    layers: Sequence[Layer],
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
    peps: Sequence[model.Pep],
) -> tuple[model.Link, ...]:
    """Return the links with a topology's policers placed on their directions, each with a name.

    Raises CompileError with everything wrong: keys and values, nodes that no link connects, two
    policers on one direction, a name that is given twice, a policer between proxies.
    """
    gather = Gather()
    ways = {
        (a, b): way
        for link in links
        for a, b, way in ((link.a, link.b, link.forward), (link.b, link.a, link.backward))
    }
    for place, way in ways.items():
        if way.policer is not None:
            named = replace(way.policer, name=way.policer.name or "-".join(map(on_machine, place)))
            ways[place] = replace(way, policer=named)
            with gather.attempt():
                require_router(place[0], way.policer.span, nodes, "policers run")
    names: dict[str, Span] = {}
    for device in devices(layers, "policer", keys.POLICER, "a `policer`"):
        with gather.attempt():
            _unlike(device.name, device.span, names)
            _place(device, nodes, ways)
    for pep in peps:
        for place in ((pep.gateway, pep.terminal), (pep.terminal, pep.gateway)):
            policer = ways[place].policer
            if policer is not None:
                with gather.attempt():
                    fail(
                        "policed-pep",
                        f"a policer is between the proxies of `{pep.name}`",
                        policer.span,
                        labels=(
                            Label(pep.span, "the proxies split the connections that it would read"),
                        ),
                        help="police another link",
                    )
    gather.finish()
    return tuple(
        replace(link, forward=ways[link.a, link.b], backward=ways[link.b, link.a]) for link in links
    )


def _place(
    device: Device,
    nodes: Mapping[str, model.Node],
    ways: dict[tuple[str, str], model.Direction],
) -> None:
    settings, gather = device.settings, Gather()
    block = settings.block
    ends: list[str] = []
    for key in (keys.AT, keys.TO):
        with gather.attempt():
            end = settings.given(key)
            if end is not None:
                span = block.settings[key.name].value.span
                if key is keys.AT:
                    require_router(end.name, span, nodes, "policers run")
                else:
                    require_node(end.name, span, nodes)
                ends.append(end.name)
    gather.finish()
    policer = policer_of(settings[keys.MODE], device.name)
    place = ends[0], ends[1]
    if place not in ways:
        fail(
            "no-policer-link",
            f"no link goes from `{ends[0]}` to `{ends[1]}`",
            block.settings["to"].value.span,
            help="a policer reads what a router sends to one of its neighbours",
        )
    if policer is None:
        return
    other = ways[place].policer
    if other is not None:
        fail(
            "duplicate-policer",
            f"traffic from `{ends[0]}` to `{ends[1]}` is policed twice",
            device.span,
            labels=(Label(other.span, "the other policer"),),
            help="keep one of them",
        )
    ways[place] = replace(ways[place], policer=policer)


def _unlike(name: str, at: Span, names: dict[str, Span]) -> None:
    if name in names:
        fail(
            "duplicate-name",
            f"two policers are called `{name}`",
            at,
            labels=() if names[name] == at else (Label(names[name], "the other one"),),
        )
    names[name] = at


def with_feedback(network: model.Network, flows: Sequence[model.Flow]) -> list[model.Flow]:
    """Return the flows; if a policer reads marks, those that it may police use ECN.

    So a file need not say `ecn = on` for them. Raises CompileError for one with `ecn = off`.
    """
    reading = [
        way.policer
        for link in network.links
        for way in (link.forward, link.backward)
        if isinstance(way.policer, model.Policer) and way.policer.feedback != "none"
    ]
    if not reading:
        return list(flows)
    gather = Gather()
    policed = []
    users = any(flow.users for flow in flows)
    for flow in flows:
        if not may_be_policed(flow, users):
            policed.append(flow)
            continue
        with gather.attempt():
            if flow.ecn_given is not None and not flow.options.ecn:
                fail(
                    "policed-without-ecn",
                    f"`{flow.name}` has no ECN, but the policer's `feedback` needs its marks",
                    flow.ecn_given,
                    labels=(Label(reading[0].span, f"`{reading[0].feedback}` feedback"),),
                    help="leave out `ecn` or `feedback`: losses are exposed either way",
                )
            policed.append(replace(flow, options=replace(flow.options, ecn=True)))
    gather.finish()
    return policed


def may_be_policed(flow: model.Flow, users: bool) -> bool:
    """Return whether a policer reads a flow that crosses it; users: whether any flow runs on users.

    Only TCP is policed and, if there are users, only theirs: other flows are cross traffic.
    """
    return flow.transport in ("tcp", "web") and (bool(flow.users) or not users)
