"""The pairs of proxies of split connections, and the flows that they split."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from fairc.cell.frames import frame_bytes
from fairc.cell.queues import queue_bytes
from fairc.compiler import plan
from fairc.compiler.passes.flows import MIN_BUFFER_BYTES, power_of_two
from fairc.compiler.passes.ports import LAST_PORT
from fairc.compiler.passes.queues import bdp_bytes
from fairc.compiler.passes.report import Report
from fairc.compiler.passes.routing import RoutedPath, Traffic, between
from fairc.compiler.passes.wiring import Egress, Wiring
from fairc.dsl.core.units import BDP, DATA
from fairc.dsl.model import Flow

from . import cell as parts
from .declaration import Pep

LEAST_PACKETS = 10  # what Linux begins with by itself
SPLIT = ("tcp", "web")
"""Transports with TCP connections."""


@dataclass(frozen=True, slots=True)
class _Link:
    """The egresses from the gateway to the terminal, and back."""

    down: list[Egress]
    up: list[Egress]

    @property
    def rates_bps(self) -> tuple[int, int]:
        """Its rates down and up, bit/s of frames of Linux; 0 where it has none."""
        down, up = (max(egress.packet_bps for egress in way) for way in (self.down, self.up))
        return down, up

    def splits(self, flow: Flow, path: RoutedPath) -> bool:
        """Whether proxies at its ends split a flow's connections."""
        crosses = self.down[0] in path.data and self.up[0] in path.acks
        return crosses and flow.transport in SPLIT


def of_network(
    wiring: Wiring,
    queues: Mapping[Egress, plan.Queue],
    traffic: Traffic,
    ports: Mapping[str, int],
    report: Report,
) -> tuple[parts.Pep, ...]:
    """Return the proxies; each pair has its own port, after those of the flows.

    A pair splits the TCP connections of all flows whose data crosses its link from the gateway to
    the terminal, and whose acks come back the same way.
    """
    peps: list[parts.Pep] = []
    port = max((ports[flow.name] + flow.connections for flow, _ in traffic), default=0)
    for pep in wiring.network.proxies:
        if not isinstance(pep, Pep):
            continue
        down = between(wiring, pep.gateway, pep.terminal)
        link = _Link(down, between(wiring, pep.terminal, pep.gateway))
        crossing = [flow for flow, path in traffic if link.splits(flow, path)]
        for flow in crossing:
            for finding in flow.workload.unsplittable(flow, pep.name):
                report(finding)
            if flow.dscp:
                _report_code_point(report, pep, flow)
        _check_accurate_ecn(report, pep, crossing)
        if not all(link.rates_bps):
            _report_unshaped(report, pep)
        elif not crossing:
            _report_idle(report, pep)
        elif port > LAST_PORT:
            break  # already reported: too-many-ports
        else:
            intercepted = sorted({ports[flow.name] for flow in crossing})
            peps.append(_plan(queues, pep, link, port, intercepted))
            port += 1
    return tuple(peps)


def _plan(
    queues: Mapping[Egress, plan.Queue], pep: Pep, link: _Link, port: int, ports: list[int]
) -> parts.Pep:
    egresses = (*link.down, *link.up)
    mtu = egresses[0].interface.mtu
    rtt_ns = sum(egress.delay_ns for egress in egresses)
    bdp = bdp_bytes(max(link.rates_bps), rtt_ns) * mtu // frame_bytes(mtu)
    window = round(pep.window.bits({BDP: Fraction(8 * bdp), DATA: Fraction(1)}) / 8)
    crossed = (queues[egress] for egress in egresses if egress in queues)
    waiting = sum(queue_bytes(queue, frame_bytes(mtu)) for queue in crossed)
    return parts.Pep(
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


def _check_accurate_ecn(report: Report, pep: Pep, crossing: Sequence[Flow]) -> None:
    """Report flows that disagree on what a gateway asks for in all connections that it opens."""
    accurate = [flow for flow in crossing if flow.options.accurate_ecn]
    others = [flow for flow in crossing if not flow.options.accurate_ecn]
    if accurate and others:
        report.reject(
            "conflicting-options",
            f"`{accurate[0].label}` and `{others[0].label}` disagree on `ecn = accurate` of the"
            f" gateway of `{pep.name}`, which opens their connections to servers",
            others[0].span,
            "Linux asks for AccECN in all connections of a node, or in none",
            "write `ecn = accurate` in all flows whose connections are split, or in none",
        )


def _report_code_point(report: Report, pep: Pep, flow: Flow) -> None:
    report.reject(
        "dscp-over-pep",
        f"the code point of the flow `{flow.label}` would be lost at the proxies of `{pep.name}`",
        flow.span,
        "they send its data over connections of their own, which have none",
        "leave `dscp` out, or use the link without its `pep`",
    )


def _report_unshaped(report: Report, pep: Pep) -> None:
    report.reject(
        "pep-without-rate",
        f"the link between the proxies of `{pep.name}` has no rate",
        pep.span,
        "they send at the link's rate from the start, so they must know it",
        f"give the link between `{pep.terminal}` and `{pep.gateway}` a `rate`, both ways",
    )


def _report_idle(report: Report, pep: Pep) -> None:
    report.warn(
        "idle-pep",
        f"the proxies of `{pep.name}` split nothing",
        pep.span,
        f"no flow over TCP goes from `{pep.gateway}` to `{pep.terminal}`",
        "only data sent `from` the gateway's side `to` the terminal's is split",
    )
