"""Metrics of made-up cells, computed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from madeartefacts import Made

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement, load
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics import METRICS


def values(
    made: Made, folder: Path, name: str, *sessions: str, **options: float
) -> dict[tuple[str, str | None], float | None]:
    measurement = load(made.cell, made.write(folder))
    return {(v.metric, v.flow): v.value for v in results(measurement, name, *sessions, **options)}


def by_name(
    measurement: Measurement, name: str, *sessions: str, **options: Any
) -> dict[str, float | None]:
    """Return the values of a metric for sessions that have one of each."""
    return {v.metric: v.value for v in results(measurement, name, *sessions, **options)}


def results(
    measurement: Measurement, name: str, *sessions: str, **options: Any
) -> tuple[MetricValue, ...]:
    request = MetricRequest(name=name, sessions=sessions, options=options)
    return METRICS[name].compute(measurement, request)
