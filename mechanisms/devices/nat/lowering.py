"""NATs as parts of the plan: which hosts are behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairc.cell.queues import Queue
from fairc.compiler.passes.report import Report
from fairc.compiler.passes.routing import Traffic
from fairc.compiler.passes.wiring import Egress, Wiring
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import Flow, LinkDevice

from . import cell as parts
from .declaration import Nat


def lower(
    device: LinkDevice,
    egress: Egress,
    wiring: Wiring,
    queues: Mapping[Egress, Queue],
    traffic: Traffic,
    report: Report,
) -> parts.Nat:
    """Return a NAT. Reports flows that it cannot translate, and one that no flow passes."""
    assert isinstance(device, Nat)
    back = wiring.peer(egress)
    hosts: dict[str, None] = {}
    in_front = False
    for flow, path in traffic:
        out = path.data if flow.workload.part.opened_by_sender else path.acks
        into = path.acks if flow.workload.part.opened_by_sender else path.data
        if egress in into or back in out:
            in_front = True
            report.reject(
                "nat-in-front",
                f"`{flow.label}` would be opened from outside of this NAT",
                device.span,
                "a NAT knows only connections that its own side opens",
                "swap `from` and `to` of the flow, or give the NAT to the other direction",
                labels=(Label(flow.span, "this flow"),),
            )
        elif egress in out:
            hosts[flow.server if flow.workload.part.opened_by_sender else flow.client] = None
            _check_flow(device, flow, (*out, *into), report)
    if not hosts and not in_front:
        report.reject(
            "idle-nat",
            "no flow passes this NAT",
            device.span,
            help="put it on a link that connections are opened over, towards their servers",
        )
    return parts.Nat(
        name=device.name,
        node=egress.node,
        ingress=wiring.other(egress).name,
        egress=egress.name,
        times_ns=device.times_ns,
        hosts=tuple(hosts) or (egress.node,),
        source=str(device.span),
    )


def _check_flow(device: Nat, flow: Flow, way: Sequence[Egress], report: Report) -> None:
    passed = False  # this NAT: a pair is reported once, for the first of the two
    for each in way:
        other = each.way.device
        if other is device:
            passed = True
        elif isinstance(other, Nat) and each.part == "queue" and passed:
            report.reject(
                "nat-behind-nat",
                f"the packets of `{flow.label}` pass two NATs",
                device.span,
                "each would change the ports back that the other one has given",
                "keep one of them",
                labels=(Label(other.span, "the other one"),),
            )
        if each.way.impairment.damaged:
            report.reject(
                "nat-beside-damage",
                f"the packets of `{flow.label}` pass a NAT, and a link that damages some",
                device.span,
                "a NAT that writes a new checksum would make a damaged packet right",
                "leave out the NAT or the damage",
                labels=(Label(each.way.span, "this link"),),
            )
