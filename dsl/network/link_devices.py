"""Devices in front of queues: as keys of a link, and as blocks of a topology."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.core.problems import Gather, fail
from fairc.dsl.core.source import Span
from fairc.dsl.model.names import on_machine
from fairc.mechanisms.devices.device import DeviceEntry
from fairc.mechanisms.devices.registry import DEVICES

from .devices import Device, Layer, devices, require_node, require_router


def place_devices(
    layers: Sequence[Layer],
    nodes: Mapping[str, model.Node],
    links: Sequence[model.Link],
    proxies: Sequence[model.Proxies],
) -> tuple[model.Link, ...]:
    """Return the links with a topology's devices placed on their directions, each with a name.

    Raises CompileError with everything wrong: keys and values, nodes that no link connects, two
    devices on one direction, a name that is given twice, a device between proxies.
    """
    gather = Gather()
    entries = {entry.noun: entry for entry in DEVICES}
    ways = {
        (a, b): way
        for link in links
        for a, b, way in ((link.a, link.b, link.forward), (link.b, link.a, link.backward))
    }
    for place, way in ways.items():
        if (device := way.device) is not None:
            named = replace(device, name=device.name or "-".join(map(on_machine, place)))
            ways[place] = replace(way, device=named)
            with gather.attempt():
                require_router(place[0], device.span, nodes, f"{device.noun}s run")
    for entry in DEVICES:
        names: dict[str, Span] = {}
        for block in devices(layers, entry.noun, entry.block, f"a `{entry.noun}`"):
            with gather.attempt():
                _unlike(entry, block, names)
                _place(entry, block, nodes, ways)
    for pair in proxies:
        for place in ((pair.gateway, pair.terminal), pair.ends):
            found = ways[place].device
            if found is not None:
                entry = entries[found.noun]
                with gather.attempt():
                    fail(
                        entry.between_proxies.code,
                        f"a {found.noun} is between the proxies of `{pair.name}`",
                        found.span,
                        labels=(
                            Label(
                                pair.span,
                                f"the proxies split the connections that it would {entry.does}",
                            ),
                        ),
                        help=entry.between_proxies.help,
                    )
    gather.finish()
    return tuple(
        replace(link, forward=ways[link.a, link.b], backward=ways[link.b, link.a]) for link in links
    )


def _place(
    entry: DeviceEntry,
    device: Device,
    nodes: Mapping[str, model.Node],
    ways: dict[tuple[str, str], model.Direction],
) -> None:
    settings, gather = device.settings, Gather()
    block = settings.block
    ends: list[str] = []
    for key in (entry.at, entry.to):
        with gather.attempt():
            end = settings.given(key)
            if end is not None:
                span = block.settings[key.name].value.span
                if key is entry.at:
                    require_router(end.name, span, nodes, f"{entry.noun}s run")
                else:
                    require_node(end.name, span, nodes)
                ends.append(end.name)
    gather.finish()
    made = entry.read(settings[entry.mode], device.name)
    place = ends[0], ends[1]
    if place not in ways:
        fail(
            entry.no_link.code,
            f"no link goes from `{ends[0]}` to `{ends[1]}`",
            block.settings[entry.to.name].value.span,
            help=entry.no_link.help,
        )
    if made is None:
        return
    other = ways[place].device
    if other is not None:
        fail(
            entry.twice.code,
            f"traffic from `{ends[0]}` to `{ends[1]}` is {entry.is_done} twice",
            device.span,
            labels=(Label(other.span, f"the other {other.noun}"),),
            help=entry.twice.help,
        )
    ways[place] = replace(ways[place], device=made)


def _unlike(entry: DeviceEntry, device: Device, names: dict[str, Span]) -> None:
    name, at = device.name, device.span
    if name in names:
        fail(
            "duplicate-name",
            f"two {entry.noun}s are called `{name}`",
            at,
            labels=() if names[name] == at else (Label(names[name], "the other one"),),
        )
    names[name] = at


def prepared(network: model.Network, flows: Sequence[model.Flow]) -> list[model.Flow]:
    """Return the flows as the devices of a network need them. Raises CompileError."""
    found = [*flows]
    for link in network.links:
        for way in (link.forward, link.backward):
            if way.device is not None:
                found = way.device.prepared(found)
    return found
