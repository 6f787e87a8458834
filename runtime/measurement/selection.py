"""The selection of a flow's packets."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Address

import numpy as np

from fairc.compiler.plan import Cell, Flow, Subflow
from fairc.runtime.arrays import Bools

from .pcap import TCP, UDP, Packets

_PROTOCOLS: Mapping[str, tuple[int, ...]] = {
    "tcp": (TCP,),
    "quic": (UDP,),
    "udp": (UDP,),
    "web": (TCP, UDP),
}


def packets_of(cell: Cell, flow: Flow, packets: Packets) -> Bools:
    """Return which packets are in a flow's data direction: by protocol, server's address and port.

    Where the sender opens the connections, by address and port of the flow's client, which listens.

    Where a device splits the flow's TCP connections, packets of the middle ones belong to it too;
    where several flows share a device, these cannot be attributed and belong to no flow.
    """
    if flow.workload.opened_by_sender:
        found = packets.destination == int(IPv4Address(flow.client_address))
        found &= packets.destination_port == flow.port
    else:
        found = np.isin(packets.source, _servers(flow))
        found &= packets.source_port == flow.port
    # Only of the few that are left: each of a hundred users has a hundredth of the packets.
    found[found] = np.isin(packets.protocol[found], _PROTOCOLS[flow.transport])
    for device in cell.devices:
        split = [f.name for f in cell.flows if f.port in device.split_ports]
        if device.middle is not None and split == [flow.name]:
            found |= middle_of(device.middle, packets)
    return np.asarray(found, np.bool_)


def acks_of(flow: Flow, packets: Packets) -> Bools:
    """Return which packets go the other way: from a flow's client to its server, ACKs of its data
    among them.
    """
    if flow.workload.opened_by_sender:
        found = packets.source == int(IPv4Address(flow.client_address))
        found &= packets.source_port == flow.port
    else:
        found = np.isin(packets.destination, _servers(flow))
        found &= packets.destination_port == flow.port
    return np.asarray(found & np.isin(packets.protocol, _PROTOCOLS[flow.transport]), np.bool_)


def _servers(flow: Flow) -> list[int]:
    """Return the addresses of a flow's server."""
    addresses = {flow.address, *(path.address for path in flow.subflows)}
    return [int(IPv4Address(address)) for address in sorted(addresses)]


def ends_of(path: Subflow, packets: Packets) -> Bools:
    """Return which packets are between the two addresses of a subflow, in either direction."""
    server, client = int(IPv4Address(path.address)), int(IPv4Address(path.client_address))
    there = (packets.source == server) & (packets.destination == client)
    back = (packets.source == client) & (packets.destination == server)
    return np.asarray(there | back, np.bool_)


def middle_of(middle: tuple[str, int], packets: Packets) -> Bools:
    """Return which packets are data of connections in the middle of split ones; middle: the address
    and port that they come from.
    """
    address, port = middle
    return np.asarray(
        (packets.source == int(IPv4Address(address)))
        & (packets.source_port == port)
        & (packets.protocol == TCP),
        np.bool_,
    )
