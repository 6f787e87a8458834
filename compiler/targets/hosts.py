"""What flows need of the kernel of their hosts: sysctls, routes, parameters of modules."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_interface, ip_network

from fairc.compiler.plan import (
    Cell,
    Flow,
    Iperf3Workload,
    LoadWorkload,
    Node,
    Pep,
    TransportOptions,
)

# Linux's own maxima of the socket buffers that TCP tunes by itself; never lowered.
DEFAULT_TCP_RMEM_MAX = 6_291_456
DEFAULT_TCP_RMEM = 131_072  # with which it begins
DEFAULT_TCP_WMEM_MAX = 4_194_304

# Kernel options of every node.
EVERYWHERE = {
    "net.ipv6.conf.all.disable_ipv6": "1",
    "net.ipv6.conf.default.disable_ipv6": "1",
    "net.ipv4.conf.all.rp_filter": "0",
    "net.ipv4.conf.default.rp_filter": "0",
    "net.ipv4.conf.all.send_redirects": "0",
    "net.ipv4.conf.default.send_redirects": "0",
}

FAST_OPEN = 0x207
"""tcp_fastopen: client, server, and both without a cookie, as if the ends had met before."""

ACCURATE_ECN = "3"
"""tcp_ecn: AccECN is offered and asked for (Linux, ip-sysctl.rst); other ends get what they know."""
ECN_OPTION = "2"
"""tcp_ecn_option: its option, which counts bytes, goes with packets that have room for it."""

KERNEL = ("tcp", "web")
"""Transports that use the kernel's TCP."""

LINUX_INITIAL_WINDOW = TransportOptions().initial_window_packets


def is_tuned(flow: Flow) -> bool:
    """Whether a flow's client leaves its receive buffer to the kernel: browsers, iperf3 without a window."""
    if isinstance(flow.workload, Iperf3Workload):
        return flow.transport == "tcp" and flow.workload.window_bytes is None
    return isinstance(flow.workload, LoadWorkload) and flow.workload.client != "plain"


def sysctls(node: Node, flows: tuple[Flow, ...]) -> dict[str, str]:
    """Return the kernel options of a node.

    A socket buffer of n bytes is set as 2 n, because Linux counts its own overhead in it, and
    offers about half of it as the window.
    """
    settings = {"net.ipv4.ip_forward": "0" if node.kind == "host" else "1"}
    here = [flow for flow in flows if node.name in (flow.server, flow.client)]
    if here:
        wanted = 2 * max(flow.buffer_bytes for flow in here)
        options = [flow.options for flow in here if flow.transport in KERNEL]
        # Other clients set their buffer themselves; these leave it to the kernel, whose tuning
        # would lag behind a large BDP.
        receive = [2 * f.receiver_bytes for f in here if node.name == f.client and is_tuned(f)]
        settings |= {
            "net.ipv4.tcp_no_metrics_save": "1",
            "net.ipv4.tcp_ecn": "1" if any(o.ecn for o in options) else "2",
            "net.ipv4.tcp_rmem": f"4096 {max([DEFAULT_TCP_RMEM, *receive])} {max(DEFAULT_TCP_RMEM_MAX, wanted)}",
            "net.ipv4.tcp_wmem": f"4096 16384 {max(DEFAULT_TCP_WMEM_MAX, wanted)}",
        }
        if any(o.accurate_ecn for o in options):
            settings |= {"net.ipv4.tcp_ecn": ACCURATE_ECN, "net.ipv4.tcp_ecn_option": ECN_OPTION}
        if not all(o.sack for o in options):
            settings["net.ipv4.tcp_sack"] = "0"
        if any(o.fast_open for o in options):
            settings["net.ipv4.tcp_fastopen"] = str(FAST_OPEN)
    return settings


PEP_TABLE = 100
"""Of the routes that keep intercepted packets on their node."""


def pep_sysctls(node: Node, peps: tuple[Pep, ...]) -> dict[str, str]:
    """Return the kernel options of a node that has a proxy (docs/endpoints.md, "Split connections")."""
    settings: dict[str, str] = {}
    for pep in peps:
        if node.name in (pep.terminal, pep.gateway):
            settings |= {
                "net.ipv4.tcp_slow_start_after_idle": "0",
                "net.ipv4.tcp_no_metrics_save": "1",
            }
        if node.name == pep.gateway:
            settings["net.ipv4.tcp_tw_reuse"] = "1"
    return settings


def pep_routes(node: Node, peps: tuple[Pep, ...]) -> Iterator[str]:
    """Yield the lines of `ip -batch` by which a node keeps what its proxy intercepts.

    Packets of the ports come in at every interface but the one between the proxies. The route to
    the other proxy has the window with which a middle connection begins, its receive window twice that.
    """
    for pep in peps:
        ends = {
            pep.terminal: (pep.terminal_address, pep.gateway_address, "dport"),
            pep.gateway: (pep.gateway_address, pep.terminal_address, "sport"),
        }
        if node.name not in ends:
            continue
        own, other, word = ends[node.name]
        yield f"route replace local 0.0.0.0/0 dev lo table {PEP_TABLE}"
        for interface in node.interfaces:
            if str(ip_interface(interface.address).ip) == own:
                continue
            for port in pep.ports:
                yield (
                    f"rule add iif {interface.name} ipproto tcp {word} {port} lookup {PEP_TABLE}"
                )
        packets = -(-pep.window_bytes // pep.mtu)
        yield f"route replace {other}/32 {_way(node, other)} initcwnd {packets} initrwnd {2 * packets}"


def window_routes(node: Node, flows: tuple[Flow, ...]) -> list[str]:
    """Return the lines of `ip -batch` that set the initial windows of a server's TCP connections.

    Linux keeps it per route, so a client that needs another one gets a route of its own.
    """
    windows = {
        flow.client_address: flow.options.initial_window_packets
        for flow in flows
        if flow.transport in KERNEL and flow.server == node.name
    }
    limits = {route.destination: f" mtu {route.mtu}" for route in node.routes if route.mtu}
    return [
        f"route replace {address}/32 {_way(node, address)}{limits.get(f'{address}/32', '')}"
        f" initcwnd {packets}"
        for address, packets in windows.items()
        if packets != LINUX_INITIAL_WINDOW
    ]


def modules(cell: Cell) -> Iterator[tuple[str, str, str]]:
    """Yield (module, parameter, value) for every parameter of a CCA that the file gives."""
    users: list[Flow | Pep] = [flow for flow in cell.flows if flow.transport in KERNEL]
    found = {
        (f"tcp_{user.cca}", name): value
        for user in [*users, *cell.peps]
        for name, value in user.cca_parameters.items()
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
