"""Checks that the packets of flows fit their paths."""

from __future__ import annotations

from fairc.cell.frames import MTU, QUIC_BYTES, UDP_IP_BYTES, frame_bytes
from fairc.cell.links import COUNTED_NS
from fairc.dsl.core.diagnostics import Label
from fairc.dsl.model import Network

from .dynamics import most_bps
from .report import Report
from .routing import Traffic
from .tunnels import labels


def check_numbered(network: Network, until_ns: int, report: Report) -> None:
    """Refuse losses of numbered packets in cells that last longer than packets are counted."""
    for link in network.links:
        for way in (link.forward, link.backward):
            if any(kind.numbers for kind in way.chosen) and until_ns > COUNTED_NS:
                report.reject(
                    "late-number",
                    f"packets have numbers for {COUNTED_NS / 1e9:.0f} s only",
                    way.span,
                    f"a cell may last {until_ns / 1e9:.0f} s",
                    "give the experiment a shorter `deadline` or `duration`",
                )


def warn_unmet(network: Network, until_ns: int, report: Report) -> None:
    """Warn where no packet of a link can meet a loss above a size, or the gap of its reordering."""
    for link in network.links:
        for way in (link.forward, link.backward):
            sizes = [kind.above_bytes for kind in way.chosen if kind.above_bytes is not None]
            if any(size >= way.mtu for size in sizes):
                report.warn(
                    "nothing-to-lose",
                    f"no packet of this link is above {max(sizes)} bytes, so none is lost",
                    way.span,
                    f"its MTU is {way.mtu} bytes",
                    "write a smaller `above`, or give the link a larger `mtu`",
                )
            state, packet_bits = way.impairment, 8 * frame_bytes(way.mtu)
            packets = most_bps(way) * until_ns // (packet_bits * 10**9)
            if state.reorder and state.gap > packets > 0:
                report.warn(
                    "nothing-to-reorder",
                    f"at most one of {state.gap:,} packets of this link skips the delay",
                    way.span,
                    f"the cell lasts at most {until_ns / 1e9:g} s, in which the link carries"
                    f" {packets:,} packets of {way.mtu} bytes",
                    "write a smaller `gap`, or make the cell longer",
                )


def check_packets(traffic: Traffic, network: Network, report: Report) -> None:
    """Refuse flows whose packets do not fit their path; warn where QUIC's are smaller than it
    allows, and refuse what keeps a flow from discovering its path's MTU.
    """
    for flow, path in traffic:
        transport, workload = flow.transport, flow.workload
        proxies = network.proxies
        if flow.options.discovers_mtu and (path.tunnels or proxies):
            report.reject(
                "hidden-mtu",
                f"`{flow.label}` cannot discover the MTU of its path",
                flow.span,
                "tunnels and proxies here answer no packet that is too large",
                "leave `pmtu = discover` out: hosts then know it",
                labels=tuple(Label(pair.span, "a proxy") for pair in proxies) or labels(path),
            )
        least = workload.quic_datagram_bytes or (QUIC_BYTES if transport == "quic" else 0)
        smallest = f"the smallest MTU on its path is {path.mtu} bytes"
        if least and path.mtu < least + UDP_IP_BYTES:
            report.reject(
                "mtu-below-quic",
                f"QUIC cannot run over the path of the flow `{flow.label}`",
                flow.span,
                f"{smallest}; QUIC here needs {least} for a datagram and {UDP_IP_BYTES} for its"
                " headers",
                f"set the MTU to {least + UDP_IP_BYTES}B or more, or use TCP",
                labels=labels(path),
            )
        elif least and path.mtu > MTU:
            report.warn(
                "quic-below-mtu",
                f"the packets of `{flow.label}` are smaller than its path allows",
                flow.span,
                f"{smallest}, and QUIC sends IP packets of at most {MTU} bytes here",
                "TCP uses the whole MTU: the report lists this as a confounder",
            )
        packet = workload.lower(flow, path, 0, {}).datagram_bytes if transport == "udp" else None
        if packet is not None and packet > path.mtu:
            report.reject(
                "packet-above-mtu",
                f"the packets of the flow `{flow.label}` do not fit its path",
                flow.span,
                f"`packet` is {packet} bytes, {smallest}",
                "reduce `packet`, or leave it out for the largest that the path allows",
                labels=labels(path),
            )
