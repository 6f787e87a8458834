"""`tunnel NAME { ... }` in a topology: packets in packets, between two routers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.words.blocks import tunnel as keys

from .devices import Device, Layer, devices, require_router


def tunnels(layers: Sequence[Layer], nodes: Mapping[str, model.Node]) -> tuple[model.Tunnel, ...]:
    """Return the tunnels of a topology, with the changes of each `with`.

    Raises CompileError with everything wrong: keys and values, ends that are not two routers, names
    that are given twice, two tunnels between the same routers.
    """
    gather = Gather()
    found: list[model.Tunnel] = []
    for device in devices(layers, "tunnel", keys.TUNNEL, "a `tunnel`"):
        with gather.attempt():
            tunnel = _tunnel(device, nodes)
            _unlike(tunnel, found)
            found.append(tunnel)
    gather.finish()
    return tuple(found)


def _tunnel(device: Device, nodes: Mapping[str, model.Node]) -> model.Tunnel:
    settings, gather = device.settings, Gather()
    block = settings.block
    for key in (keys.FROM, keys.TO):
        with gather.attempt():
            end = settings.given(key)
            if end is not None:
                span = block.settings[key.name].value.span
                require_router(end.name, span, nodes, "tunnels begin and end")
    gather.finish()
    a, b = settings[keys.FROM].name, settings[keys.TO].name
    if a == b:
        fail(
            "self-link",
            f"this tunnel leads from `{a}` to itself",
            block.settings[keys.TO.name].value.span,
            help="name another router",
        )
    mtu = settings.given(keys.MTU)
    return model.Tunnel(
        name=device.name,
        a=a,
        b=b,
        header_bytes=round(settings[keys.HEADER].number / 8),
        ecn=settings[keys.ECN],
        mtu=None if mtu is None else round(mtu.number / 8),
        mtu_given=settings.span(keys.MTU),
        header_given=block.settings[keys.HEADER.name].value.span,
        span=device.span,
    )


def _unlike(tunnel: model.Tunnel, others: Sequence[model.Tunnel]) -> None:
    """Refuse a name, or a pair of ends, that another tunnel already has."""
    for other in others:
        labels = () if other.span == tunnel.span else (Label(other.span, "the other one"),)
        if tunnel.name == other.name:
            fail(
                "duplicate-name",
                f"two tunnels are called `{tunnel.name}`",
                tunnel.span,
                labels=labels,
            )
        if {tunnel.a, tunnel.b} == {other.a, other.b}:
            fail(
                "duplicate-tunnel",
                f"two tunnels connect `{tunnel.a}` and `{tunnel.b}`",
                tunnel.span,
                labels=labels,
                help="one of them takes all packets both ways: leave the other one out",
            )
