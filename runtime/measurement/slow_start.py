"""The duration of slow start in theory, end to end, with which page loads are compared."""

from __future__ import annotations

import math

from fairc.compiler.plan import Cell, Flow

from .artefacts import NS
from .paths import Paths

BITS = 8


def is_split(cell: Cell, flow: Flow, protocol: str) -> bool:
    """Return whether a PEP splits a flow's connections of an HTTP version; QUIC's are never
    split.
    """
    return protocol != "h3" and any(flow.port in each.split_ports for each in cell.devices)


def slow_start_s(cell: Cell, flow: Flow, protocol: str) -> float | None:
    """Return how long the congestion window takes to grow to the BDP, s.

    None where a PEP splits the connection, or the bottleneck has no shaper.

    t = log2(BDP / IW) * RTT, at least 0, with BDP = rate of the bottleneck x base RTT, and IW the
    initial window in full frames (Thomas et al., QUIC and SATCOM, 2018; the window doubles once a
    round trip: RFC 9438, section 4.10; RFC 9002, section 7.3.1). A page that is smaller than the
    BDP arrives sooner.
    """
    shaper = Paths(cell).interfaces[flow.bottleneck].shaper
    if shaper is None or is_split(cell, flow, protocol):
        return None
    rtt_s = flow.base_rtt_ns * NS
    bdp_bytes = shaper.rate_bps * rtt_s / BITS
    window_bytes = flow.options.initial_window_packets * flow.frame_bytes
    return max(0.0, math.log2(bdp_bytes / window_bytes)) * rtt_s if bdp_bytes > 0 else 0.0
