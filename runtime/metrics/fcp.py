"""First contentful paint: from the start of the connection until text or an image is first painted.

    fcp = first-contentful-paint - connectStart

One value for each load of a cell; none for a load that failed (`plt`), nor without a browser. Browsers
count from the start of the navigation; here all times of a load count from connectStart, and the table
`loads` has both instants.

Unit: s. Source: W3C Paint Timing, section 4.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .page_loads import per_load

FCP = Value("fcp", "s", "first contentful paint of a load")


def _number(_: FlowRecord, load: PageLoad) -> float | None:
    return load.since_connect_s(load.fcp_s)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the first contentful paint of each load of each requested flow."""
    return per_load(measurement, request, FCP, _number, "nothing was painted")


METRIC = Metric("fcp", (FCP,), compute)
