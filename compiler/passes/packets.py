"""Passes `limit_packets` and `check_packets`: no packet is larger than its path allows.

Every sender on a flow's path learns the smallest MTU of the remaining path from its route (`ip
route ... mtu N`), like a path MTU that was discovered earlier (RFC 1191): TCP uses it for its
segments and announces it, so nothing is ever fragmented or rejected on the way.
"""

from __future__ import annotations

from fairc.cell.frames import MTU
from fairc.compiler import plan
from fairc.dsl.model import Flow
from fairc.words.workloads import Iperf3, Load, OnOff

from .draft import Draft, DraftFlow, DraftNode, End
from .wiring import host_address

UDP_IP_BYTES = 20 + 8
# A datagram of QUIC must be able to have 1200 bytes (RFC 9000, section 14).
QUIC_BYTES = 1200
# Chromium begins with 1250 (kDefaultMaxPacketSize) whatever the route says, and falls back to TCP.
CHROMIUM_BYTES = 1250


def limit_packets(draft: Draft) -> None:
    """Put the path MTU into the routes of the nodes for which it is below their own cable's.

    A host uses the smaller one of both directions, because TCP does.
    """
    for flow in draft.flows:
        for path, host in ((flow.data, flow.flow.client), (flow.acks, flow.flow.server)):
            address = host_address(draft, host)
            for number, end in enumerate(path):
                node = draft.nodes[end.node]
                mtu = flow.mtu if number == 0 else min(further.mtu for further in path[number:])
                if mtu < end.mtu and node.kind != "hop":
                    _limit(node, f"{address}/32", draft.peer(end), mtu)


def _limit(node: DraftNode, destination: str, via: End, mtu: int) -> None:
    kept = [route for route in node.routes if route.destination != destination]
    node.routes[:] = [*kept, plan.Route(destination=destination, via=via.address, mtu=mtu)]


def check_packets(draft: Draft) -> None:
    """Refuse flows whose packets do not fit their path; warn where QUIC's are smaller than it
    allows.
    """
    for flow in draft.flows:
        transport, workload = flow.flow.transport, flow.flow.workload
        path = f"the smallest MTU on its path is {flow.mtu} bytes"
        least = _datagram_bytes(flow.flow)
        if least and flow.mtu < least + UDP_IP_BYTES:
            draft.reject(
                "mtu-below-quic",
                f"QUIC cannot run over the path of the flow `{flow.flow.name}`",
                flow.flow.span,
                f"{path}; QUIC here needs {least} for a datagram and {UDP_IP_BYTES} for its"
                " headers",
                f"set the MTU to {least + UDP_IP_BYTES}B or more, or use TCP",
            )
        elif least and flow.mtu > MTU:
            draft.warn(
                "quic-below-mtu",
                f"the packets of `{flow.flow.name}` are smaller than its path allows",
                flow.flow.span,
                f"{path}, and QUIC sends IP packets of at most {MTU} bytes here",
                "TCP uses the whole MTU: the report lists this as a confounder",
            )
        if transport == "udp" and isinstance(workload, OnOff | Iperf3):
            sending = workload.plan if isinstance(workload, Iperf3) else workload
            packet = sending.packet_bytes
            if packet is not None and packet > flow.mtu:
                draft.reject(
                    "packet-above-mtu",
                    f"the packets of the flow `{flow.flow.name}` do not fit its path",
                    flow.flow.span,
                    f"`packet` is {packet} bytes, {path}",
                    "reduce `packet`, or leave it out to use what the path allows",
                )
        if transport == "udp" and isinstance(workload, Iperf3):
            _check_whole_datagrams(draft, flow, workload)


def _check_whole_datagrams(draft: Draft, flow: DraftFlow, workload: Iperf3) -> None:
    payload = (workload.plan.packet_bytes or flow.mtu) - UDP_IP_BYTES
    if workload.plan.bytes is not None and workload.plan.bytes % payload:
        whole = -(-workload.plan.bytes // payload) * payload
        draft.reject(
            "inexact-iperf3",
            f"iperf3 cannot send exactly {workload.plan.bytes} bytes: it would send {whole}",
            flow.flow.span,
            f"it sends whole datagrams of {payload} bytes",
            f"write `bytes: {whole}B`; for an exact size, use `file(...)`",
        )


def _datagram_bytes(flow: Flow) -> int:
    """Return the smallest maximum datagram size that a flow's QUIC needs, bytes; 0 without QUIC."""
    if isinstance(flow.workload, Load) and "h3" in flow.workload.protocols:
        return CHROMIUM_BYTES if flow.workload.client == "chromium" else QUIC_BYTES
    return QUIC_BYTES if flow.transport == "quic" else 0
