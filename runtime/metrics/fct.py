"""Flow completion time: how long a short transfer takes, from opening its connection to its last byte.

    fct = last byte at the client's application - connection opened

over the transfers that were begun after the warm-up: of `requests` each request, of `file` each
connection. The handshake is in it, retried ones as well. Percentiles interpolate linearly; one that
fewer than 1 / (1 - p) transfers cannot tell from their longest is not defined.

fct.unfinished counts transfers that were begun and had not ended when the flow was stopped or the
cell ended. They are in no other value, and they are the slow ones: where there are many, mean and
percentiles are too small.

Unit: s (fct.count, fct.unfinished: 1). Source: Dukkipati and McKeown, Why flow-completion time is the
right metric for congestion control, CCR 36(1), 2006; Hyndman and Fan, Sample quantiles in statistical
packages, 1996, definition 7.
"""

from __future__ import annotations

import numpy as np

from fairc.compiler.plan import MetricRequest
from fairc.runtime.measurement import FlowRecord, Measurement
from fairc.runtime.results import MetricValue

from .base import Metric, Value

MEAN = Value("fct.mean", "s", "mean flow completion time")
P50 = Value("fct.p50", "s", "median flow completion time")
P95 = Value("fct.p95", "s", "95th percentile of the flow completion time")
P99 = Value("fct.p99", "s", "99th percentile of the flow completion time")
COUNT = Value("fct.count", "1", "transfers that were completed")
UNFINISHED = Value("fct.unfinished", "1", "transfers that were begun and not completed")
PERCENTILES = {P50: 50, P95: 95, P99: 99}
TIMES = (MEAN, *PERCENTILES)
VALUES = (*TIMES, COUNT, UNFINISHED)


def _of_flow(measurement: Measurement, flow: FlowRecord) -> tuple[MetricValue, ...]:
    transfers = flow.transfers
    if transfers is None:
        reason = "the flow has no transfers with an end"
        return tuple(value.of(None, flow.name, reason) for value in VALUES)
    counted = transfers.duration_s[transfers.start_s >= measurement.warmup_s]
    unfinished = int((transfers.unfinished_s >= measurement.warmup_s).sum())
    n = len(counted)
    if not n:
        reason = f"no transfer was completed, {unfinished} were begun"
        times = tuple(value.of(None, flow.name, reason) for value in TIMES)
    else:
        times = (
            MEAN.of(float(counted.mean()), flow.name),
            *(
                value.of(
                    float(np.percentile(counted, percent)) if n >= 100 / (100 - percent) else None,
                    flow.name,
                    f"too few transfers for a {percent}th percentile: {n}",
                )
                for value, percent in PERCENTILES.items()
            ),
        )
    return (*times, COUNT.of(n, flow.name), UNFINISHED.of(unfinished, flow.name))


def compute(measurement: Measurement, request: MetricRequest) -> tuple[MetricValue, ...]:
    """Return the completion times of each requested flow, or of each that has transfers."""
    flows = measurement.sessions(request.sessions)
    if not request.sessions:
        flows = tuple(flow for flow in flows if flow.transfers is not None)
    if not flows:
        return tuple(value.of(None, None, "no flow has transfers with an end") for value in VALUES)
    return tuple(value for flow in flows for value in _of_flow(measurement, flow))


METRIC = Metric("fct", VALUES, compute)
