"""Largest contentful paint: from the start of the connection until the largest text or image is painted.

    lcp = startTime of the last largest-contentful-paint - connectStart

One value for each load of a cell; none for a load that failed (`plt`), nor without a browser. Counted from
connectStart, as `fcp` is.

Unit: s. Source: W3C Largest Contentful Paint, section 2.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .page_loads import per_load

LCP = Value("lcp", "s", "largest contentful paint of a load")


def _number(_: FlowRecord, load: PageLoad) -> float | None:
    return load.since_connect_s(load.lcp_s)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the largest contentful paint of each load of each requested flow."""
    return per_load(measurement, request, LCP, _number, "nothing was painted")


METRIC = Metric("lcp", (LCP,), compute)
