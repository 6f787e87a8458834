"""ACKs of a flow for each of its packets with data.

    acks       = A / D
    acks.count = A

D: packets with data that the flow's sender transmitted after the warm-up. A: packets without data
that arrived from the receiver in this time, the last one of a handshake among them. Without `to`
this time lasts until queues have drained after the cell's end, so `acks.count` over the cell's time
is a little more than a rate. Both are seen at the sender's interface, so D counts packets that the
network loses and A does not count ACKs that it loses or thins. TCP: D are segments with payload, A
are segments with ACK and without payload, other than those that open or reset a connection. QUIC
encrypts what a packet is for: D and A are all datagrams of each direction, the few of handshakes
and requests among them. UDP has no ACKs, so there is no value.

1/2: a receiver that delays ACKs (RFC 9293: at least one for every second full segment); 1: one that
does not. Less, where ACKs are thinned or compressed on the way, or are asked for less often; more
than the receiver's own share where losses make it acknowledge each packet at once.

Unit: 1 (acks.count: packets). Source: RFC 9293, section 3.8.6.3 (delayed ACKs); RFC 9000, section
13.2.2; RFC 3449, section 5 (ACK filtering); measurement.md, rule 14.
"""

from __future__ import annotations

import numpy as np

from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.pcap import Packets
from fairc.runtime.measurement.record import Floats
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, declared, per_flow

ACKS = declared("acks", "ACKs that arrived for each packet with data that was sent")
COUNT = declared("acks.count", "ACKs that arrived at the sender")


def _number(measurement: Measurement, flow: FlowRecord, packets: Packets) -> int:
    t_s: Floats = (packets.time_ns - flow.epoch_ns).astype(np.float64) * NS
    return int(measurement.counts(t_s).sum())


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    seen = measurement.at_sender(flow)
    if flow.plan.transport == "udp":
        seen = "nobody acknowledges datagrams of UDP"
    if isinstance(seen, str):
        return ACKS.of(None, flow.name, seen), COUNT.of(None, flow.name, seen)
    sent, came = (_number(measurement, flow, packets) for packets in seen)
    share = came / sent if sent else None
    none = f"no packet of the flow was sent {measurement.when}"
    return ACKS.of(share, flow.name, none), COUNT.of(came, flow.name)


METRIC = Metric("acks", (ACKS, COUNT), per_flow(_of_flow))
