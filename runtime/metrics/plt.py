"""Page load time: from the start of the connection until the page and all its objects are loaded.

    plt = loadEventEnd - connectStart

One value for each load of a cell. Without a browser (`plain`), loadEventEnd is the end of the last
object's body. A load that failed has no value: it used another protocol than requested, its status
is not 200, an object is missing or has the wrong size, or it timed out.

The report and the table `loads` also have the theory of slow start, end to end:

    t = log2(BDP / IW) * RTT,  at least 0

BDP: the bottleneck's rate times the base RTT; IW: the initial window in full frames of 1514 bytes. It is
the time in which the congestion window grows from IW to the BDP: a page larger than IW but smaller than the
BDP arrives earlier, and a page of many BDPs also needs its transmission time. Not given for connections that
a PEP splits: they have no slow start over the whole RTT.

Unit: s. Source: W3C Navigation Timing Level 2, section 3 (the times); Thomas et al., QUIC and SATCOM,
2018 (PLT from connectStart, and the estimate).
"""

from __future__ import annotations

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.measurement.loads import PageLoad
from fairc.runtime.store.results import MetricValue

from .base import Metric, Value
from .page_loads import per_load

PLT = Value("plt", "s", "page load time of a load")


def _number(_: FlowRecord, load: PageLoad) -> float | None:
    return load.since_connect_s(load.load_event_end_s)


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the page load time of each load of each requested flow."""
    return per_load(measurement, request, PLT, _number, "the client did not report it")


METRIC = Metric("plt", (PLT,), compute)
