"""Pass `wire`: nodes, cables, names and addresses; a hop in every link that delays or loses.

A packet that crosses a link passes, in this order: the queue and the shaper (at the sending end),
the transmitter, the loss, the delay. Shaper and queue stay at the link's own end; loss and delay go
onto a separate node in the middle (kind `hop`, a router that only forwards), so that netem's limit
never counts packets waiting in the queue, and the sender's stack never sees packets that netem
holds. Where frames are
transmitted: passes/transmitters.py.

Where a direction of a link is policed, its shaper and queue are on a separate hop next to the
router (`a-policer`), whose program forwards the packets of one direction, before the queue.

Where proxies split connections at the ends of a link, shaper and queue are on separate hops next
to them (`a-modem`), so that their packets can be captured before the queue, and their stack never
sees it.
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
    """Make the nodes and, for each link, its cables: with a hop, and proxies, more than one."""
    network = draft.scenario.network
    for node in network.nodes:
        draft.nodes[node.name] = DraftNode(node.name, node.kind)
    proxied = {frozenset((pep.terminal, pep.gateway)) for pep in network.peps}
    for index, link in enumerate(network.links):
        if frozenset((link.a, link.b)) in proxied:
            left, right = (_add_hop(draft, f"{node}-modem") for node in (link.a, link.b))
            _add_cable(draft, index, link, link.a, left)
            _wire(draft, index, link, left, right)
            _add_cable(draft, index, link, right, link.b)
        else:
            left, right = _policed(draft, index, link)
            _wire(draft, index, link, left, right)
            if right != link.b:
                _add_cable(draft, index, link, right, link.b)


def _policed(draft: Draft, index: int, link: Link) -> tuple[str, str]:
    """Return the nodes that have the queues of a link: separate hops where it is policed."""
    left, right = link.a, link.b
    if link.forward.policer is not None:
        left = _add_hop(draft, f"{link.a}-policer")
        _add_cable(draft, index, link, link.a, left)
    if link.backward.policer is not None:
        right = _add_hop(draft, f"{link.b}-policer")
    return left, right


def _wire(draft: Draft, index: int, link: Link, left: str, right: str) -> None:
    """Connect the nodes that have the queues of a link, through a hop where it is impaired."""
    queued = frozenset((left, right))
    if _impaired(link.forward) or _impaired(link.backward):
        hop = _add_hop(draft, f"{link.a}-{link.b}")
        _add_cable(draft, index, link, left, hop, queued)
        _add_cable(draft, index, link, hop, right, queued)
    else:
        _add_cable(draft, index, link, left, right, queued)


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


def _add_hop(draft: Draft, wanted: str) -> str:
    """Add a hop; `a-b`, which no name in the language can be, and `a-b-2`, ..."""
    name, number = wanted, 1
    while name in draft.nodes:
        number += 1
        name = f"{wanted}-{number}"
    draft.nodes[name] = DraftNode(name, "hop")
    return name


def _add_cable(
    draft: Draft,
    index: int,
    link: Link,
    left: str,
    right: str,
    queued: frozenset[str] = frozenset(),
) -> None:
    """Connect two nodes; `left` is on the side of the link's `a`. Each cable has a /30.

    queued: the nodes that have the link's queues; its loss and delay are on any other one. Without
    them, the cable is as fast as it can be.
    """
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
            mtu=direction.mtu,
        )
        if node in queued:
            end.shaped = direction
        elif queued:
            end.carried = direction
            end.impaired = direction if _impaired(direction) else None
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
