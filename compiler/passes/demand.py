"""What a flow asks of the network: bytes in all, bit/s on average, time by itself."""

from __future__ import annotations

from fairc.dsl.model import MTU, Bulk, File, Flow, Iperf3, Load, OnOff, Requests, Video
from fairc.dsl.traffic.workloads import mean

from .draft import DraftFlow
from .frames import segment_bytes
from .loads import load_ns

NS = 10**9


def total_bytes(flow: Flow) -> int | None:
    """Return what all connections of a flow move, bytes; None if that has no end."""
    if isinstance(flow.workload, File | Video | Load):
        return flow.workload.size_bytes * flow.connections
    if isinstance(flow.workload, Iperf3):
        return flow.workload.size_bytes  # it counts all of its streams together
    return None


def own_time_ns(flow: DraftFlow) -> int:
    """Return how long a flow takes on a network that is no limit, ns.

    Its rate, a video's length, the time of an iperf3, the pauses between page loads (on average) and their round trips.
    """
    declared = flow.flow
    workload, rate_bps = declared.workload, declared.rate_bps
    if isinstance(workload, Video):
        return workload.length_ns
    if isinstance(workload, Load):
        pauses_ns = int((workload.loads - 1) * mean(workload.idle) * NS)
        return pauses_ns + workload.loads * load_ns(flow, workload)
    if isinstance(workload, File) and rate_bps is not None:
        return workload.size_bytes * 8 * NS // rate_bps
    if isinstance(workload, Iperf3):
        if workload.size_bytes is not None and rate_bps is not None:
            return workload.size_bytes * 8 * NS // (rate_bps * declared.connections)
        return (workload.time_s or 0) * NS
    return 0


def offered_bps(flow: Flow) -> int | None:
    """Return what all connections of a flow send on average, bit/s of IP, while they last.

    None: as much as the network takes.
    """
    workload = flow.workload
    each: int | None = flow.rate_bps
    if isinstance(workload, OnOff):
        on, off = mean(workload.on), mean(workload.off)
        each = int(workload.rate_bps * on / (on + off))
    elif isinstance(workload, Requests):
        # Of packets with the usual payload: a path's own MTU moves a mean by little.
        payload = segment_bytes(MTU) if workload.packets else 1
        rate = 8 * mean(workload.size) * payload / mean(workload.every)
        if workload.share is not None:  # of all connections together
            return int(rate * workload.share)
        each = int(rate)
    elif isinstance(workload, Video):
        each = workload.bitrate_bps
    else:
        assert isinstance(workload, File | Bulk | Load | Iperf3)
    return None if each is None else each * flow.connections
