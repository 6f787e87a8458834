"""What flows need of the kernel of their hosts: sysctls, routes, parameters of modules."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_interface, ip_network

from fairc.compiler.plan import Flow, Node, TransportOptions

# Linux's own maxima of the socket buffers that TCP tunes by itself; never lowered.
DEFAULT_TCP_RMEM_MAX = 6_291_456
DEFAULT_TCP_WMEM_MAX = 4_194_304

FAST_OPEN = 0x207
"""tcp_fastopen: client, server, and both without a cookie, as if the ends had met before."""

LINUX_INITIAL_WINDOW = TransportOptions().initial_window_packets


def sysctls(node: Node, flows: tuple[Flow, ...]) -> dict[str, str]:
    """Return the kernel options of a node.

    A socket buffer of n bytes is set as 2 n, because Linux counts its own overhead in it, and
    offers about half of it as the window.
    """
    settings = {"net.ipv4.ip_forward": "0" if node.kind == "host" else "1"}
    here = [flow for flow in flows if node.name in (flow.server, flow.client)]
    if here:
        wanted = 2 * max(flow.buffer_bytes for flow in here)
        options = [flow.options for flow in here if flow.transport == "tcp"]
        settings |= {
            "net.ipv4.tcp_no_metrics_save": "1",
            "net.ipv4.tcp_ecn": "1" if any(o.ecn for o in options) else "2",
            "net.ipv4.tcp_rmem": f"4096 131072 {max(DEFAULT_TCP_RMEM_MAX, wanted)}",
            "net.ipv4.tcp_wmem": f"4096 16384 {max(DEFAULT_TCP_WMEM_MAX, wanted)}",
        }
        if not all(o.sack for o in options):
            settings["net.ipv4.tcp_sack"] = "0"
        if any(o.fast_open for o in options):
            settings["net.ipv4.tcp_fastopen"] = str(FAST_OPEN)
    return settings


def window_routes(node: Node, flows: tuple[Flow, ...]) -> list[str]:
    """Return the lines of `ip -batch` that set the initial windows of a server's TCP connections.

    Linux keeps it per route, so a client that needs another one gets a route of its own.
    """
    windows = {
        flow.client_address: flow.options.initial_window_packets
        for flow in flows
        if flow.transport == "tcp" and flow.server == node.name
    }
    return [
        f"route replace {address}/32 {_way(node, address)} initcwnd {packets}"
        for address, packets in windows.items()
        if packets != LINUX_INITIAL_WINDOW
    ]


def modules(flows: tuple[Flow, ...]) -> Iterator[tuple[str, str, str]]:
    """Yield (module, parameter, value) for every parameter of a CCA that the file gives."""
    found = {
        (f"tcp_{flow.cca}", name): value
        for flow in flows
        if flow.transport == "tcp"
        for name, value in flow.cca_parameters.items()
    }
    for (module, name), value in sorted(found.items()):
        yield module, name, ("Y" if value else "N") if isinstance(value, bool) else str(value)


def objects(flows: tuple[Flow, ...]) -> list[tuple[str, str]]:
    """Return (CCA, BPF object compressed and in base64) of every CCA of the user's own."""
    found = {flow.cca: flow.cca_object for flow in flows if flow.cca and flow.cca_object}
    return sorted(found.items())


def _way(node: Node, address: str) -> str:
    """Return how a node reaches an address: by which next hop, or through which interface."""
    target = ip_address(address)
    for interface in node.interfaces:
        if target in ip_interface(interface.address).network:
            return f"dev {interface.name}"
    fitting = [r for r in node.routes if target in ip_network(r.destination)]
    nearest = max(fitting, key=lambda route: ip_network(route.destination).prefixlen)
    return f"via {nearest.via}"
