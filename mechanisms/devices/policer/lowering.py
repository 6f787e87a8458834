"""Policers as parts of the plan: their buckets, and which flow uses which."""

from __future__ import annotations

from collections.abc import Mapping

from fairc.cell.queues import Queue
from fairc.compiler.passes.dynamics import most_loss
from fairc.compiler.passes.report import Report
from fairc.compiler.passes.routing import Traffic
from fairc.compiler.passes.wiring import Egress, Wiring
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import LinkDevice
from fairc.dsl.network.groups import user_of

from . import cell as parts
from .declaration import Policer, TokenBucket, may_be_policed

Queues = Mapping[Egress, Queue]

LONGEST_BUCKET_NS = 64 * (2**32 - 1)


def lower(
    device: LinkDevice,
    egress: Egress,
    wiring: Wiring,
    queues: Queues,
    traffic: Traffic,
    report: Report,
) -> parts.Policer | parts.TokenBucket:
    """Return a policer, still without its seed; one bucket per user, else per source host."""
    crossing = [(flow, path) for flow, path in traffic if egress in path.data]
    if isinstance(device, TokenBucket):
        _check_bucket(report, device, egress, crossing)
        return parts.TokenBucket(
            name=device.name,
            node=egress.node,
            ingress=wiring.other(egress).name,
            egress=egress.name,
            rate_bps=device.rate_bps,
            burst_bytes=device.burst_bytes,
            source=str(device.span),
        )
    assert isinstance(device, Policer)
    users = any(flow.users for flow, _ in traffic)
    ours = [(flow, path) for flow, path in crossing if may_be_policed(flow, users)]
    refused = _refuse_quic(report, device, crossing, users)
    if not ours and not refused:
        _report_idle(report, device, users)
    if device.reads_back:
        _check_marks(report, device, egress, queues, ours)
        _check_way_back(report, device, wiring.peer(egress), ours)
    owners = {flow.name: user_of(flow) or flow.server for flow, _ in ours}
    hosts = list(dict.fromkeys(owners.values()))
    return parts.Policer(
        name=device.name,
        node=egress.node,
        ingress=wiring.other(egress).name,
        egress=egress.name,
        rate=device.rate,
        depth=device.depth,
        harshness=device.harshness,
        feedback=device.feedback,
        charge=device.charge,
        buckets=tuple(hosts),
        policed=tuple(
            parts.Policed(flow=name, bucket=hosts.index(owner)) for name, owner in owners.items()
        ),
        source=str(device.span),
    )


def _check_bucket(report: Report, bucket: TokenBucket, egress: Egress, crossing: Traffic) -> None:
    """Refuse a bucket that nothing crosses, that no full frame fits into, or that Linux cannot
    count.
    """
    frame, longest_s = egress.interface.frame_bytes, LONGEST_BUCKET_NS / 1e9
    if not crossing:
        report.reject(
            "idle-policer",
            "this policer polices nobody",
            bucket.span,
            note="no flow sends data this way",
            help="police the direction from the server to the client",
        )
    if bucket.burst_bytes < frame:
        report.reject(
            "shallow-bucket",
            "this bucket never holds the tokens of a full packet",
            bucket.span,
            note=f"a full frame has {frame} bytes, and the bucket {bucket.burst_bytes}: all are"
            " dropped",
            help=f"write a `burst` of at least {frame}B",
        )
    elif 8 * bucket.burst_bytes * 10**9 > LONGEST_BUCKET_NS * bucket.rate_bps:
        report.reject(
            "deep-bucket",
            f"this bucket takes more than {longest_s:.0f} s to fill",
            bucket.span,
            note="Linux keeps that time as a 32-bit number of ticks of 64 ns",
            help="write a smaller `burst`, or leave the policer out",
        )


def _refuse_quic(report: Report, policer: Policer, crossing: Traffic, users: bool) -> bool:
    """Refuse flows whose losses and marks no node on the path can read; return whether there are
    any.
    """
    refused = False
    for flow, _ in crossing:
        quic = flow.transport == "quic" or flow.workload.needs_quic
        encrypted = quic or flow.image is not None
        if encrypted and (flow.users or not users):
            refused = True
            report.reject(
                "policed-quic",
                f"the policer cannot read the flow `{flow.without_user}`: QUIC encrypts",
                flow.span,
                labels=(Label(policer.span, "it learns of losses and marks from TCP's headers"),),
                help="run it over TCP, or write `policer = none`",
            )
    return refused


def _report_idle(report: Report, policer: Policer, users: bool) -> None:
    whom = "no flow of users takes this path" if users else "no flow over TCP takes this path"
    report.reject(
        "idle-policer",
        "this policer polices nobody",
        policer.span,
        note=whom,
        help="only data sent `from` the server `to` the client is policed",
    )


def _check_marks(
    report: Report, policer: Policer, egress: Egress, queues: Queues, ours: Traffic
) -> None:
    """Refuse feedback of marks that no queue sets, and marks that cannot be counted exactly.

    The policer sees the marks as packets leave its own queue; receivers get the same marks if
    nothing after it marks or loses packets.
    """
    queue = queues.get(egress)
    if queue is None or not queue.marks:
        report.reject(
            "policed-without-ecn",
            f"`{policer.feedback}` feedback needs a queue that marks",
            policer.span,
            note="the queue behind it drops only" if queue else "there is no queue behind it",
            help="write for example `red(..., ecn: on)`, or leave `feedback` out",
        )
        return
    if policer.feedback != "accurate":
        return
    for flow, path in ours:
        behind = path.data[path.data.index(egress) + 1 :]
        lossy = any(each.part == "hop" and most_loss(each.way) for each in behind)
        marking = any(each in queues and queues[each].marks for each in behind)
        if lossy or marking or path.bottleneck in behind:
            why = "packets are lost at random behind it" if lossy else "another queue is behind it"
            report.reject(
                "inexact-marks",
                f"the policer cannot count all marks of `{flow.label}`",
                policer.span,
                "it sees marks as packets leave its own queue",
                "police the last queue, with no losses behind it, or write `feedback: classic`",
                note=why,
            )
            return


def _check_way_back(report: Report, policer: Policer, back: Egress, ours: Traffic) -> None:
    """Refuse flows whose acknowledgements return by another path where the policer must read
    them.

    back: the egress that leads from the policed link back to the policer.
    """
    for flow, path in ours:
        if back not in path.acks:
            report.reject(
                "unseen-feedback",
                f"the policer does not see the acknowledgements of `{flow.label}`",
                policer.span,
                note=f"`{policer.feedback}` feedback is in them, but they return by another path",
                help="let them return over the same link, or leave `feedback` out",
            )
            return
