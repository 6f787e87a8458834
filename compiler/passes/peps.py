"""Passes `reach` and `split`: the pairs of proxies of split connections, and the flows that they
split.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fairc.cell.frames import frame_bytes
from fairc.cell.queues import queue_bytes
from fairc.compiler import plan
from fairc.dsl import model
from fairc.dsl.core.units import BDP, DATA
from fairc.words.workloads import Iperf3

from .draft import Draft, DraftFlow, End
from .flows import MIN_BUFFER_BYTES, power_of_two
from .ports import LAST_PORT
from .queues import bdp_bytes

LEAST_PACKETS = 10  # what Linux begins with by itself
SPLIT = ("tcp", "web")
"""Transports with TCP connections."""


@dataclass(frozen=True, slots=True)
class _Link:
    """The egresses from the gateway to the terminal, and back."""

    down: list[End]
    up: list[End]

    @property
    def rates_bps(self) -> tuple[int, int]:
        """Its rates down and up, bit/s on the wire; 0 where it has none."""
        down, up = (max(end.rate_bps for end in way) for way in (self.down, self.up))
        return down, up

    def splits(self, flow: DraftFlow) -> bool:
        """Whether proxies at its ends split a flow's connections."""
        crosses = self.down[0] in flow.data and self.up[0] in flow.acks
        return crosses and flow.flow.transport in SPLIT


def split(draft: Draft) -> None:
    """Write the proxies as parts of the plan; each pair has its own port, after those of the flows.

    A pair splits the TCP connections of all flows whose data crosses its link from the gateway to
    the terminal, and whose acks come back the same way.
    """
    draft.peps = []
    port = max((flow.port + flow.flow.connections for flow in draft.flows), default=0)
    for pep in draft.scenario.network.peps:
        link = _Link(_way(draft, pep.gateway, pep.terminal), _way(draft, pep.terminal, pep.gateway))
        ports = {flow.port for flow in draft.flows if link.splits(flow)}
        for flow in draft.flows:
            if link.splits(flow) and isinstance(flow.flow.workload, Iperf3):
                _report_iperf3(draft, pep, flow)
        if not all(link.rates_bps):
            _report_unshaped(draft, pep)
        elif not ports:
            _report_idle(draft, pep)
        elif port > LAST_PORT:
            return  # already reported: too-many-ports
        else:
            draft.peps.append(_plan(draft, pep, link, port, sorted(ports)))
            port += 1


def reach(draft: Draft) -> None:
    """Pass `reach`: routes between the proxies of each pair, over the nodes in their link."""
    for pep in draft.scenario.network.peps:
        for node, other in ((pep.gateway, pep.terminal), (pep.terminal, pep.gateway)):
            way = _way(draft, node, other)
            last = draft.peer(way[-1])
            for end in way:
                via = draft.peer(end)
                if via is not last:  # else it is the neighbour on this cable
                    route = plan.Route(destination=f"{last.address}/32", via=via.address)
                    draft.nodes[end.node].routes.append(route)


def _way(draft: Draft, node: str, other: str) -> list[End]:
    """Return the egresses from a proxy to the other one, over the link between them."""
    links = draft.scenario.network.links
    (egress,) = (
        end
        for end in draft.nodes[node].ends
        if {links[end.link].a, links[end.link].b} == {node, other}
    )
    way = [egress]
    while (arrived := draft.peer(way[-1])).node != other:
        way += [end for end in draft.nodes[arrived.node].ends if end is not arrived]
    return way


def _plan(draft: Draft, pep: model.Pep, link: _Link, port: int, ports: list[int]) -> plan.Pep:
    ends = (*link.down, *link.up)
    mtu = ends[0].mtu
    rtt_ns = sum(end.impaired.delay_ns for end in ends if end.impaired)
    bdp = bdp_bytes(max(link.rates_bps), rtt_ns) * mtu // frame_bytes(mtu)
    window = round(pep.window.bits({BDP: Fraction(8 * bdp), DATA: Fraction(1)}) / 8)
    queues = (draft.queues.get(end.place) for end in ends)
    waiting = sum(queue_bytes(queue, frame_bytes(mtu)) for queue in queues if queue)
    return plan.Pep(
        name=pep.name,
        terminal=pep.terminal,
        gateway=pep.gateway,
        terminal_address=link.up[0].address,
        gateway_address=link.down[0].address,
        port=port,
        ports=tuple(ports),
        cca=pep.cca,
        cca_parameters=dict(pep.cca_parameters),
        pool=pep.connections,
        mtu=mtu,
        window_bytes=max(LEAST_PACKETS * mtu, window),
        rate_bps=link.rates_bps,
        buffer_bytes=power_of_two(max(MIN_BUFFER_BYTES, 2 * (bdp + waiting))),
        source=str(pep.span),
    )


def _report_iperf3(draft: Draft, pep: model.Pep, flow: DraftFlow) -> None:
    draft.reject(
        "iperf3-over-pep",
        f"iperf3 of the flow `{flow.flow.name}` cannot run over the proxies of `{pep.name}`",
        flow.flow.span,
        "they would also split its control connection, so its data could not be identified",
        "use `bulk` or `file`, or check the link without its `pep`",
    )


def _report_unshaped(draft: Draft, pep: model.Pep) -> None:
    draft.reject(
        "pep-without-rate",
        f"the link between the proxies of `{pep.name}` has no rate",
        pep.span,
        "they send at the link's rate from the start, so they must know it",
        f"give the link between `{pep.terminal}` and `{pep.gateway}` a `rate`, both ways",
    )


def _report_idle(draft: Draft, pep: model.Pep) -> None:
    draft.warn(
        "idle-pep",
        f"the proxies of `{pep.name}` split nothing",
        pep.span,
        f"no flow over TCP goes from `{pep.gateway}` to `{pep.terminal}`",
        "only data sent `from` the gateway's side `to` the terminal's is split",
    )
