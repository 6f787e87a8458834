"""Pass `split`: the pairs of proxies of split connections, and the flows that they split."""

from __future__ import annotations

from fairc.dsl import model
from fairc.dsl.diagnostics import Diagnostic, Severity

from . import plan
from .draft import Draft, DraftFlow, End
from .flows import MIN_BUFFER_BYTES, power_of_two
from .frames import FRAME_BYTES, PACKET_BYTES
from .ports import LAST_PORT
from .queues import bdp_bytes, queue_bytes

LEAST_PACKETS = 10  # what Linux begins with by itself
SPLIT = ("tcp", "web")
"""Transports with TCP connections."""


def split(draft: Draft) -> None:
    """Write the proxies as parts of the plan; each pair has a port of its own, behind the flows'.

    A pair splits the TCP connections of all flows whose data crosses its link from the gateway to
    the terminal, and whose acks come back the same way.
    """
    draft.peps = []
    port = max((flow.port + flow.flow.connections for flow in draft.flows), default=0)
    for pep in draft.scenario.network.peps:
        down, up = (
            _egress(draft, pep.gateway, pep.terminal),
            _egress(draft, pep.terminal, pep.gateway),
        )
        ports = {flow.port for flow in draft.flows if splits(flow, down, up)}
        if not down.rate_bps or not up.rate_bps:
            _report_unshaped(draft, pep)
        elif not ports:
            _report_idle(draft, pep)
        elif port > LAST_PORT:
            return  # said already: too-many-ports
        else:
            draft.peps.append(_plan(draft, pep, down, up, port, sorted(ports)))
            port += 1


def splits(flow: DraftFlow, down: End, up: End) -> bool:
    """Whether proxies at the ends of these egresses split a flow's connections."""
    return flow.flow.transport in SPLIT and down in flow.data and up in flow.acks


def _egress(draft: Draft, node: str, other: str) -> End:
    """Return where the link to another router leaves a node."""
    links = draft.scenario.network.links
    return next(
        end
        for end in draft.nodes[node].ends
        if {links[end.link].a, links[end.link].b} == {node, other}
    )


def _plan(
    draft: Draft, pep: model.Pep, down: End, up: End, port: int, ports: list[int]
) -> plan.Pep:
    hops = [draft.peer(end) for end in (down, up)]
    delays = [
        end.impaired.delay_ns for hop in hops for end in draft.nodes[hop.node].ends if end.impaired
    ]
    rtt_ns = sum(delays[:2])  # one hop is behind both
    rate_bps = max(down.rate_bps, up.rate_bps)
    bdp = bdp_bytes(rate_bps, rtt_ns) * PACKET_BYTES // FRAME_BYTES
    window = (
        round(pep.window.amount * bdp) if pep.window.unit == "bdp" else round(pep.window.amount)
    )
    waiting = sum(queue_bytes(draft.queues[end.place]) for end in (down, up))
    return plan.Pep(
        name=pep.name,
        terminal=pep.terminal,
        gateway=pep.gateway,
        terminal_address=up.address,
        gateway_address=down.address,
        port=port,
        ports=tuple(ports),
        cca=pep.cca,
        cca_parameters=dict(pep.cca_parameters),
        pool=pep.connections,
        window_bytes=max(LEAST_PACKETS * PACKET_BYTES, window),
        rate_bps=(down.rate_bps, up.rate_bps),
        buffer_bytes=power_of_two(max(MIN_BUFFER_BYTES, 2 * (bdp + waiting))),
        source=str(pep.span),
    )


def _report_unshaped(draft: Draft, pep: model.Pep) -> None:
    draft.report(
        Diagnostic(
            code="pep-without-rate",
            message=f"the link between the proxies of `{pep.name}` has no rate",
            span=pep.span,
            notes=("they send at the link's rate from the begin, and must know it",),
            help=f"give the link between `{pep.terminal}` and `{pep.gateway}` a `rate`, both ways",
        )
    )


def _report_idle(draft: Draft, pep: model.Pep) -> None:
    draft.report(
        Diagnostic(
            code="idle-pep",
            message=f"the proxies of `{pep.name}` split nothing",
            span=pep.span,
            notes=(f"no flow over TCP goes from `{pep.gateway}` to `{pep.terminal}`",),
            help="data goes `from` the gateway's side `to` the terminal's; nothing else is touched",
            severity=Severity.WARNING,
        )
    )
