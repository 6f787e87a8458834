"""Whether the packets of flows fit their paths."""

from __future__ import annotations

from fairc.cell.frames import MTU
from fairc.dsl.model import Flow
from fairc.mechanisms.workloads.iperf3.declaration import Iperf3
from fairc.mechanisms.workloads.load.declaration import Load

from .report import Report
from .routing import Traffic
from .tunnels import labels

UDP_IP_BYTES = 20 + 8
# A datagram of QUIC must be able to have 1200 bytes (RFC 9000, section 14).
QUIC_BYTES = 1200
# Chromium begins with 1250 (kDefaultMaxPacketSize) whatever the route says, and falls back to TCP.
CHROMIUM_BYTES = 1250


def check_packets(traffic: Traffic, report: Report) -> None:
    """Refuse flows whose packets do not fit their path; warn where QUIC's are smaller than it
    allows.
    """
    for flow, path in traffic:
        transport, workload = flow.transport, flow.workload
        least = _datagram_bytes(flow)
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
        packet = workload.datagram_bytes
        if transport == "udp" and packet is not None and packet > path.mtu:
            report.reject(
                "packet-above-mtu",
                f"the packets of the flow `{flow.label}` do not fit its path",
                flow.span,
                f"`packet` is {packet} bytes, {smallest}",
                "reduce `packet`, or leave it out to use what the path allows",
                labels=labels(path),
            )
        if transport == "udp" and isinstance(workload, Iperf3):
            _check_whole_datagrams(report, flow, path.mtu, workload)


def _check_whole_datagrams(report: Report, flow: Flow, mtu: int, workload: Iperf3) -> None:
    payload = (workload.part.packet_bytes or mtu) - UDP_IP_BYTES
    if workload.part.bytes is not None and workload.part.bytes % payload:
        whole = -(-workload.part.bytes // payload) * payload
        report.reject(
            "inexact-iperf3",
            f"iperf3 cannot send exactly {workload.part.bytes} bytes: it would send {whole}",
            flow.span,
            f"it sends whole datagrams of {payload} bytes",
            f"write `bytes: {whole}B`; for an exact size, use `file(...)`",
        )


def _datagram_bytes(flow: Flow) -> int:
    """Return the smallest maximum datagram size that a flow's QUIC needs, bytes; 0 without QUIC."""
    if isinstance(flow.workload, Load) and "h3" in flow.workload.protocols:
        return CHROMIUM_BYTES if flow.workload.client == "chromium" else QUIC_BYTES
    return QUIC_BYTES if flow.transport == "quic" else 0
