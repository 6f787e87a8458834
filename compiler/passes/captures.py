"""Pass `place_captures`: where packets are captured around a bottleneck's queue."""

from __future__ import annotations

from typing import Literal

from fairc.compiler import plan

from .draft import Draft, DraftFlow, End, Place
from .policers import policed_ends, policer_at


def place_captures(draft: Draft) -> None:
    """Capture `entry`, `exit` and `delivered` of each bottleneck (measurement.md, rule 14).

    Also capture data and ACKs where their senders transmit the former and receive the latter;
    datagrams of UDP have no ACKs. And capture arrivals at the client of each page load and of each
    third-party image, and what the latter's client sends: nothing else shows when it began.
    """
    egresses = dict.fromkeys(flow.bottleneck for flow in draft.flows if flow.bottleneck)
    for egress in egresses:
        for end in _ingresses(draft, egress):
            _add(draft, egress, end, "in", "entry")
        _add(draft, egress, egress, "out", "exit")
        ingress = draft.peer(egress)
        if draft.nodes[ingress.node].kind == "hop":
            onward = next(end for end in draft.nodes[ingress.node].ends if end is not ingress)
            _add(draft, egress, onward, "out", "delivered")
        else:
            _add(draft, egress, ingress, "in", "delivered")
    for end in policed_ends(draft):
        _watch_policer(draft, end)
    for flow in draft.flows:
        behind = flow.bottleneck is not flow.data[0]  # else packets wait before the capture
        if flow.flow.transport != "udp" and flow.bottleneck is not None and behind:
            for end in dict.fromkeys((flow.data[0], draft.peer(flow.acks[-1]))):
                _add(draft, flow.bottleneck, end, "both", "sender")
        if flow.flow.transport == "web" and flow.bottleneck is not None:
            _add(draft, flow.bottleneck, draft.peer(flow.data[-1]), "in", "client")
        if flow.flow.image is not None and flow.bottleneck is not None:
            own = draft.peer(flow.data[-1])
            _add(draft, flow.bottleneck, own, "in", "client")
            _add(draft, flow.bottleneck, own, "out", "client")


def _watch_policer(draft: Draft, egress: End) -> None:
    """Capture what a policer sees: arrivals, packets leaving its queue, and returning packets.

    Each direction of an interface is captured once, whatever the purposes.
    """
    flows = [flow for flow in draft.flows if egress in flow.data and flow.bottleneck]
    if not flows:
        return
    bottleneck = flows[0].bottleneck
    assert bottleneck is not None
    ingress = next(end for end in draft.nodes[egress.node].ends if end is not egress)
    seen = {(c.node, c.interface, c.direction) for c in draft.captures}
    watched: list[tuple[End, Literal["in", "out"]]] = [(ingress, "in")]
    if policer_at(draft, egress).feedback != "none":
        watched.append((egress, "out"))
        watched.append((egress, "in"))
    for end, direction in watched:
        if (end.node, end.name, direction) not in seen:
            _add(draft, bottleneck, end, direction, "policer")


def _ingresses(draft: Draft, egress: End) -> list[End]:
    """Return the interfaces through which packets arrive that leave through an egress, each once.

    All flows count, including those with their bottleneck elsewhere, and acks that share the
    queue with data: packets that enter either leave or are dropped.
    """
    found: dict[Place, End] = {}
    for flow in draft.flows:
        for path in (flow.data, flow.acks):
            if egress in path:
                position = path.index(egress)
                if position == 0:
                    _warn_no_entry(draft, flow)
                else:
                    end = draft.peer(path[position - 1])
                    found[end.place] = end
    return list(found.values())


def _warn_no_entry(draft: Draft, flow: DraftFlow) -> None:
    """Warn that the bottleneck is on the sending node, where no capture sees packets enter."""
    draft.warn(
        "no-entry-capture",
        f"the flow `{flow.flow.name}` starts at a bottleneck's own node",
        flow.flow.span,
        "its packets can be captured only after the queue, not before it",
        "put a router between the host and the slowest link",
    )


def _add(
    draft: Draft,
    egress: End,
    end: End,
    direction: Literal["in", "out", "both"],
    point: Literal["entry", "exit", "delivered", "client", "policer", "sender"],
) -> None:
    """Add one capture, named after its queue, its point and its interface; a host's after its
    own.
    """
    name = f"{point}.{egress.node}.{egress.name}"
    if point == "entry":
        name += f".{end.name}"
    if point in ("client", "policer", "sender"):
        name = f"{point}.{end.node}.{end.name}" + (".out" if direction == "out" else "")
        if any(capture.name == name for capture in draft.captures):
            return
    draft.captures.append(
        plan.Capture(
            name=name,
            node=end.node,
            interface=end.name,
            direction=direction,
            point=point,
            queue=egress.place,
        )
    )
