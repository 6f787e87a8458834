"""Lines for `ip -batch` and `tc -batch`: words between single spaces, and nothing that ends a line.

This is the one border where lines are made, and it trusts no input: anything else is refused.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from .document import End, Node, Route

_LINE = re.compile(r"[!-~]+(?: [!-~]+)*", re.ASCII)
_OBEYED = frozenset("\"'\\#;|&$`<>(){}*?~!^")
"""What a batch of iproute2 (quotes, backslash, comments), or a shell, would read as more than
itself.
"""


def line(text: str) -> str:
    """Return a line of a batch as it is. Raises ValueError for one that is not only words."""
    if not _LINE.fullmatch(text) or not _OBEYED.isdisjoint(text):
        raise ValueError(f"not a line of a batch: {text!r}")
    return text


def word(value: str) -> str:
    """Return a single word of a line as it is. Raises ValueError for anything that is not one."""
    if " " in value:
        raise ValueError(f"not one word: {value!r}")
    return line(value)


_INSTANT = "instant"


def divided(lines: Sequence[str], beyond_tc: Collection[str]) -> tuple[list[str], list[str]]:
    """Return the lines for `tc`, and those for the endpoints' program: of an interface whose first
    discipline is for the program, all.

    beyond_tc: the disciplines that `tc` does not know.
    """
    wanted = {_INSTANT, *beyond_tc}
    beyond = [not wanted.isdisjoint(text.split(" ")) for text in lines]
    first = {
        _device(text)
        for text, is_beyond in zip(lines, beyond, strict=True)
        if is_beyond and " root " in text
    }
    ours = [
        is_beyond or _device(text) in first for text, is_beyond in zip(lines, beyond, strict=True)
    ]
    return (
        [text for text, mine in zip(lines, ours, strict=True) if not mine],
        [text for text, mine in zip(lines, ours, strict=True) if mine],
    )


def _device(text: str) -> str:
    return text.partition(" dev ")[2].partition(" ")[0]


def duration(ns: int) -> str:
    """Write a duration exactly, in the largest unit that tc knows."""
    for unit, size in (("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"


def percent(probability: float) -> str:
    """Write a probability in percent, without an exponent."""
    return f"{100 * probability:.10f}".rstrip("0").rstrip(".")


def cable_lines(cables: list[tuple[End, End]], paths: dict[str, str]) -> list[str]:
    """Return the lines of `ip -batch` that connect nodes; paths: of their network namespaces.

    /dev/fd and /proc/self do not do: another process reads them.
    """
    return [
        f"link add name {word(a['interface'])} address {word(a['mac'])} netns"
        f" {paths[a['node']]} type veth"
        f" peer name {word(b['interface'])} address {word(b['mac'])} netns {paths[b['node']]}"
        for a, b in cables
    ]


def node_lines(node: Node) -> Iterator[str]:
    """Yield the lines of `ip -batch` that configure a node, once its cables are there.

    One segment per packet (gso_max_segs 1) but where TCP leaves its segmentation to a host's
    interface: queues count real packets.
    """
    yield "link set dev lo up"
    for interface in node["interfaces"]:
        lower = interface["lower"]
        size = f"mtu {interface['mtu']} gso_max_segs {interface['segments']}"
        if lower is not None:
            yield line(f"link set dev {lower} {size} up")
            yield line(f"link add link {lower} name {interface['name']} type macvlan mode passthru")
    for interface in node["interfaces"]:
        size = f"mtu {interface['mtu']} gso_max_segs {interface['segments']}"
        if "queue" in interface:
            size += f" txqueuelen {interface['queue']}"
        yield line(f"link set dev {interface['name']} {size} up")
        yield line(f"address add {interface['address']} dev {interface['name']}")
    for address in node.get("addresses", ()):
        yield line(f"address add {address}/32 dev lo")
    for peer in node["neighbours"]:
        device = f"dev {peer['interface']}"
        yield line(f"neighbour add {peer['address']} lladdr {peer['mac']} {device} nud permanent")
    for address, table in node.get("sources", []):
        yield line(f"rule add from {address}/32 lookup {table}")
    for rule in node["rules"]:  # a later rule comes before all earlier ones
        source = f"from {rule['source']}/32 " if "source" in rule else ""
        port = ""
        if "side" in rule and "port" in rule:
            port = f"ipproto tcp {rule['side']} {rule['port']} "
        yield line(f"rule add {source}iif {rule['interface']} {port}lookup {rule['table']}")
    for route in node["routes"]:
        verb = "replace" if "initrwnd" in route or route.get("local") else "add"
        yield line(f"route {verb}{_route(route)}")


def route_line(route: Route) -> str:
    """Return the line of `ip -batch` that gives a node a route instead of that to its
    destination.
    """
    return line(f"route replace{_route(route)}")


def _route(route: Route) -> str:
    words = [" local" if route.get("local") else "", f" {route['destination']}"]
    keys = (("via", "via"), ("interface", "dev"), ("source", "src"), ("table", "table"))
    given: Mapping[str, object] = route
    numbers = ("mtu", "initcwnd", "initrwnd")
    for key, name in (*keys, *zip(numbers, numbers, strict=True)):
        if key in given:
            words.append(f" {name} {given[key]}")
    if "rto_min" in route:
        words.append(f" rto_min {route['rto_min']}ms")
    if route.get("ecn"):
        words.append(" features ecn")
    if "congctl" in route:
        words.append(f" congctl {word(route['congctl'])}")
    return "".join(words)
