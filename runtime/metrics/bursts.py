"""Sizes of a flow's bursts: packets that leave their sender back to back.

    packets i and i + 1 are of one burst if  t(i + 1) - t(i) <= 8 * L(i) / R + gap

over the flow's packets with data that its sender transmitted after the warm-up, in their order. t:
when the transmission of a packet on its sender's link begins. L: bytes of its frame. R: the rate of
that link, so 8 L / R is how long it takes to send. gap: the option `gap`; by default a tenth of the
time that a full frame takes. A packet that follows within a gap is of the burst of the packet
before it; packets of other flows in between separate bursts. Each burst counts once, so the mean is
packets over bursts, and half of the bursts are no larger than bursts.p50. bursts.max is the largest
one: what a queue must absorb where the sender's link is much faster than the bottleneck.

1: every packet is sent alone, as by a pacer, or by ACKs that arrive one by one. Where TCP leaves
its segmentation to its interface (`offload = on`) they are frames as well, as they leave that
(measurement.md, rule 4). Percentiles interpolate linearly; the 95th needs 20 values, the 99th 100.
The curve `distribution` has the whole distribution over bursts.

Unit: packets. Source: Aggarwal, Savage and Anderson, Understanding the Performance of TCP Pacing,
INFOCOM 2000; Blanton and Allman, On the Impact of Bursting on TCP Performance, PAM 2005, section 2
(bursts as packets sent back to back); measurement.md, rules 3, 4 and 14.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.pcap import TCP, Packets
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared
from .distribution import TOO_FEW, curves_of, percentile_values, percentiles, stored

MEAN = declared("bursts.mean", "mean number of packets of a burst")
MAX = declared("bursts.max", "packets of the largest burst")
COUNT = declared("bursts.count", "bursts")
PERCENTILES = percentile_values("bursts", "the packets of a burst")
VALUES = (MEAN, *PERCENTILES, MAX, COUNT)

TCP_BYTES, UDP_BYTES = 14 + 20 + 32, 14 + 20 + 8
"""Ethernet, IPv4 and the transport: TCP with timestamps."""


def sizes(
    start_s: NDArray[np.float64], lasts_s: NDArray[np.float64], gap_s: float
) -> NDArray[np.float64]:
    """Return the number of packets of each burst. start_s: when the transmission of each packet
    begins, ascending; lasts_s: how long it takes; shape (packets,).
    """
    if not len(start_s):
        return np.empty(0)
    # A nanosecond more: both are rounded to whole ones.
    alone = np.diff(start_s) > lasts_s[:-1] + gap_s + 1e-9
    begins = np.flatnonzero(np.concatenate(([True], alone)))
    return np.diff(np.append(begins, len(start_s))).astype(np.float64)


def _lasts_s(flow: FlowRecord, packets: Packets, rate_bps: int) -> Floats:
    headers = np.where(packets.protocol == TCP, TCP_BYTES, UDP_BYTES)
    if not rate_bps:
        return np.zeros(len(packets))
    frames: Floats = (packets.payload_bytes + headers) * 8 / rate_bps
    return frames


def _sizes(measurement: Measurement, flow: FlowRecord, request: MetricRequest) -> Floats | str:
    """Return the bursts of a flow, or why they are not known."""
    seen = measurement.at_sender(flow)
    if isinstance(seen, str):
        return seen
    data = seen[0]
    place = measurement.data_paths[flow.name][0]
    shaper = measurement.paths.interfaces[place].shaper
    rate_bps = shaper.rate_bps if shaper is not None else 0
    full_s = 8 * flow.plan.frame_bytes / rate_bps if rate_bps else 0.0
    gap_s = float(request.options.get("gap", full_s / 10))
    t_s: Floats = (data.time_ns - flow.epoch_ns).astype(np.float64) * NS
    counts = measurement.counts(t_s)
    data = data.select(counts)
    return sizes(t_s[counts], _lasts_s(flow, data, rate_bps), gap_s)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the sizes of each requested flow's bursts."""
    found: list[MetricValue] = []
    for flow in measurement.sessions(request.sessions):
        bursts = _sizes(measurement, flow, request)
        if isinstance(bursts, str) or not len(bursts):
            none = f"no packet of the flow was sent {measurement.when}"
            why = bursts if isinstance(bursts, str) else none
            found += (value.of(None, flow.name, why) for value in VALUES)
            continue
        numbers = (bursts.mean(), *percentiles(bursts), bursts.max(), len(bursts))
        found += (v.of(float(n), flow.name, TOO_FEW) for v, n in zip(VALUES, numbers, strict=True))
    return tuple(found)


METRIC = Metric(
    "bursts",
    VALUES,
    compute,
    curves=curves_of("bursts", _sizes),
    distribution=stored(
        "bursts", "bursts that began after the warm-up", "bursts", "have at most this many packets"
    ),
)
