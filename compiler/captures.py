"""Pass `place_captures`: packets are seen entering the bottleneck's router, leaving its queue, and delivered."""

from __future__ import annotations

from typing import Literal

from fairc.dsl.diagnostics import Diagnostic, Severity

from . import plan
from .draft import Draft, DraftFlow, End, Place


def place_captures(draft: Draft) -> None:
    """Capture at each bottleneck queue: `entry`, `exit` and `delivered` (measurement.md, rule 14)."""
    users: dict[Place, list[DraftFlow]] = {}
    for flow in draft.flows:
        if flow.bottleneck is not None:
            users.setdefault(flow.bottleneck.place, []).append(flow)
    for flows in users.values():
        egress = flows[0].bottleneck
        assert egress is not None
        for end in _ingresses(draft, egress, flows):
            _add(draft, egress, end, "in", "entry")
        _add(draft, egress, egress, "out", "exit")
        ingress = draft.peer(egress)
        if draft.nodes[ingress.node].kind == "hop":
            onward = next(end for end in draft.nodes[ingress.node].ends if end is not ingress)
            _add(draft, egress, onward, "out", "delivered")
        else:
            _add(draft, egress, ingress, "in", "delivered")


def _ingresses(draft: Draft, egress: End, flows: list[DraftFlow]) -> list[End]:
    """Return where the flows' data comes into the node of a bottleneck, each interface once."""
    found: dict[Place, End] = {}
    for flow in flows:
        position = flow.data.index(egress)
        if position == 0:
            draft.report(
                Diagnostic(
                    code="no-entry-capture",
                    message=f"the bottleneck of the flow `{flow.flow.name}` is on its server itself",
                    span=flow.flow.span,
                    notes=("packets cannot be seen before the queue, only after it",),
                    help="put a router between the server and the slowest link",
                    severity=Severity.WARNING,
                )
            )
        else:
            end = draft.peer(flow.data[position - 1])
            found[end.place] = end
    return list(found.values())


def _add(
    draft: Draft,
    egress: End,
    end: End,
    direction: Literal["in", "out"],
    point: Literal["entry", "exit", "delivered"],
) -> None:
    """Add one capture, named after its queue, its point and its interface."""
    name = f"{point}.{egress.node}.{egress.name}"
    if point == "entry":
        name += f".{end.name}"
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
