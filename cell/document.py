"""A cell as plain data, all that follows from it included: what the conductor works from.

The same as JSON. Times are ns, after the epoch where nothing else is said; sizes are bytes.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict


class Interface(TypedDict):
    """An interface of a node. address: with the length of its prefix. mac: its own.

    lower: the interface that it lies on (macvlan in passthru mode), null where it is one end of a
    cable. segments: how many segments of TCP it takes as one; it sends them as frames. queue: the
    length of its queue, packets, where that is not the kernel's own choice.
    """

    name: str
    address: str
    mac: str
    mtu: int
    lower: str | None
    segments: int
    queue: NotRequired[int]


class Neighbour(TypedDict):
    """An entry of the ARP table, so that no ARP gets between the packets of the flows."""

    address: str
    mac: str
    interface: str


class Route(TypedDict):
    """A route, through a next hop (`via`) or an interface.

    local: packets to it stay on the node. initcwnd: initial congestion window of TCP, packets.
    initrwnd: first receive window, packets; such a route replaces one to the same destination, if
    that is there. ecn: TCP asks for ECN. congctl: the CCA of TCP. rto_min: least
    variation of TCP's round-trip times that its retransmission timeout has room for, ms. source:
    the address of packets that have none.
    """

    destination: str
    via: NotRequired[str]
    interface: NotRequired[str]
    source: NotRequired[str]
    mtu: NotRequired[int]
    initcwnd: NotRequired[int]
    initrwnd: NotRequired[int]
    rto_min: NotRequired[int]
    ecn: NotRequired[bool]
    congctl: NotRequired[str]
    local: NotRequired[bool]
    table: NotRequired[int]


Side = Literal["dport", "sport"]


class Rule(TypedDict):
    """Packets that come in at an interface (`lo`: the node's own) have a table. side, port: only
    those of TCP to (`dport`) or from (`sport`) a port. source: only those from this address.
    """

    source: NotRequired[str]
    interface: str
    side: NotRequired[Side]
    port: NotRequired[int]
    table: int


class Multipath(TypedDict):
    """Of a host with flows over Multipath TCP. mptcp: lines of `ip -batch`. sources: its addresses,
    with the table of routes of their packets.
    """

    mptcp: NotRequired[list[str]]
    sources: NotRequired[list[tuple[str, int]]]


class Addresses(TypedDict):
    """Further addresses of a host, of no interface."""

    addresses: NotRequired[list[str]]


class Node(Multipath, Addresses):
    """A namespace, and all that is set in it. qdiscs: lines of `tc -batch`.

    beyond_tc: lines for queues that tc does not know; the endpoints' program takes them (role
    `qdiscs`).
    """

    name: str
    sysctls: dict[str, str]
    interfaces: list[Interface]
    neighbours: list[Neighbour]
    routes: list[Route]
    rules: list[Rule]
    qdiscs: list[str]
    beyond_tc: list[str]


class End(TypedDict):
    """One end of a cable."""

    node: str
    interface: str
    mac: str


class Network(TypedDict):
    """Nodes, and the cables between them. Segmentation offloads are off at every interface."""

    nodes: list[Node]
    cables: list[tuple[End, End]]


class InForce(TypedDict):
    """What has been set up: node -> sysctl -> value (null: the kernel has none); node -> interface
    -> offload.
    """

    sysctl: dict[str, dict[str, str | None]]
    offloads: dict[str, dict[str, dict[str, str]]]


class Program(TypedDict):
    """A program in a node: a role of fairc-endpoints (or `browser`, `image`, an agent) and its
    description.
    """

    name: str
    node: str
    role: str
    description: dict[str, Any]


class Forwarder(Program):
    """A device, or an end of a tunnel; the packets of `ingress` are its own, the kernel forwards
    none of them.
    """

    ingress: str


class Changes(TypedDict):
    """Lines of `tc -batch`, one change after the other, and their times; they come again after
    repeat_ns. Those of routes, for `ip -batch`, are of no interface.
    """

    node: str
    interface: str
    repeat_ns: int | None
    lines: list[tuple[int, list[str]]]


class Seed(TypedDict):
    """The seed of the netem of an interface."""

    node: str
    interface: str
    seed: int


class Ping(TypedDict):
    """A flow's round trip, measured on the idle network. every_ns: from one ping to the next."""

    flow: str
    client: str
    server: str
    address: str
    expected_ns: int
    every_ns: int


class KernelModule(TypedDict):
    """A kernel module that is loaded before the cell starts: NAME.ko, beside the cell's program.

    of: what it registers; a queueing discipline is registered without the `sch-` of its name.
    parameters: NAME=VALUE.
    """

    name: str
    of: Literal["cca", "queue"]
    parameters: list[str]


class Document(TypedDict):
    """A cell. epoch_ns: on a virtual clock, ns after 1970; null: as soon as all has been started.

    lead_ns: from the start of the first program to the epoch. drain_ns: after the end, for what
    still waits in queues. patience_ns: how long before that proxies start, and have to open their
    connections. tunnels: their ends, which run before anything is sent. modules: (module,
    parameter, value).
    window_bytes: the largest socket buffer that the kernel has to allow, 0: none beyond its own.
    slack_ns: how late timers may be. objects: CCAs as BPF struct_ops objects, compressed (zlib), in
    base64. inserted: CCAs and queues as kernel modules.
    """

    id: str
    epoch_ns: int | None
    lead_ns: int
    duration_ns: int | None
    deadline_ns: int
    drain_ns: int
    stop: Literal["first", "all"]
    processing_ns: int
    slack_ns: int
    network: Network
    modules: list[tuple[str, str, str]]
    window_bytes: int
    objects: dict[str, str]
    inserted: list[KernelModule]
    seeds: list[Seed]
    changes: list[Changes]
    captures: list[Program]
    pings: list[Ping]
    monitor: Program
    proxies: list[Program]
    devices: list[Forwarder]
    tunnels: list[Forwarder]
    patience_ns: int
    servers: list[Program]
    clients: list[Program]
