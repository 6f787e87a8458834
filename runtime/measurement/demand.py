"""The demand of a flow of a plan, on the wire."""

from __future__ import annotations

import math

from fairc.cell.frames import segment_bytes, stream_bytes
from fairc.cell.framing import Framing
from fairc.compiler.plan import Flow


def demand_bps(flow: Flow, framing: Framing) -> float | None:
    """Return what a flow wants on the wire at most, on average, bit/s of frames. framing: of the
    link at its bottleneck.

    Infinite where that is all there is; None where it is not known, as of programs of the user's
    own, and of videos and page loads, whose demand depends on what they got before.
    """
    workload = flow.workload
    if workload.adapts:
        return None
    offered_bps = workload.offered_bps(flow.connections, flow.rate_bps)
    if offered_bps is None:
        return math.inf
    full_bytes = framing.bytes(flow.mtu + flow.header_bytes)
    if workload.of_payload:
        over_quic = flow.transport == "quic"
        payload = stream_bytes(flow.mtu) if over_quic else segment_bytes(flow.mtu)
        return offered_bps * full_bytes / payload
    packet = workload.datagram_bytes
    if packet is not None and flow.transport == "udp":
        return offered_bps * framing.bytes(packet + flow.header_bytes) / packet
    return offered_bps * full_bytes / flow.mtu
