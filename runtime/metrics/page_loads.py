"""What the metrics of page loads share: one value for each load of each flow that loads pages."""

from __future__ import annotations

from collections.abc import Callable

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value, of_module

Number = Callable[[Measurement, FlowRecord, PageLoad], float | None]


def load_metric(
    value: Value, number: Number, lacking: str = "the client did not report it"
) -> Metric:
    """Return a metric with a number for each load of each requested flow; a load that failed has none.

    Flows that load no pages are left out unless they are named. lacking: the reason, where a load that
    did not fail has no number.
    """

    def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
        flows = measurement.sessions(request.sessions)
        if not request.sessions:
            flows = tuple(flow for flow in flows if flow.loads_pages)
        if not flows:
            return (value.of(None, None, "no flow loads pages"),)
        return tuple(found for flow in flows for found in of_flow(measurement, flow))

    def of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
        if not flow.loads_pages:
            return (value.of(None, flow.name, "the flow loads no pages"),)
        if not flow.endpoints.loads:
            return (value.of(None, flow.name, "no load was reported"),)
        return tuple(
            value.of(None, flow.name, f"the load failed: {load.error}", load.number)
            if load.error
            else value.of(number(measurement, flow, load), flow.name, lacking, load.number)
            for load in flow.endpoints.loads
        )

    return Metric(value.name, (value,), of_module(compute, number))
