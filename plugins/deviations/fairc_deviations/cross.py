"""Cross traffic of a flow as its plan describes it: mean and deviation at the time scale of the
buffer.

M independent sources that send at rate r while ON and nothing while OFF, both times exponential:

    sigma^2 = M r^2 pi (1 - pi) 2 (theta T - 1 + exp(-theta T)) / (theta T)^2
    pi = on / (on + off)      theta = 1 / on + 1 / off      T = buffer / C

which is the variance of the rate averaged over T: the time in which the link serves a full buffer.

Source: Loiseau et al., Performance Evaluation 67, 2010; the autocovariance of an ON/OFF source is
r^2 pi (1 - pi) exp(-theta |t|).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairc.api import Cell, Flow, frame_bytes, queue_bytes


@dataclass(frozen=True, slots=True)
class Cross:
    """What competes with a flow at its bottleneck; rates on the wire, bit/s; buffer_s: T, s."""

    capacity_bps: float
    mean_bps: float
    deviation_bps: float
    buffer_s: float


def onoff_variance(
    sources: int, rate_bps: float, on_s: float, off_s: float, over_s: float
) -> float:
    """Return the variance of the rate of ON/OFF sources averaged over a time, (bit/s)^2."""
    share, decay = on_s / (on_s + off_s), 1 / on_s + 1 / off_s
    x = decay * over_s
    # The limit for x -> 0 is 1; expm1 keeps the digits that the difference would lose.
    smoothing = 2 * (x + math.expm1(-x)) / x**2 if x > 1e-6 else 1 - x / 3
    return sources * rate_bps**2 * share * (1 - share) * smoothing


def cross_traffic(cell: Cell, flow: Flow) -> Cross | str:
    """Return the cross traffic of a flow, or why the plan does not determine its distribution."""
    node, name = flow.bottleneck
    interface = next(
        i for n in cell.nodes if n.name == node for i in n.interfaces if i.name == name
    )
    if interface.shaper is None or interface.changes:
        return "the bottleneck's rate changes"
    capacity_bps = float(interface.shaper.rate_bps)
    queue = interface.queue
    if queue is None or not queue.is_drop_tail:
        return "the bottleneck's queue is not a fifo, so it has no fixed buffer"
    buffer_s = 8 * queue_bytes(queue, frame_bytes(interface.mtu)) / capacity_bps
    mean_bps = variance = 0.0
    for other in cell.flows:
        if other.bottleneck != flow.bottleneck or other is flow:
            continue
        if other.transport != "udp":
            return (
                f"{other.name} is not a source of known rate: it runs over"
                f" {other.transport.upper()}"
            )
        sent = other.workload.plain()
        if {"on", "off"} <= sent.keys():
            if (sent["on"]["kind"], sent["off"]["kind"]) != ("exponential", "exponential"):
                return f"the times of {other.name} are not exponential"
            on_s, off_s = (sent[part]["parameters"]["mean"] for part in ("on", "off"))
            wire = frame_bytes(sent["packet_bytes"]) / sent["packet_bytes"]
            rate_bps = sent["rate_bps"] * wire
            mean_bps += other.connections * rate_bps * on_s / (on_s + off_s)
            variance += onoff_variance(other.connections, rate_bps, on_s, off_s, buffer_s)
        elif sent.keys() == {"kind"} and other.rate_bps is not None:  # it never ends
            mean_bps += other.connections * other.rate_bps * other.frame_bytes / other.mtu
        else:
            return f"the plan does not specify the rate of {other.name}"
    return Cross(capacity_bps, mean_bps, math.sqrt(variance), buffer_s)
