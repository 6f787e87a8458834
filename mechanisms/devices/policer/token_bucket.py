"""Token buckets of a cell: what each must have done to every packet, by the reference model.

The model is that of Linux's act_police, over the captured arrivals: a bucket holds time, at most
the burst at its rate, and fills as time goes by; a frame that finds as much as it takes to send at
the rate takes it and passes, any other is dropped and takes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairc.cell.model import Cell
from fairc.runtime.arrays import Bools
from fairc.runtime.measurement import FlowRecord, Measurement, packets_of, pcap
from fairc.runtime.measurement.artefacts import ArtefactError
from fairc.runtime.measurement.devices import DeviceRecord
from fairc.runtime.measurement.frame_times import bytes_per_s, factor

from .cell import TokenBucket

Place = tuple[str, str]

TICK_NS = 64
"""Unit in which a burst reaches the kernel (PSCHED_SHIFT)."""


@dataclass(frozen=True)
class BucketRecord(DeviceRecord):
    """A token bucket: where its packets arrive, these, and which of them it must have dropped.

    capture: the name of the capture of its arrivals.
    """

    plan: TokenBucket
    place: Place
    capture: str
    packets: pcap.Packets
    dropped: Bools
    epoch_ns: int

    @property
    def arrival_s(self) -> NDArray[np.float64]:
        """The time of each arrival, s after the epoch."""
        after: NDArray[np.float64] = (self.packets.time_ns - self.epoch_ns).astype(
            np.float64
        ) * 1e-9
        return after

    @property
    def dropped_packets(self) -> Mapping[str, Bools]:
        """Those that it must have dropped."""
        return {self.capture: self.dropped}

    def passed(self, measurement: Measurement, flow: FlowRecord) -> float:
        """Return the share of a flow's packets that it let through; all where none came."""
        came = self.counted(measurement, flow)
        return 1 - float((came & self.dropped).sum() / max(1, came.sum()))

    def counted(self, measurement: Measurement, flow: FlowRecord) -> Bools:
        """Return which packets are a flow's data that came while the cell is measured."""
        return self.of_flow(measurement.cell, flow.plan.name) & measurement.counts(self.arrival_s)

    def of_flow(self, cell: Cell, name: str) -> Bools:
        """Return which packets are a flow's data."""
        flow = next(each for each in cell.flows if each.name == name)
        return packets_of(cell, flow, self.packets)


def load(
    cell: Cell, captures: Mapping[str, pcap.Capture], epoch_ns: int
) -> tuple[BucketRecord, ...]:
    """Return the buckets of a cell with captures. Raises ArtefactError."""
    if cell.captured == "none":
        return ()
    found = []
    for bucket in (each for each in cell.devices if isinstance(each, TokenBucket)):
        place = bucket.node, bucket.ingress
        names = [c.name for c in cell.captures if (c.node, c.interface) == place]
        names = [name for name in names if name in captures]
        if not names:
            raise ArtefactError(f"the plan does not capture what comes to {'/'.join(place)}")
        packets = captures[names[0]].packets
        dropped = decide(bucket, packets.time_ns, packets.frame_bytes)
        dropped &= packets.ip_bytes > 0
        found.append(BucketRecord(bucket, place, names[0], packets, dropped, epoch_ns))
    return tuple(found)


def decide(
    bucket: TokenBucket, time_ns: NDArray[np.int64], frame_bytes: NDArray[np.int64]
) -> Bools:
    """Return which frames a bucket drops, which is full at first (Linux, tcf_police_act)."""
    multiple, shift = factor(bucket.rate_bps)
    most = -(-bucket.burst_bytes * 10**9 // (bytes_per_s(bucket.rate_bps) * TICK_NS)) * TICK_NS
    tokens, then = most, int(time_ns[0]) if len(time_ns) else 0
    dropped = np.zeros(len(time_ns), np.bool_)
    for number, (now, size) in enumerate(zip(time_ns.tolist(), frame_bytes.tolist(), strict=True)):
        left = min(most, tokens + min(now - then, most)) - (size * multiple >> shift)
        if left >= 0:
            tokens, then = left, now
        else:
            dropped[number] = True
    return dropped
