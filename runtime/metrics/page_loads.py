"""Shared by metrics of page loads: one value for each load of each flow that loads pages.

A user waits for ever for a load that failed: leaving it out would count the lucky loads alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.artefacts import NS
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.measurement.results import MetricValue

from .base import Metric, Value, asked, of_module

Number = Callable[[Measurement, FlowRecord, PageLoad], float | None]
Failed = Literal["none", "endless", "reached", "painted"]


def load_metric(
    value: Value,
    number: Number,
    lacking: str = "the client did not report it",
    failed: Failed = "none",
) -> Metric:
    """Return a metric with a number for each load of each requested flow.

    Flows that load no pages are left out unless they are named. lacking: the reason, where a load
    that did not fail has no number. failed: what a load that failed has: no number (`none`); one
    larger than any (`endless`); its own if it got so far, else one larger than any (`reached`, and
    `painted` of a browser). Loads that were not reported, because the flow was stopped, have none,
    and the one under way then is larger than any.
    """

    def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
        flows = asked(measurement, request, lambda flow: flow.loads_pages)
        if not flows:
            return (value.of(None, None, "no flow loads pages"),)
        return tuple(found for flow in flows for found in of_flow(measurement, flow))

    def of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
        if not flow.loads_pages:
            return (value.of(None, flow.name, "the flow loads no pages"),)
        if not flow.endpoints.loads:
            return (value.of(None, flow.name, "no load was reported"),)
        return (
            *(of_load(measurement, flow, load) for load in flow.endpoints.loads),
            *unreported(flow),
        )

    def of_load(measurement: Measurement, flow: FlowRecord, load: PageLoad) -> MetricValue:
        if not load.error:
            found = number(measurement, flow, load)
            return value.of(found, flow.name, lacking, load.number, (0, 1))
        paints = failed != "painted" or load.client != "plain"
        found = number(measurement, flow, load) if failed in ("reached", "painted") else None
        endless = found is None and failed != "none" and paints
        why = f"the load failed: {load.error}"
        return value.of(found, flow.name, why, load.number, (int(endless), 1))

    def unreported(flow: FlowRecord) -> Iterator[MetricValue]:
        workload, loads = flow.plan.workload, flow.endpoints.loads
        for place in range(len(loads), len(workload.http_versions)):
            ended_ns = round(loads[-1].end_s / NS)
            begin_s = workload.load_begin_ns(place, flow.plan.start_ns, ended_ns) * NS
            under_way = place == len(loads) and begin_s < flow.stop_s and failed != "none"
            why = "the flow was stopped " + (
                "during this load" if under_way else "before this load"
            )
            yield value.of(None, flow.name, why, place + 1, (int(under_way), int(under_way)))

    return Metric(value.name, (value,), of_module(compute, number))
