"""Workloads and options of a flow as parts of the plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, cast

from fairc.compiler import plan
from fairc.compiler.passes.frames import segment_bytes, stream_bytes
from fairc.compiler.seeds import stream_seed
from fairc.dsl import model

PROCESS = ("shared arrivals",)
"""Name of the stream that is of no flow: none is called so."""


def workload_of(
    flow: model.Flow, mtu: int, seed: int, shared: plan.SharedArrivals | None = None
) -> plan.Workload:
    """Return a flow's workload; what is drawn has a stream of the cell's seed for each flow.

    mtu: of its path, bytes, which packets have where the file gives them no size. shared: its part of
    the arrivals that it shares with others.
    """
    workload = flow.workload
    if isinstance(workload, model.OnOff) and workload.packet_bytes is None:
        workload = replace(workload, packet_bytes=mtu)
    if isinstance(workload, model.Iperf3) and flow.transport == "udp":
        workload = replace(workload, packet_bytes=workload.packet_bytes or mtu)
    if isinstance(workload, model.Requests):
        payload_bytes = stream_bytes(mtu) if flow.transport == "quic" else segment_bytes(mtu)
        return _requests(
            workload,
            stream_seed(seed, "workload", flow.name),
            payload_bytes if workload.packets else 1,
            shared,
        )
    return _MAKE[type(workload)](workload, stream_seed(seed, "workload", flow.name))


@lru_cache(4096)
def options_of(options: model.Options) -> plan.TransportOptions:
    """Return the options of a flow's transport."""
    return plan.TransportOptions(
        initial_window_packets=options.initial_window_packets,
        receive_window_bytes=options.receive_window_bytes,
        ecn=options.ecn,
        accurate_ecn=options.accurate_ecn,
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


def shared_arrivals(flows: Iterable[model.Flow], seed: int) -> dict[str, plan.SharedArrivals]:
    """Return the part of each flow that shares a process of arrivals, by its name.

    Parts lie one after the other in the order of the flows, and the last one ends at 1.
    """
    parts: dict[str, plan.SharedArrivals] = {}
    low = Fraction()
    for flow in flows:
        if isinstance(flow.workload, model.Requests) and flow.workload.share is not None:
            high = low + flow.workload.share
            parts[flow.name] = plan.SharedArrivals(
                seed=stream_seed(seed, *PROCESS), low=float(low), high=float(high)
            )
            low = high
    return parts


def _requests(
    workload: model.Requests,
    seed: int,
    unit_bytes: int,
    shared: plan.SharedArrivals | None,
) -> plan.Workload:
    """Return the workload; unit_bytes: what a size counts."""
    size = workload.size
    if unit_bytes != 1:
        size = replace(
            size,
            arguments={n: v if n == "shape" else v * unit_bytes for n, v in size.arguments.items()},
        )
    return plan.RequestsWorkload(
        size=_distribution(size), every=_distribution(workload.every), seed=seed, shared=shared
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
    model.OnOff: _onoff,
    model.Iperf3: _iperf3,
}
