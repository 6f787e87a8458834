"""Pass `police`: policers with their buckets, and which flow uses which."""

from __future__ import annotations

from fairc.compiler import plan
from fairc.dsl import model
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.network.groups import user_of
from fairc.dsl.network.policers import may_be_policed
from fairc.words.queues import marks
from fairc.words.workloads import Load

from .draft import Draft, DraftFlow, End
from .dynamics import most_loss


def police(draft: Draft) -> None:
    """Write the policers as parts of the plan; one bucket per user, else per source host."""
    draft.policers = []
    users = any(flow.flow.users for flow in draft.flows)
    for egress in policed_ends(draft):
        policer = policer_at(draft, egress)
        crossing = [flow for flow in draft.flows if egress in flow.data]
        ours = [flow for flow in crossing if may_be_policed(flow.flow, users)]
        refused = _refuse_quic(draft, policer, crossing, users)
        if not ours and not refused:
            _report_idle(draft, policer, users)
        if policer.feedback != "none":
            _check_marks(draft, policer, egress, ours)
            _check_way_back(draft, policer, egress, ours)
        ingress = next(end for end in draft.nodes[egress.node].ends if end is not egress)
        hosts = dict.fromkeys(user_of(flow.flow) or flow.flow.server for flow in ours)
        number = {host: n for n, host in enumerate(hosts)}
        draft.policers.append(
            plan.Policer(
                name=policer.name,
                node=egress.node,
                ingress=ingress.name,
                egress=egress.name,
                rate=policer.rate,
                depth=policer.depth,
                harshness=policer.harshness,
                feedback=policer.feedback,
                charge=policer.charge,
                buckets=tuple(hosts),
                policed=tuple(
                    plan.Policed(
                        flow=flow.flow.name,
                        bucket=number[user_of(flow.flow) or flow.flow.server],
                    )
                    for flow in ours
                ),
                source=str(policer.span),
            )
        )


def policed_ends(draft: Draft) -> list[End]:
    """Return the egresses of policers, in the order of the links."""
    ends = (end for node in draft.nodes.values() for end in node.ends)
    found = [end for end in ends if end.shaped is not None and end.shaped.policer is not None]
    return sorted(found, key=lambda end: (end.link, not end.forward))


def policer_at(draft: Draft, egress: End) -> model.Policer:
    """Return the policer of an egress that `policed_ends` has found."""
    assert egress.shaped is not None and egress.shaped.policer is not None
    return egress.shaped.policer


def _refuse_quic(
    draft: Draft, policer: model.Policer, crossing: list[DraftFlow], users: bool
) -> bool:
    """Refuse flows whose losses and marks no node on the path can read; return whether there are
    any.
    """
    refused = False
    for flow in crossing:
        declared = flow.flow
        h3 = isinstance(declared.workload, Load) and declared.workload.http == "h3"
        encrypted = declared.transport == "quic" or declared.image is not None or h3
        if encrypted and (declared.users or not users):
            refused = True
            draft.reject(
                "policed-quic",
                f"the policer cannot read the flow"
                f" `{declared.declared or declared.name}`:"
                " QUIC encrypts",
                declared.span,
                labels=(Label(policer.span, "it learns of losses and marks from TCP's headers"),),
                help="run it over TCP, or write `policer = none`",
            )
    return refused


def _report_idle(draft: Draft, policer: model.Policer, users: bool) -> None:
    whom = "no flow of users takes this path" if users else "no flow over TCP takes this path"
    draft.reject(
        "idle-policer",
        "this policer polices nobody",
        policer.span,
        note=whom,
        help="only data sent `from` the server `to` the client is policed",
    )


def _check_marks(draft: Draft, policer: model.Policer, egress: End, ours: list[DraftFlow]) -> None:
    """Refuse feedback of marks that no queue sets, and marks that cannot be counted exactly.

    The policer sees the marks as packets leave its own queue; receivers get the same marks if
    nothing after it marks or loses packets.
    """
    queue = draft.queues.get(egress.place)
    if queue is None or not marks(queue):
        draft.reject(
            "policed-without-ecn",
            f"`{policer.feedback}` feedback needs a queue that marks",
            policer.span,
            note="the queue behind it drops only" if queue else "there is no queue behind it",
            help="write for example `red(..., ecn: on)`, or leave `feedback` out",
        )
        return
    if policer.feedback != "accurate":
        return
    for flow in ours:
        behind = flow.data[flow.data.index(egress) + 1 :]
        lossy = next((end for end in behind if end.impaired and most_loss(end.impaired)), None)
        marking = next((end for end in behind if _marks_at(draft, end)), None)
        if flow.bottleneck is not None and flow.bottleneck in behind:
            marking = marking or flow.bottleneck
        culprit = lossy or marking
        if culprit is not None:
            why = "packets are lost at random behind it" if lossy else "another queue is behind it"
            draft.reject(
                "inexact-marks",
                f"the policer cannot count all marks of `{flow.flow.name}`",
                policer.span,
                "it sees marks as packets leave its own queue",
                "police the last queue, with no losses behind it, or write `feedback: classic`",
                note=why,
            )
            return


def _marks_at(draft: Draft, end: End) -> bool:
    queue = draft.queues.get(end.place)
    return queue is not None and marks(queue)


def _check_way_back(
    draft: Draft, policer: model.Policer, egress: End, ours: list[DraftFlow]
) -> None:
    """Refuse flows whose acknowledgements return by another path where the policer must read
    them.
    """
    back = draft.peer(egress)
    for flow in ours:
        if back not in flow.acks:
            draft.reject(
                "unseen-feedback",
                f"the policer does not see the acknowledgements of `{flow.flow.name}`",
                policer.span,
                note=f"`{policer.feedback}` feedback is in them, but they return by another path",
                help="let them return over the same link, or leave `feedback` out",
            )
            return
