"""Records of NATs: captures with the ports that connections have at their hosts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv4Interface

import numpy as np

from fairc.cell.model import Cell, Flow
from fairc.runtime.measurement import pcap
from fairc.runtime.measurement.artefacts import NS, Artefacts, field
from fairc.runtime.measurement.devices import DeviceRecord

from .cell import REBINDING, Nat

LEAST_PORT = 0x8000
"""The least port that a host of a cell chooses by itself (`ip_local_port_range`)."""


@dataclass(frozen=True)
class NatRecord(DeviceRecord):
    """A NAT, and how late its ports changed each time, s."""

    plan: Nat
    late_s: tuple[float, ...]


def load(
    artefacts: Artefacts, cell: Cell, captures: Mapping[str, pcap.Capture], epoch_ns: int
) -> tuple[NatRecord, ...]:
    """Return the NATs of a cell. Raises ArtefactError."""
    found = []
    for nat in (each for each in cell.devices if isinstance(each, Nat)):
        file = "changes.ndjson"
        late_s = tuple(
            (field(done, "t_ns", file) - field(done, "at_ns", file)) * NS
            for done in artefacts.lines(file)
            if (done.get("node"), done.get("interface")) == (nat.node, REBINDING)
        )
        found.append(NatRecord(nat, late_s))
    return tuple(found)


def original(cell: Cell, packets: pcap.Packets) -> pcap.Packets:
    """Return packets with the ports that hosts behind a NAT gave them; where they serve others
    beside them, that has a port of the plan.
    """
    hosts = {host for each in cell.devices if isinstance(each, Nat) for host in each.hosts}
    nodes = (node for node in cell.nodes if node.name in hosts)
    addresses = [
        *(int(IPv4Interface(end.address).ip) for node in nodes for end in node.interfaces),
        *(
            int(IPv4Address(a.partition("/")[0]))
            for n in cell.nodes
            if n.name in hosts
            for a in n.addresses
        ),
    ]
    served = [
        int(IPv4Address(_listens(flow))) << 16 | flow.port + number
        for flow in cell.flows
        for number in range(flow.connections if flow.transport == "udp" else 1)
    ]
    for side in ("source", "destination"):
        address, port = getattr(packets, side), getattr(packets, f"{side}_port")
        other = np.isin(address, addresses) & (port > 0) & (port < LEAST_PORT)
        other &= ~np.isin(address << 16 | port, served)
        packets = replace(
            packets,
            **{f"{side}_port": np.where(other, port ^ 0xFF00, port)},
            translated=packets.translated | other,
        )
    return packets


def _listens(flow: Flow) -> str:
    """Return the address at which connections of a flow arrive."""
    return flow.client_address if flow.workload.opened_by_sender else flow.address
