"""Time to response: from the start of the connection until the first byte of the document.

    ttr = responseStart - connectStart

One value for each load of a cell; none for a load that failed (`plt`). It includes the handshakes (one
round trip of TCP and one of TLS 1.3; over QUIC one in all) and one round trip of the request.

Unit: s. Source: W3C Navigation Timing Level 2, section 3; Thomas et al., QUIC and SATCOM, 2018.
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .page_loads import per_load

TTR = Value("ttr", "s", "time to response of a load")


def _number(_: FlowRecord, load: PageLoad) -> float | None:
    return load.since_connect_s(load.response_start_s)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the time to response of each load of each requested flow."""
    return per_load(measurement, request, TTR, _number, "the client did not report it")


METRIC = Metric("ttr", (TTR,), compute)
