"""Flows of a cell: how many there are.

Unit: 1. Source: none; it is an example.
"""

from __future__ import annotations

from fairc.api import Measurement, Metric, MetricRequest, MetricValue, Value

SEEN = Value("flows_seen", "1", "number of flows")


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the number of flows."""
    return (SEEN.of(len(measurement.sessions(request.sessions))),)


METRIC = Metric("flows_seen", (SEEN,), compute)
