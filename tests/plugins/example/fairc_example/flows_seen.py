"""Flows of a cell: how many there are.

Unit: 1. Source: none; it is an example.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import Measurement
from fairc.runtime.measurement.results import MetricValue
from fairc.runtime.metrics.base import Metric, Value

SEEN = Value("flows_seen", "1", "number of flows")


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the number of flows."""
    return (SEEN.of(len(measurement.sessions(request.sessions))),)


METRIC = Metric("flows_seen", (SEEN,), compute)
