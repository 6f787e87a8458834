"""From the raw artefacts of a cell to everything that is stored about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from fairc.compiler.plan import Cell, Requests
from fairc.runtime import validity
from fairc.runtime.analysis.values import known_traces
from fairc.runtime.measurement import ArtefactError, FlowRecord, Measurement, load
from fairc.runtime.measurement.results import FlowCondition, FlowLimit, FlowResult, MetricValue
from fairc.runtime.measurement.series import Series, collect
from fairc.runtime.metrics import METRICS, goodput, limited, stationarity
from fairc.runtime.metrics.base import window

from . import har
from .conditions import conditions
from .values import in_window, present, values

__all__ = ["Analysis", "ArtefactError", "analyse", "write_files"]


class Analysis(NamedTuple):
    """The analysis of one cell: the fields of CellResult, the series, and files by name."""

    flows: tuple[FlowResult, ...]
    metrics: tuple[MetricValue, ...]
    conditions: tuple[FlowCondition, ...]
    limits: tuple[FlowLimit, ...]
    verdict: validity.Verdict
    reasons: tuple[str, ...]
    ended_by: str
    series: Series
    files: Mapping[str, str]


def analyse(cell: Cell, folder: Path, requests: Requests) -> Analysis:
    """Measure one cell from its raw artefacts; only they and the plan are needed.

    requests: what the plan asks for, all of it registered. Raises ArtefactError
    when an artefact is missing or broken: then the cell has failed. Raises KeyError for a metric
    or a flow that does not exist.
    """
    measurement = load(cell, folder)
    drawn = [
        (request.at(cell.bindings), METRICS[request.name], in_window(measurement, request))
        for request in present(measurement, requests)
        if request.is_drawn or (request.window is None and request not in requests.implied)
    ]
    verdict, reasons = validity.judge(measurement)
    return Analysis(
        flows=tuple(_flow(measurement, flow) for flow in measurement.flows),
        metrics=values(measurement, requests),
        conditions=conditions(measurement),
        limits=tuple(
            FlowLimit(flow=flow.name, limit=value.name.partition(".")[2], share=share)
            for flow in measurement.flows
            for value, share in limited.shares(measurement, flow)
        ),
        verdict=verdict,
        reasons=reasons,
        ended_by=measurement.ending.ended_by,
        series=collect(
            measurement,
            tuple(
                replace(trace, metric=f"{trace.metric}{request.mark}")
                for request, metric, seen in drawn
                if (course := metric.traces) is not None
                for trace in known_traces(seen, request, course(seen, request))
            ),
            tuple(
                replace(curve, metric=f"{curve.metric}{request.mark}")
                for request, metric, seen in drawn
                if (curves := metric.curves) is not None
                for curve in curves(seen, request)
            ),
        ),
        files=har.archives(measurement),
    )


def write_files(folder: Path, analysis: Analysis) -> None:
    """Write the files of a cell that are no tables; the same cell gives the same bytes."""
    for name, text in analysis.files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _flow(measurement: Measurement, flow: FlowRecord) -> FlowResult:
    endpoints, p = flow.endpoints, stationarity.bulk_p(measurement, flow)
    begin_s, end_s = window(measurement, flow)
    has_rate = begin_s < end_s and not flow.loads_pages
    return FlowResult(
        flow=flow.name,
        transport=flow.plan.transport,
        cca=flow.plan.cca,
        connections=flow.plan.connections,
        start_s=flow.start_s,
        first_byte_s=endpoints.first_byte_s,
        end_s=endpoints.end_s,
        completed=endpoints.completed,
        bytes=endpoints.progress.total,
        # Between its loads a flow has nothing to send, so a rate over its whole duration means
        # nothing.
        goodput_bps=None if flow.loads_pages else goodput.of_flow(measurement, flow).value,
        rate_from_s=begin_s if has_rate else None,
        rate_until_s=end_s if has_rate else None,
        stationarity_p=p,
        declared_change=None if p is None else stationarity.declared_change(measurement, flow),
        given_up=tuple(map(str, endpoints.given_up)),
    )
