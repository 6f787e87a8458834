"""Hosts: the sysctls, routes and parameters of modules that flows need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address, ip_interface, ip_network

from . import document
from .batch import line
from .devices import Device
from .links import Interface
from .model import LARGEST_BUFFER, Flow, Node, Route, TransportOptions
from .numbers import Setting

# Linux's own maxima of the socket buffers that TCP tunes by itself; never lowered.
DEFAULT_TCP_RMEM_MAX = 6_291_456
DEFAULT_TCP_RMEM = 131_072  # with which it begins
DEFAULT_TCP_WMEM_MAX = 4_194_304
DEFAULT_TCP_WMEM_LEAST = 4_096

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

ECN_IF_ASKED = "2"
"""tcp_ecn: who is asked for ECN agrees, and asks for it itself by the routes of `connection_routes`
only (Linux, ip-sysctl.rst).
"""
ACCURATE_ECN = "3"
"""tcp_ecn: AccECN is offered, and asked for by every connection; other ends get what they know."""
ACCURATE_ECN_IF_ASKED = "5"
"""tcp_ecn: the same, but no connection asks for it."""
ECN_OPTION = "2"
"""tcp_ecn_option: its option, which counts bytes, goes with packets that have room for it."""

PROBES_BLACK_HOLES = "1"
"""tcp_mtu_probing: where segments get lost and no router says why (RFC 4821, section 7.7)."""

FAST_OPEN = 0x207
"""tcp_fastopen: client, server, and both without a cookie, as if the ends had met before."""

UNPRIVILEGED = {"net.ipv4.ip_unprivileged_port_start": "0"}
"""So that the server of a third-party image needs no capability for port 443."""

KERNEL = ("tcp", "web")
"""Transports that use the kernel's TCP."""

LINUX_INITIAL_WINDOW = TransportOptions().initial_window_packets

LINUX_BUFFER_MAX = 212_992
"""net.core.wmem_max and rmem_max of an untouched kernel, bytes; programs that ask for more get
less.
"""

SOURCE_TABLES = 60
"""The first table of routes of the packets from one of a host's addresses."""
MOST_SUBFLOWS = 8
"""As many further subflows as a connection has in Linux (MPTCP_SUBFLOWS_MAX)."""
STRAIGHT_TABLES = 80
"""The first table of routes of what comes in at an interface of a hop."""
CONNECTION_TABLES = 101
"""The first table of `connection_routes`."""


def window_bytes(flows: Sequence[Flow]) -> int:
    """Return the largest window that the kernel has to allow first, bytes; 0: none."""
    asked = max((flow.workload.asked_buffer_bytes for flow in flows), default=0)
    return asked if asked > LINUX_BUFFER_MAX else 0


def sets_no_options(flow: Flow) -> bool:
    """Whether a flow's sockets are those of programs that fairc does not tell its options."""
    return flow.workload.measures_itself or flow.workload.own_code is not None


def _least_send_buffer(senders: Sequence[Flow]) -> int:
    """Return the first number of a host's tcp_wmem.

    The buffer of a connection over MPTCP is this and those of its subflows (net/mptcp/protocol.h,
    __mptcp_sync_sndbuf), which Linux tunes to the window of each. Together they hold too little
    where paths differ: data of the fast one stays until that of the slow one has come.
    """
    if any(flow.subflows and not flow.workload.paced for flow in senders):
        return LARGEST_BUFFER
    return DEFAULT_TCP_WMEM_LEAST


def sysctls(
    node: Node, flows: Sequence[Flow], devices: Sequence[Device], saves_metrics: bool
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
        senders = [f for f in here if name == f.server and f.transport in KERNEL]
        options = [flow.options for flow in here if flow.transport in KERNEL]
        # Other clients set their buffer themselves; these leave it to the kernel, whose tuning
        # would lag behind a large BDP.
        receive = [
            2 * (f.receive_buffer_bytes or f.waiting_bytes)
            for f in here
            if name == f.client and f.workload.is_tuned(f)
        ]
        begins = max([DEFAULT_TCP_RMEM, *receive])
        most = max(DEFAULT_TCP_RMEM_MAX, wanted, begins)
        settings |= {
            "net.ipv4.tcp_no_metrics_save": "0" if saves_metrics else "1",
            "net.ipv4.tcp_ecn": ECN_IF_ASKED,
            "net.ipv4.tcp_rmem": f"4096 {begins} {most}",
            "net.ipv4.tcp_wmem": f"{_least_send_buffer(senders)} 16384"
            f" {max(DEFAULT_TCP_WMEM_MAX, wanted)}",
        }
        if saves_metrics:
            settings["net.ipv4.tcp_no_ssthresh_metrics_save"] = "0"
        settings |= _ecn(node, flows, devices)
        if not all(o.sack for o in options):
            settings["net.ipv4.tcp_sack"] = "0"
        if any(o.fast_open for o in options):
            settings["net.ipv4.tcp_fastopen"] = str(FAST_OPEN)
        if any(o.discovers_mtu for o in options):
            settings["net.ipv4.tcp_mtu_probing"] = PROBES_BLACK_HOLES
        if any(f.options.idle_restart is False for f in senders):
            settings["net.ipv4.tcp_slow_start_after_idle"] = "0"
        for flow in senders:
            if flow.options.notsent_lowat_bytes is not None and sets_no_options(flow):
                settings["net.ipv4.tcp_notsent_lowat"] = str(flow.options.notsent_lowat_bytes)
    for device in devices:
        if device.ends_at(name):
            settings |= _ecn(node, flows, devices)
        settings |= device.sysctls(name)
    if any(flow.image is not None and flow.server == name for flow in here):
        settings |= UNPRIVILEGED
    return settings


def static_routes(routes: Sequence[Route]) -> Iterator[document.Route]:
    """Yield the routes that an experiment gives a node."""
    for route in routes:
        made = document.Route(destination=route.destination, via=route.via)
        if route.mtu:
            made["mtu"] = route.mtu
        if route.source:
            made["source"] = route.source
        yield made


def opener(flow: Flow) -> str:
    """Return the host that opens a flow's TCP connections, and so asks for ECN."""
    return flow.server if flow.workload.opened_by_sender else flow.client


def _opens(node: Node, flow: Flow, devices: Sequence[Device]) -> bool:
    """Whether a node opens TCP connections of a flow: its opener, or a gateway behind which they
    are split.
    """
    splits = (each.opens_at(node.name) and flow.port in each.split_ports for each in devices)
    return flow.transport in KERNEL and (node.name == opener(flow) or any(splits))


def _ecn(node: Node, flows: Sequence[Flow], devices: Sequence[Device]) -> dict[str, str]:
    """Return the kernel options of a node beyond the usual ones: for AccECN, and so that a lost SYN
    asks for ECN again where the CCA needs it.
    """
    opened = [flow.options for flow in flows if _opens(node, flow, devices)]
    here = [flow.options for flow in flows if _has_ends(node, flow, devices)]
    settings = dict[str, str]()
    if any(options.accurate_ecn for options in here):
        listens = node.kind == "host" and not opened  # a proxy opens connections to the other one
        asks = listens or any(options.accurate_ecn for options in opened)
        settings["net.ipv4.tcp_ecn"] = ACCURATE_ECN if asks else ACCURATE_ECN_IF_ASKED
        settings["net.ipv4.tcp_ecn_option"] = ECN_OPTION
    if any(options.cca_needs_ecn for options in opened):
        settings["net.ipv4.tcp_ecn_fallback"] = "0"
    return settings


def _has_ends(node: Node, flow: Flow, devices: Sequence[Device]) -> bool:
    """Whether TCP connections of a flow end at a node: a host, or a proxy that splits them."""
    splits = (each.ends_at(node.name) and flow.port in each.split_ports for each in devices)
    return flow.transport in KERNEL and (node.name in (flow.server, flow.client) or any(splits))


@dataclass(frozen=True, slots=True, order=True)
class _Table:
    """A table of routes, and what TCP connections by them have.

    source: only those from this address; empty: from any. initcwnd: initial window, packets; 0:
    Linux's own. ecn: they ask for ECN. congctl: their CCA, where a socket has no other; empty: the
    host's. rto_min_ms: of their retransmission timeouts; 0: Linux's own.
    """

    source: str
    initcwnd: int
    ecn: bool
    congctl: str
    rto_min_ms: int = 0

    def fill(self, route: document.Route, number: int) -> document.Route:
        """Return a route of this table, which is that of a number."""
        route["table"] = number
        if self.initcwnd:
            route["initcwnd"] = self.initcwnd
        if self.ecn:
            route["ecn"] = True
        if self.congctl:
            route["congctl"] = self.congctl
        if self.rto_min_ms:
            route["rto_min"] = self.rto_min_ms
        return route


@dataclass(frozen=True, slots=True)
class _Connections:
    """The TCP connections of a flow at a node: their table, which port tells them, and where they
    lead.
    """

    table: _Table
    side: document.Side
    port: int
    peers: tuple[str, ...]


def connection_routes(
    node: Node, flows: Sequence[Flow], devices: Sequence[Device], next_hops: Mapping[str, str]
) -> Iterator[document.Route]:
    """Yield the routes that set what Linux keeps per route for the TCP connections of a flow.

    That is the initial window of its server, whether its opener asks for ECN, the CCA of its
    receiver, and the least retransmission timeout of both. Each combination has a table of routes,
    and `connection_rules` say whose packets look there. next_hops: the address at the other end of
    each interface's cable.
    """
    found = list(_connections(node, flows, devices))
    tables = _numbers(found)
    limits = {route.destination: route.mtu for route in node.routes if route.mtu}
    interfaces = {each.ip: each.name for each in multipath_interfaces(node, flows)}
    ways = {(each.table, peer): None for each in found for peer in each.peers}
    for table, peer in ways:
        if table.source:
            via = next_hops[interfaces[table.source]]
            way: document.Route | None = document.Route(destination=f"{peer}/32", via=via)
        else:
            way = way_to(node, peer)
        if way is None:
            continue
        if limit := limits.get(f"{peer}/32"):
            way["mtu"] = limit
        yield table.fill(way, tables[table])


def connection_rules(
    node: Node, flows: Sequence[Flow], devices: Sequence[Device]
) -> Iterator[document.Rule]:
    """Yield the rules by which a node's own packets to (or from) a flow's port have its table."""
    found = list(_connections(node, flows, devices))
    tables = _numbers(found)
    for each in found:
        rule = document.Rule(
            interface="lo", side=each.side, port=each.port, table=tables[each.table]
        )
        if each.table.source:
            rule["source"] = each.table.source
        yield rule


def _numbers(found: Sequence[_Connections]) -> dict[_Table, int]:
    return {
        table: CONNECTION_TABLES + number
        for number, table in enumerate(sorted({each.table for each in found}))
    }


def _connections(
    node: Node, flows: Sequence[Flow], devices: Sequence[Device]
) -> Iterator[_Connections]:
    """Yield the connections of a node that need more than its own routes say."""
    for flow in flows:
        options = flow.options
        opens = _opens(node, flow, devices)
        initcwnd, congctl = 0, ""
        if flow.transport in KERNEL and flow.server == node.name:
            initcwnd = options.initial_window_packets
        if initcwnd == LINUX_INITIAL_WINDOW:
            initcwnd = 0
        if opens and options.cca_needs_ecn and not options.accurate_ecn:
            congctl = flow.cca or ""  # so the kernel asks for ECN
        is_own = flow.workload.own_code is not None and flow.transport in KERNEL
        if is_own and node.name in (flow.server, flow.client):
            congctl = flow.cca or ""  # its sockets do not ask for a CCA
        ecn = opens and options.ecn and not options.accurate_ecn and not congctl
        ends = flow.transport in KERNEL and node.name in (flow.server, flow.client)
        rto_min_ms = (options.min_rto_ms or 0) if ends else 0
        if not (initcwnd or ecn or congctl or rto_min_ms):
            continue
        paths = [(flow.address, flow.client_address)]
        paths += [(path.address, path.client_address) for path in flow.subflows]
        peers = {client if node.name == flow.server else server for server, client in paths}
        sources = [""]
        if flow.subflows and (several := multipath_interfaces(node, flows)):
            sources = [each.ip for each in several]
        for source in sources:
            yield _Connections(
                _Table(source, initcwnd, ecn, congctl, rto_min_ms),
                "dport" if opens else "sport",
                flow.port,
                tuple(sorted(peers)),
            )


def modules(flows: Sequence[Flow], devices: Sequence[Device]) -> list[tuple[str, str, str]]:
    """Return (module, parameter, value) for every parameter of a CCA that the experiment gives."""
    users: list[tuple[str | None, Mapping[str, Setting]]] = [
        *((flow.cca, flow.cca_parameters) for flow in flows if flow.transport in KERNEL),
        *(pair for device in devices for pair in device.ccas.items()),
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


def way_to(node: Node, address: str) -> document.Route | None:
    """Return how a node reaches an address: by which next hop, or through which interface; None
    where it does not.
    """
    target = ip_address(address)
    for interface in node.interfaces:
        if target in ip_interface(interface.address).network:
            return document.Route(destination=f"{address}/32", interface=interface.name)
    fitting = [r for r in node.routes if target in ip_network(r.destination)]
    if not fitting:
        return None
    nearest = max(fitting, key=lambda route: ip_network(route.destination).prefixlen)
    made = document.Route(destination=f"{address}/32", via=nearest.via)
    if nearest.source:
        made["source"] = nearest.source
    return made


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
