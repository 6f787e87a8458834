"""Shared by metrics of media: which frames they count, and why they have none.

`kind` says which frames: those of the video where there is one, else of the audio. `way` says
whose: `down`, from the server to the client, or `up`. Frames count that were captured while the
cell is measured. A frame that had not come when the flow ended, and was captured less than a second
before that, is left out: nobody knows what would have become of it. Over TCP, and in streams of
QUIC, each frame comes at last unless its group is cancelled: one that had not come is left out,
however old it is, and counts as late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from fairc.compiler.plan import MetricRequest
from fairc.runtime.arrays import Bools
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.curves import Curve
from fairc.runtime.measurement.frames import KINDS, Frames, Kind, Way
from fairc.runtime.measurement.results import MetricValue

from .base import Distribution, Metric, Value, asked, inactive, of_module

ON_ITS_WAY_S = 1.0
"""How old a frame is that can be called lost."""


class Nothing(Exception):
    """A flow has no such frames; its text is the reason."""


def captured(flow: FlowRecord, request: MetricRequest, only: Kind | None = None) -> Frames:
    """Return all frames of a flow that a request is about, whenever they were captured.

    only: their kind, whatever the request says. Raises Nothing.
    """
    if flow.plan.workload.records != "captured":
        raise Nothing("the flow sends no media")
    every, way = flow.endpoints.frames, cast(Way, str(request.options.get("way", "down")))
    kinds = [kind for of, kind in every if of == way]
    if not kinds:
        raise Nothing(
            "the client of the flow sends nothing"
            if any(of == "down" for of, _ in every)
            else "an end of the flow did not say what became of its frames"
        )
    usual = next(kind for kind in KINDS if kind in kinds)
    kind = only or cast(Kind, str(request.options.get("kind", usual)))
    if kind not in kinds:
        raise Nothing(f"the flow has no {kind}")
    found = every[way, kind]
    return found.select(found.captured_s < flow.end_s)


def counted(
    measurement: Measurement, flow: FlowRecord, request: MetricRequest, only: Kind | None = None
) -> Frames:
    """Return the frames that count, those that are left out in the end included.

    only: as of `captured`. Raises Nothing.
    """
    found = captured(flow, request, only)
    found = found.select(measurement.counts(found.captured_s))
    if not len(found):
        raise Nothing(
            inactive(measurement) if flow.endpoints.first_byte_s else "no frame was captured"
        )
    return found


def lost(flow: FlowRecord, found: Frames) -> Bools:
    """Return which frames were lost."""
    old = found.captured_s < flow.end_s - ON_ITS_WAY_S
    return ~found.there & ~found.cancelled & old & (not found.reliable)


def unfinished(flow: FlowRecord, found: Frames) -> Bools:
    """Return which frames had not come, nor been lost or cancelled."""
    return ~found.there & ~found.cancelled & ~lost(flow, found)


OfFlow = Callable[[Measurement, FlowRecord, MetricRequest], Sequence[MetricValue]]


def media_metric(
    name: str,
    values: tuple[Value, ...],
    of_flow: OfFlow,
    curves: Callable[[Measurement, MetricRequest], tuple[Curve, ...]] | None = None,
    distribution: Distribution | None = None,
) -> Metric:
    """Return a metric with what `of_flow` gives of each requested flow; it may raise Nothing.

    Flows that send no media are left out unless they are named.
    """

    def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
        flows = asked(measurement, request, lambda f: f.plan.workload.records == "captured")
        if not flows:
            return tuple(value.of(None, None, "no flow sends media") for value in values)
        given: list[MetricValue] = []
        for flow in flows:
            try:
                given += of_flow(measurement, flow, request)
            except Nothing as why:
                given += [value.of(None, flow.name, str(why)) for value in values]
        return tuple(given)

    return Metric(
        name, values, of_module(compute, of_flow), curves=curves, distribution=distribution
    )
