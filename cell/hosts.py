"""What flows need of the kernel of their hosts: sysctls, routes, parameters of modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from ipaddress import ip_address, ip_interface, ip_network

from . import document, iperf3
from .batch import line
from .links import Interface
from .model import Flow, Node, Pep, Route, TransportOptions
from .numbers import Setting
from .workloads import Iperf3Workload

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
    # A TCP that resends after a timeout would draw its packets' hash anew. Nodes share a kernel,
    # so a router's fair queue would take that hash, not the addresses', and move the flow to
    # another queue; a real router sees packets only.
    "net.core.txrehash": "0",
}

ACCURATE_ECN = "3"
"""tcp_ecn: AccECN is offered and asked for (Linux, ip-sysctl.rst); other ends get what they
know.
"""
ECN_OPTION = "2"
"""tcp_ecn_option: its option, which counts bytes, goes with packets that have room for it."""

FAST_OPEN = 0x207
"""tcp_fastopen: client, server, and both without a cookie, as if the ends had met before."""

UNPRIVILEGED = {"net.ipv4.ip_unprivileged_port_start": "0"}
"""So that the server of a third-party image needs no capability for port 443."""

KERNEL = ("tcp", "web")
"""Transports that use the kernel's TCP."""

LINUX_INITIAL_WINDOW = TransportOptions().initial_window_packets

PEP_TABLE = 100
"""Of the routes that keep intercepted packets on their node."""
SOURCE_TABLES = 60
"""The first table of routes of the packets from one of a host's addresses."""
MOST_SUBFLOWS = 8
"""As many further subflows as a connection has in Linux (MPTCP_SUBFLOWS_MAX)."""
WINDOW_TABLES = 101
"""The first table of routes with an initial window; each window has one."""


def is_tuned(flow: Flow) -> bool:
    """Whether a flow's client leaves its receive buffer to the kernel: browsers, iperf3 without a
    window.
    """
    if isinstance(flow.workload, Iperf3Workload):
        return flow.transport == "tcp" and flow.workload.window_bytes is None
    return flow.browser


def sysctls(
    node: Node, flows: Sequence[Flow], peps: Sequence[Pep], saves_metrics: bool
) -> dict[str, str]:
    """Return all kernel options of a node.

    saves_metrics: whether it keeps what TCP has learnt for later connections. Linux leaves ssthresh
    out by default since 5.6.
    A socket buffer of n bytes is set as 2 n, because Linux counts its own overhead in it, and
    offers about half of it as the window.
    """
    name = node.name
    settings = EVERYWHERE | {"net.ipv4.ip_forward": "0" if node.kind == "host" else "1"}
    here = [flow for flow in flows if name in (flow.server, flow.client)]
    if here:
        wanted = 2 * max(flow.buffer_bytes for flow in here)
        options = [flow.options for flow in here if flow.transport in KERNEL]
        # Other clients set their buffer themselves; these leave it to the kernel, whose tuning
        # would lag behind a large BDP.
        receive = [2 * f.receiver_bytes for f in here if name == f.client and is_tuned(f)]
        begins, most = max([DEFAULT_TCP_RMEM, *receive]), max(DEFAULT_TCP_RMEM_MAX, wanted)
        settings |= {
            "net.ipv4.tcp_no_metrics_save": "0" if saves_metrics else "1",
            "net.ipv4.tcp_ecn": "1" if any(o.ecn for o in options) else "2",
            "net.ipv4.tcp_rmem": f"4096 {begins} {most}",
            "net.ipv4.tcp_wmem": f"4096 16384 {max(DEFAULT_TCP_WMEM_MAX, wanted)}",
        }
        if saves_metrics:
            settings["net.ipv4.tcp_no_ssthresh_metrics_save"] = "0"
        if any(o.accurate_ecn for o in options):
            settings |= {"net.ipv4.tcp_ecn": ACCURATE_ECN, "net.ipv4.tcp_ecn_option": ECN_OPTION}
        if not all(o.sack for o in options):
            settings["net.ipv4.tcp_sack"] = "0"
        if any(o.fast_open for o in options):
            settings["net.ipv4.tcp_fastopen"] = str(FAST_OPEN)
    for pep in peps:
        if name in (pep.terminal, pep.gateway):
            settings["net.ipv4.tcp_slow_start_after_idle"] = "0"
            settings["net.ipv4.tcp_no_metrics_save"] = "1"
        if name == pep.gateway:
            settings["net.ipv4.tcp_tw_reuse"] = "1"
    if any(flow.image is not None and flow.server == name for flow in here):
        settings |= UNPRIVILEGED
    return settings


def static_routes(routes: Sequence[Route]) -> Iterator[document.Route]:
    """Yield the routes that an experiment gives a node."""
    for route in routes:
        made = document.Route(destination=route.destination, via=route.via)
        if route.mtu:
            made["mtu"] = route.mtu
        yield made


def window_routes(node: Node, flows: Sequence[Flow]) -> Iterator[document.Route]:
    """Yield the routes that set the initial windows of a server's TCP connections.

    Linux keeps it per route, so each window has a table of routes, and `window_rules` say whose
    packets look there.
    """
    limits = {route.destination: route.mtu for route in node.routes if route.mtu}
    ways = {(table, flow.client_address): flow for flow, table in _window_tables(node, flows)}
    for (table, address), flow in ways.items():
        made = _way(node, address)
        made["table"] = table
        if limit := limits.get(f"{address}/32"):
            made["mtu"] = limit
        made["initcwnd"] = flow.options.initial_window_packets
        yield made


def window_rules(node: Node, flows: Sequence[Flow]) -> Iterator[document.Rule]:
    """Yield the rules by which a server's own packets from (or to) a flow's port have its table."""
    for flow, table in _window_tables(node, flows):
        side: document.Side = "dport" if iperf3.is_opened_by_its_sender(flow) else "sport"
        yield document.Rule(interface="lo", side=side, port=flow.port, table=table)


def _window_tables(node: Node, flows: Sequence[Flow]) -> list[tuple[Flow, int]]:
    """Return the flows that a server sends over TCP with another window than Linux's, each with the
    table of its window.
    """
    windows = [
        (flow, flow.options.initial_window_packets)
        for flow in flows
        if flow.transport in KERNEL and flow.server == node.name
    ]
    others = sorted({packets for _, packets in windows} - {LINUX_INITIAL_WINDOW})
    return [
        (flow, WINDOW_TABLES + others.index(packets))
        for flow, packets in windows
        if packets != LINUX_INITIAL_WINDOW
    ]


def pep_routes(node: Node, peps: Sequence[Pep]) -> Iterator[document.Route]:
    """Yield the routes of a node with a proxy.

    One keeps on the node what the proxy intercepts; that to the other proxy has the window with
    which a middle connection begins, its receive window twice that.
    """
    for pep, _, other, _ in _ends(node.name, peps):
        yield document.Route(destination="0.0.0.0/0", interface="lo", local=True, table=PEP_TABLE)
        packets = -(-pep.window_bytes // pep.mtu)
        made = _way(node, other)
        made["initcwnd"], made["initrwnd"] = packets, 2 * packets
        yield made


def pep_rules(node: Node, peps: Sequence[Pep]) -> Iterator[document.Rule]:
    """Yield the rules by which a proxy gets packets of its ports, from all interfaces but that to
    the other one.
    """
    for pep, own, _, side in _ends(node.name, peps):
        for interface in node.interfaces:
            if interface.ip == own:
                continue
            for port in pep.ports:
                yield document.Rule(interface=interface.name, side=side, port=port, table=PEP_TABLE)


def _ends(name: str, peps: Sequence[Pep]) -> Iterator[tuple[Pep, str, str, document.Side]]:
    """Yield the proxies of a node: with its own address, the other one's, and which port of packets
    counts.
    """
    for pep in peps:
        if name == pep.terminal:
            yield pep, pep.terminal_address, pep.gateway_address, "dport"
        elif name == pep.gateway:
            yield pep, pep.gateway_address, pep.terminal_address, "sport"


def modules(flows: Sequence[Flow], peps: Sequence[Pep]) -> list[tuple[str, str, str]]:
    """Return (module, parameter, value) for every parameter of a CCA that the experiment gives."""
    users: list[tuple[str | None, Mapping[str, Setting]]] = [
        *((flow.cca, flow.cca_parameters) for flow in flows if flow.transport in KERNEL),
        *((pep.cca, pep.cca_parameters) for pep in peps),
    ]
    found = {
        (f"tcp_{cca}", name): value
        for cca, parameters in users
        for name, value in parameters.items()
    }
    return [
        (module, name, ("Y" if value else "N") if isinstance(value, bool) else str(value))
        for (module, name), value in sorted(found.items())
    ]


def _way(node: Node, address: str) -> document.Route:
    """Return how a node reaches an address: by which next hop, or through which interface."""
    target = ip_address(address)
    for interface in node.interfaces:
        if target in ip_interface(interface.address).network:
            return document.Route(destination=f"{address}/32", interface=interface.name)
    fitting = [r for r in node.routes if target in ip_network(r.destination)]
    nearest = max(fitting, key=lambda route: ip_network(route.destination).prefixlen)
    return document.Route(destination=f"{address}/32", via=nearest.via)


def multipath(node: Node, flows: Sequence[Flow]) -> document.Multipath:
    """Return what a host's kernel is told of the paths of Multipath TCP, and which of its addresses
    have a table of routes.

    The client opens the subflows; the server announces its other addresses.
    """
    lines = list[str]()
    for flow in flows:
        first = flow.subflows[0] if flow.subflows else None
        if first is None or node.name not in (flow.client, flow.server) or lines:
            continue
        lines.append(f"mptcp limits set subflows {MOST_SUBFLOWS} add_addr_accepted {MOST_SUBFLOWS}")
        if node.name == flow.client:
            lines += [text for at_ns, text in _endpoints(flow) if at_ns is None]
        else:
            others = {path.address for path in flow.subflows} - {first.address}
            lines += [line(f"mptcp endpoint add {each} signal") for each in sorted(others)]
    interfaces = multipath_interfaces(node, flows)
    if not lines:
        return document.Multipath()
    sources = [(each.ip, SOURCE_TABLES + n) for n, each in enumerate(interfaces)]
    return document.Multipath(mptcp=lines, sources=sources)


def multipath_interfaces(node: Node, flows: Sequence[Flow]) -> tuple[Interface, ...]:
    """Return the interfaces of a host by which packets from their addresses have to leave."""
    ours = any(flow.subflows and node.name in (flow.client, flow.server) for flow in flows)
    return node.interfaces if ours and len(node.interfaces) > 1 else ()


def late_endpoints(node: Node, flows: Sequence[Flow]) -> Iterator[tuple[int, list[str]]]:
    """Yield when a client's kernel is told of further addresses, ns, and how."""
    told = dict[str, int]()
    for flow in flows:
        if flow.subflows and flow.client == node.name:
            told |= {text: at_ns for at_ns, text in _endpoints(flow) if at_ns is not None}
    for at_ns in sorted({*told.values()}):
        yield at_ns, [text for text, then_ns in told.items() if then_ns == at_ns]


def _endpoints(flow: Flow) -> Iterator[tuple[int | None, str]]:
    """Yield the lines that tell a client of its addresses, each with its time, None: at first."""
    first, *others = flow.subflows
    several = len({path.address for path in flow.subflows}) > 1
    told = {first.client_address} if not several else set[str]()
    for path in (first, *others):
        if path.client_address not in told:
            told.add(path.client_address)
            backup = " backup" if path.backup else ""
            text = f"mptcp endpoint add {path.client_address} subflow fullmesh{backup}"
            yield path.opens_ns, line(text)
