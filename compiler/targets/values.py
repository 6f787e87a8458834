"""A cell of the plan as the typed values of `cell/`: the content of emitted programs, without
anything derivable.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any

from fairc.cell import experiment as values
from fairc.cell import links
from fairc.cell.document import Document
from fairc.cell.expansion import expand
from fairc.compiler import plan

from . import processing

Place = tuple[str, str]


def document(
    cell: plan.Cell,
    slack_ns: int = links.REAL_TIME_SLACK_NS,
    epoch_ns: int | None = None,
    computing_is_free: bool = False,
) -> Document:
    """Return everything that a conductor needs.

    slack_ns, epoch_ns: as in `expand`. computing_is_free: whether the hosts' computation takes no
    time on that clock; then by default they delay the packets that they send.
    """
    resolved = processing.resolved(cell, computing_is_free)
    return expand(network(resolved), experiment(resolved), slack_ns, epoch_ns)


def network(cell: plan.Cell) -> values.Network:
    """Return the nodes of a cell, and the cables between them."""
    interfaces = {(n.name, i.name): i for n in cell.nodes for i in n.interfaces}

    def end(place: Place) -> values.End:
        return values.End(*place, interfaces[place].address)

    return values.Network(
        {node.name: node.kind for node in cell.nodes},
        [values.Link(end(c.a), end(c.b), interfaces[c.a].mtu) for c in cell.cables],
    )


def experiment(cell: plan.Cell) -> values.Experiment:
    """Return what runs in the network of a resolved cell."""
    first = first_addresses(cell)
    seeds = {
        place: nic.delay.seed
        for place, nic in processing.nics(cell).items()
        if nic.delay is not None and nic.delay.seed is not None
    }
    return values.Experiment(
        id=cell.id,
        repetition=cell.repetition,
        deadline_ns=cell.deadline_ns,
        flows=[flow(each, cell, first) for each in cell.flows],
        routes={node.name: list(node.routes) for node in cell.nodes if node.routes},
        egress=[
            egress(node.name, interface)
            for node in cell.nodes
            for interface in node.interfaces
            if interface.queue or interface.impairment
        ],
        captures=[
            values.Capture(
                c.node,
                c.interface,
                c.direction,
                c.name,
                form="headers" if c.point == "sender" else "pcap",
            )
            for c in cell.captures
        ],
        peps=[dataclasses.replace(pep, source="") for pep in cell.peps],
        policers=[dataclasses.replace(policer, source="") for policer in cell.policers],
        duration_ns=cell.duration_ns,
        stop=cell.stop,
        processing=values.Processing(cell.processing_ns or 0, seeds) if seeds else None,
        objects={each.cca: each.cca_object for each in cell.flows if each.cca and each.cca_object},
    )


def first_addresses(cell: plan.Cell) -> dict[str, str]:
    """Return the address of each node's first cable, which a flow has that names none."""
    found: dict[str, str] = {}
    for link in network(cell).links:
        for end in (link.a, link.b):
            found.setdefault(end.node, end.address.partition("/")[0])
    return found


def flow(
    flow: plan.Flow, cell: plan.Cell | None = None, first: Mapping[str, str] | None = None
) -> values.Flow:
    """Return a flow of a resolved cell (None: one of no cell, whose hosts take no time for
    packets).

    first: addresses that can be left out.
    """
    known = first or {}
    given: dict[str, Any] = {"address": flow.address, "client_address": flow.client_address}
    if given["address"] == known.get(flow.server):
        given["address"] = ""
    if given["client_address"] == known.get(flow.client):
        given["client_address"] = ""
    converted: values.Flow = _same(
        values.Flow,
        flow,
        gaps_seed=None if cell is None else processing.gaps_seed(flow, cell),
        **given,
    )
    return converted


def egress(node: str, interface: plan.Interface) -> links.Egress:
    """Return what packets pass that leave through an interface."""
    return links.Egress(
        node,
        interface.name,
        interface.shaper,
        interface.queue,
        interface.impairment,
        interface.bottleneck,
        interface.changes,
        interface.repeat_ns,
    )


def _same(kind: Any, part: plan.Model, **others: Any) -> Any:
    """Return a value whose fields are those of a part of the plan, but for others."""
    return kind(**{n: getattr(part, n) for n in _given(kind) if n not in others}, **others)


@cache
def _given(kind: type) -> tuple[str, ...]:
    """Return the names of what a value is made from."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)
