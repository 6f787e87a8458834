"""Time to connect for a page: from the start of the connection until it can be used.

    connect = connectEnd - connectStart

One value for each load of a cell; none for a load that failed (`plt`). It includes TLS.

Unit: s. Source: W3C Navigation Timing Level 2, section 3.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .page_loads import per_load

CONNECT = Value("connect", "s", "time to connect of a load")


def _number(_: FlowRecord, load: PageLoad) -> float | None:
    return load.since_connect_s(load.connect_end_s)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the time to connect of each load of each requested flow."""
    return per_load(measurement, request, CONNECT, _number, "the client did not report it")


METRIC = Metric("connect", (CONNECT,), compute)
