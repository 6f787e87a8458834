"""What the metrics of page loads share: one value for each load of each flow that loads pages."""

from __future__ import annotations

from collections.abc import Callable

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Value

Number = Callable[[FlowRecord, PageLoad], float | None]


def per_load(
    measurement: Measurement, request: MetricRequest, value: Value, number: Number, lacking: str
) -> tuple[MetricValue, ...]:
    """Return the number of each load of each requested flow; a load that failed has none.

    Flows that load no pages are left out unless they are named. lacking: why a load that did not fail
    has no number, in words.
    """
    flows = measurement.sessions(request.sessions)
    if not request.sessions:
        flows = tuple(flow for flow in flows if flow.loads_pages)
    if not flows:
        return (value.of(None, None, "no flow loads pages"),)
    return tuple(found for flow in flows for found in _of_flow(flow, value, number, lacking))


def _of_flow(
    flow: FlowRecord, value: Value, number: Number, lacking: str
) -> tuple[MetricValue, ...]:
    if not flow.loads_pages:
        return (value.of(None, flow.name, "the flow loads no pages"),)
    if not flow.endpoints.loads:
        return (value.of(None, flow.name, "no load was reported"),)
    return tuple(
        value.of(None, flow.name, f"the load failed: {load.error}", load.number)
        if load.error
        else value.of(number(flow, load), flow.name, lacking, load.number)
        for load in flow.endpoints.loads
    )
