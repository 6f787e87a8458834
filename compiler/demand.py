"""What a flow asks of the network: bytes in all, bit/s on average, time by itself."""

from __future__ import annotations

from fairc.dsl.model import Bulk, File, Flow, OnOff, Requests, Video
from fairc.dsl.workloads import mean

from .draft import DraftFlow

NS = 10**9


def total_bytes(flow: Flow) -> int | None:
    """Return what all connections of a flow move, bytes; None if that has no end."""
    if isinstance(flow.workload, File | Video):
        return flow.workload.size_bytes * flow.connections
    return None


def own_time_ns(flow: DraftFlow) -> int:
    """Return how long a flow takes on a network that is no limit, ns: its rate, a video's length."""
    declared = flow.flow
    workload, rate_bps = declared.workload, declared.rate_bps
    if isinstance(workload, Video):
        return workload.length_ns
    if isinstance(workload, File) and rate_bps is not None:
        return workload.size_bytes * 8 * NS // rate_bps
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
        each = int(8 * mean(workload.size) / mean(workload.every))
    elif isinstance(workload, Video):
        each = workload.bitrate_bps
    else:
        assert isinstance(workload, File | Bulk)
    return None if each is None else each * flow.connections
