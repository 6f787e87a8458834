"""Pass `wire`: nodes, cables, names and addresses; a hop in every link that delays or loses.

A packet that crosses a link meets, in this order: the queue and the rate (at the sending end), the
loss, the delay. Rate and queue stay on the link's own end; loss and delay go onto a node of
their own in the middle (kind `hop`, a router that only forwards), so that netem's limit never
counts what waits in the queue, and the sender's stack never sees what netem holds back.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address

from fairc.dsl.model import Direction, Link

from .draft import Draft, DraftNode, End
from .dynamics import touches_hop

NETWORK = int(IPv4Address("10.0.0.0"))
INTERFACE_NAME_MAX = 15  # IFNAMSIZ less its terminator


def wire(draft: Draft) -> None:
    """Make the nodes and, for each link, its cable (or two, with a hop between them)."""
    for node in draft.scenario.network.nodes:
        draft.nodes[node.name] = DraftNode(node.name, node.kind)
    for index, link in enumerate(draft.scenario.network.links):
        if _impaired(link.forward) or _impaired(link.backward):
            hop = _add_hop(draft, link)
            _add_cable(draft, index, link, link.a, hop)
            _add_cable(draft, index, link, hop, link.b)
        else:
            _add_cable(draft, index, link, link.a, link.b)


def host_address(draft: Draft, host: str) -> str | None:
    """Return the one address at which a host is reached, or None if no link ends there."""
    ends = draft.nodes[host].ends
    return ends[0].address if ends else None


def _impaired(direction: Direction) -> bool:
    return bool(
        direction.delay_ns
        or direction.loss
        or direction.duplicate
        or touches_hop(direction.changes)
    )


def _add_hop(draft: Draft, link: Link) -> str:
    """Add the hop of a link; `a-b`, which no name in the language can be, and `a-b-2`, ..."""
    name, number = f"{link.a}-{link.b}", 1
    while name in draft.nodes:
        number += 1
        name = f"{link.a}-{link.b}-{number}"
    draft.nodes[name] = DraftNode(name, "hop")
    return name


def _add_cable(draft: Draft, index: int, link: Link, left: str, right: str) -> None:
    """Connect two nodes; `left` is on the side of the link's `a`. Each cable has a /30."""
    network = NETWORK + 4 * len(draft.cables)
    ends = []
    for offset, node, forward in ((1, left, True), (2, right, False)):
        direction = link.forward if forward else link.backward
        end = End(
            node=node,
            name=_interface_name(draft.nodes[node]),
            address=_address(network + offset),
            link=index,
            forward=forward,
            source=str(direction.span),
        )
        if node in (link.a, link.b):
            end.shaped = direction
        elif _impaired(direction):
            end.impaired = direction
        draft.nodes[node].ends.append(end)
        ends.append(end)
    a, b = ends
    draft.peers[a.place] = b
    draft.peers[b.place] = a
    draft.cables.append((a, b))


@lru_cache(4096)
def _address(number: int) -> str:
    return str(IPv4Address(number))


def _interface_name(node: DraftNode) -> str:
    """Return Mininet's usual name, `r1-eth0`; `eth0` where that would be too long for Linux."""
    number = len(node.ends)
    name = f"{node.name}-eth{number}"
    return name if len(name) <= INTERFACE_NAME_MAX else f"eth{number}"
