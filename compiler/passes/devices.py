"""Devices in front of queues, as parts of the plan; each is lowered in its folder."""

from __future__ import annotations

from collections.abc import Mapping

from fairc import mechanisms
from fairc.cell.devices import Device
from fairc.compiler import plan
from fairc.dsl.model import LinkDevice
from fairc.mechanisms import find

from .report import Report
from .routing import Traffic
from .wiring import Egress, Wiring

Queues = Mapping[Egress, plan.Queue]


def lower_devices(
    wiring: Wiring, queues: Queues, traffic: Traffic, ports: Mapping[str, int], report: Report
) -> tuple[Device, ...]:
    """Return the devices, still without what a seed decides: those of the whole network, then those
    in front of queues. ports: of the flows, by name.
    """
    found: list[Device] = []
    for lowering in mechanisms.load("devices", "lowering"):
        if hasattr(lowering, "of_network"):
            found += lowering.of_network(wiring, queues, traffic, ports, report)
    for egress, device in devices_of(wiring):
        lowering = find("devices", device.noun, "lowering")
        assert lowering is not None
        found.append(lowering.lower(device, egress, wiring, queues, traffic, report))
    return tuple(found)


def devices_of(wiring: Wiring) -> list[tuple[Egress, LinkDevice]]:
    """Return the devices, each with the egress in front of which it stands, in the order of the
    links.
    """
    found = [
        (each, each.way.device)
        for each in wiring
        if each.part == "queue" and each.way.device is not None
    ]
    return sorted(found, key=lambda pair: (pair[0].link, not pair[0].forward))


def passing_bps(egress: Egress) -> int:
    """Return the rate that packets may keep on an egress: that of its link, or of a device in
    front of it.
    """
    limit = None if egress.way.device is None else egress.way.device.limit_bps
    return egress.rate_bps if limit is None else min(egress.rate_bps, limit)
