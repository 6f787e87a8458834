"""Workloads and options of a flow as parts of the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any, cast

from fairc.dsl import model

from . import plan
from .seeds import stream_seed


def workload_of(flow: model.Flow, mtu: int, seed: int) -> plan.Workload:
    """Return a flow's workload; what is drawn has a stream of the cell's seed for each flow.

    mtu: of its path, bytes, which packets have where the file gives them no size.
    """
    workload = flow.workload
    if isinstance(workload, model.OnOff) and workload.packet_bytes is None:
        workload = replace(workload, packet_bytes=mtu)
    if isinstance(workload, model.Iperf3) and flow.transport == "udp":
        workload = replace(workload, packet_bytes=workload.packet_bytes or mtu)
    return _MAKE[type(workload)](workload, stream_seed(seed, "workload", flow.name))


@lru_cache(4096)
def options_of(options: model.Options) -> plan.TransportOptions:
    """Return the options of a flow's transport."""
    return plan.TransportOptions(
        initial_window_packets=options.initial_window_packets,
        receive_window_bytes=options.receive_window_bytes,
        ecn=options.ecn,
        sack=options.sack,
        pacing=options.pacing,
        fast_open=options.fast_open,
    )


def _distribution(random: model.Distribution) -> plan.Distribution:
    numbers = {name: float(value) for name, value in random.arguments.items()}
    return plan.Distribution(kind=cast(Any, random.kind), parameters=numbers)


@lru_cache(4096)
def _file_of(size_bytes: int) -> plan.FileWorkload:
    return plan.FileWorkload(bytes=size_bytes)


def _file(workload: model.File, seed: int) -> plan.Workload:
    return _file_of(workload.size_bytes)


def _bulk(workload: model.Bulk, seed: int) -> plan.Workload:
    return plan.BulkWorkload()


def _video(workload: model.Video, seed: int) -> plan.Workload:
    return plan.VideoWorkload(
        bitrate_bps=workload.bitrate_bps,
        length_ns=workload.length_ns,
        burst_ns=workload.burst_ns,
        chunk_bytes=workload.chunk_bytes,
        factor=workload.factor,
        play_ns=workload.play_ns,
        stall_ns=workload.stall_ns,
        send_buffer_bytes=workload.send_buffer_bytes,
    )


def _requests(workload: model.Requests, seed: int) -> plan.Workload:
    return plan.RequestsWorkload(
        size=_distribution(workload.size), every=_distribution(workload.every), seed=seed
    )


def _onoff(workload: model.OnOff, seed: int) -> plan.Workload:
    assert workload.packet_bytes is not None
    return plan.OnOffWorkload(
        rate_bps=workload.rate_bps,
        on=_distribution(workload.on),
        off=_distribution(workload.off),
        packet_bytes=workload.packet_bytes,
        seed=seed,
    )


def _iperf3(workload: model.Iperf3, seed: int) -> plan.Workload:
    return plan.Iperf3Workload(
        time_s=workload.time_s,
        bytes=workload.size_bytes,
        window_bytes=workload.window_bytes,
        packet_bytes=workload.packet_bytes,
        reverse=workload.reverse,
    )


_MAKE: dict[type, Callable[[Any, int], plan.Workload]] = {
    model.File: _file,
    model.Bulk: _bulk,
    model.Video: _video,
    model.Requests: _requests,
    model.OnOff: _onoff,
    model.Iperf3: _iperf3,
}
